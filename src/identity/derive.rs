//! The deriver: from the bytes of a record to its events.
//!
//! One pass over the bytes makes the tape; the recipe's plan picks the fields and marks what the
//! content leaves out; the fields are normalized, joined and hashed. All room is kept for the
//! next record, so that a warm deriver allocates nothing for a record without rejections.
//!
//! No clock, no IO, and no value of a document in any rejection.

use super::content::{Document, Rest, Writer};
use super::events::{Derived, Events, ItemSpan};
use super::explain::Trace;
use super::fields::{Lists, Normalizing};
use super::hash::{ContentDigest, EventKey};
use super::item_order::{ItemOrder, Place};
use super::json::{Kind, Mark, Tape};
use super::namespaces::Bindings;
use super::normalize::Output;
use super::preimage::{Encoder, Form, List, Value, value_of};
use super::recipe::{Granularity, Items, NodeId, PrefixPart, Recipe, Scope};
use super::reject::{Fault, Reason, Rejection, fault};
use super::resolve::{Found, NONE, Resolver};
use super::shape_maps::Maps;
use sha2::{Digest, Sha256};
use std::ops::Range;
use std::sync::Arc;

/// Where the content itself begins in what is hashed for the digest.
pub(super) const CONTENT_START: usize = CONTENT_DOMAIN.len() + 32;

/// Derives the events of records by one recipe; one for each thread.
#[derive(Debug)]
pub struct Deriver {
    recipe: Arc<Recipe>,
    pub(super) scratch: Scratch,
}

/// All room that is used again for the next record.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub tape: Tape,
    pub output: Output,
    writer: Writer,
    lists: Lists,
    bindings: Bindings,
    /// The token of each field of the record, then of the item at hand.
    slots: Vec<u32>,
    in_place: Vec<(u32, usize)>,
    maps: Maps,
    pub record: Vec<Value>,
    /// The values of the item at hand, or of all items, one behind the other.
    pub items: Vec<Value>,
    order: Vec<Place>,
    content_order: Vec<Place>,
    pub preimage: Vec<u8>,
    rest: Vec<u8>,
    pub content: Vec<u8>,
    item_contents: Vec<u8>,
    item_spans: Vec<(u32, u32)>,
    prefixes: String,
    answers: Vec<Result<Derived, Rejection>>,
    /// Hash of the identity without its occurrence, of each answer that is not a rejection.
    identities: Vec<([u8; 32], u32)>,
    /// Where to note what is hashed, for a person who asks for it.
    pub trace: Option<Vec<Trace>>,
}

/// What the content digest begins with, so that it can never be taken for another hash.
const CONTENT_DOMAIN: &[u8] = b"oncegate content 1\n";

impl Deriver {
    /// A deriver for one recipe; it allocates as it meets its first records.
    pub fn new(recipe: Arc<Recipe>) -> Deriver {
        Deriver {
            recipe,
            scratch: Scratch::default(),
        }
    }

    /// The recipe by which it derives.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Derives the events of one record: one answer for granularity `record`, one for each
    /// element of the items' array for granularity `items`, in the order of the document.
    ///
    /// # Errors
    ///
    /// The record as a whole is rejected: it is not strict JSON, a field of the record itself is
    /// bad, or, in granularity `record`, any item is. An array of items that is missing or empty
    /// is rejected as `empty` in either granularity: a record never vanishes.
    pub fn derive<'d>(&'d mut self, payload: &[u8]) -> Result<Events<'d>, Rejection> {
        let Deriver { recipe, scratch } = self;
        Run {
            recipe,
            payload,
            s: scratch,
        }
        .derive()?;
        Ok(Events {
            answers: &scratch.answers,
            prefixes: &scratch.prefixes,
        })
    }
}

/// One record on its way.
pub(super) struct Run<'a> {
    pub recipe: &'a Recipe,
    pub payload: &'a [u8],
    pub s: &'a mut Scratch,
}

impl Run<'_> {
    fn derive(&mut self) -> Result<(), Rejection> {
        let recipe = self.recipe;
        self.s.clear();
        self.s.tape.read(self.payload)?;
        if self.s.tape.token(0).kind != Kind::Object {
            return Err(Rejection::at(
                "",
                fault!(Reason::Json, "the document is an object"),
            ));
        }
        let list = self.scope(&recipe.record, recipe.plan.record, 0, Which::Record)?;
        let Some(items) = &recipe.items else {
            return self.finish_record(None);
        };
        let (list, count) = self.elements(items, list)?;
        if let Some(namespaces) = &items.namespaces {
            self.s
                .bindings
                .add(&self.s.tape, self.payload, 0, namespaces);
        }
        match recipe.granularity {
            Granularity::Record => self.record_of_items(items, list, count),
            Granularity::Items => self.each_item(items, list, count),
        }
    }

    /// Resolves and normalizes the fields of the record or of one item.
    fn scope(
        &mut self,
        scope: &Scope,
        node: NodeId,
        root: u32,
        which: Which,
    ) -> Result<Option<Found>, Rejection> {
        let s = &mut *self.s;
        s.slots.clear();
        s.slots.resize(scope.fields.len(), NONE);
        s.in_place.clear();
        let mut resolver = Resolver {
            tape: &mut s.tape,
            payload: self.payload,
            plan: &self.recipe.plan,
            slots: &mut s.slots,
            in_place: &mut s.in_place,
            maps: &mut s.maps,
            list: None,
            second_list: false,
        };
        let visited = resolver.visit(node, root);
        let (list, second_list) = (resolver.list, resolver.second_list);
        visited.map_err(|misplaced| which.rejection(self.recipe, misplaced.0, misplaced.1))?;
        if second_list {
            let fault = fault!(Reason::Json, "there is one list of items");
            return Err(which.rejection(self.recipe, "", fault));
        }
        let mut normalizing = Normalizing {
            tape: &mut s.tape,
            payload: self.payload,
            encoding: self.recipe.encoding,
            output: &mut s.output,
            lists: &mut s.lists,
        };
        let values = if which == Which::Record {
            &mut s.record
        } else {
            &mut s.items
        };
        let normalized = normalizing
            .scope(root, scope, &s.slots, values)
            .and_then(|()| normalizing.in_place(scope, &s.in_place));
        match normalized {
            Ok(()) => Ok(list),
            Err(misfit) => Err(which.rejection(self.recipe, &misfit.pointer, misfit.fault)),
        }
    }

    /// The list of items and how many there are; none is a fault.
    fn elements(&self, items: &Items, list: Option<Found>) -> Result<(Found, usize), Rejection> {
        let fault = match list {
            None => fault!(Reason::Empty, "the list of items is there"),
            Some(list) => match self.s.tape.token(list.token) {
                token if token.kind != Kind::Array => {
                    fault!(Reason::Json, "the list of items is an array")
                }
                token if token.count == 0 => {
                    fault!(Reason::Empty, "there is at least one item")
                }
                token => return Ok((list, token.count as usize)),
            },
        };
        let pointer = &items.pointers[list.map_or(0, |list| list.pointer)];
        Err(Rejection::at(pointer.text.as_str(), fault))
    }

    pub(super) fn element(&self, list: Found, index: usize) -> u32 {
        self.s.tape.elements_of(self.s.tape.token(list.token))[index]
    }

    /// Resolves and normalizes one item, appending its values.
    fn item(&mut self, items: &Items, list: Found, index: usize) -> Result<(), Rejection> {
        let element = self.element(list, index);
        let which = Which::Item(list.pointer, index);
        if self.s.tape.token(element).kind != Kind::Object {
            return Err(which.rejection(
                self.recipe,
                "",
                fault!(Reason::Json, "an item is an object"),
            ));
        }
        self.scope(&items.scope, self.recipe.plan.item, element, which)
            .map(|_| ())
    }

    fn record_of_items(
        &mut self,
        items: &Items,
        list: Found,
        count: usize,
    ) -> Result<(), Rejection> {
        for index in 0..count {
            self.item(items, list, index)?;
        }
        self.s.tape.set_mark(list.token, Mark::Items);
        let s = &mut *self.s;
        let compare = ItemOrder {
            items,
            values: &s.items,
            bytes: &s.output.bytes,
        };
        let equals = compare.sort_for_identity(count as u32, &mut s.order);
        match equals {
            false => self.write_item_contents(list),
            true => self.write_item_contents_sorted(items, list),
        }
        self.finish_record(Some((list, count)))
    }

    /// The contents of the items as one list, in the order that the identity has.
    fn write_item_contents(&mut self, list: Found) {
        let s = &mut *self.s;
        let doc = Document {
            tape: &s.tape,
            payload: self.payload,
            normalized: &s.output.bytes,
            items: &[],
            rest: None,
        };
        let elements = s.tape.elements_of(s.tape.token(list.token));
        for (place, item) in s.order.iter().enumerate() {
            s.item_contents.push(if place == 0 { b'[' } else { b',' });
            s.writer
                .write(&doc, elements[item.index as usize], &mut s.item_contents);
        }
        s.item_contents.push(b']');
    }

    /// The same where that order leaves something open: by all that the items say.
    fn write_item_contents_sorted(&mut self, items: &Items, list: Found) {
        let s = &mut *self.s;
        s.content.clear();
        s.item_spans.clear();
        let doc = Document {
            tape: &s.tape,
            payload: self.payload,
            normalized: &s.output.bytes,
            items: &[],
            rest: None,
        };
        for element in s.tape.elements_of(s.tape.token(list.token)) {
            let start = s.content.len() as u32;
            s.writer.write(&doc, *element, &mut s.content);
            s.item_spans.push((start, s.content.len() as u32));
        }
        let content = |index: u32| {
            let (start, end) = s.item_spans[index as usize];
            &s.content[start as usize..end as usize]
        };
        s.content_order.clone_from(&s.order);
        ItemOrder {
            items,
            values: &s.items,
            bytes: &s.output.bytes,
        }
        .sort_for_content(&mut s.content_order, content);
        for (place, item) in s.content_order.iter().enumerate() {
            s.item_contents.push(if place == 0 { b'[' } else { b',' });
            s.item_contents.extend_from_slice(content(item.index));
        }
        s.item_contents.push(b']');
    }

    /// Key and digest of a record as one event.
    fn finish_record(&mut self, items: Option<(Found, usize)>) -> Result<(), Rejection> {
        let recipe = self.recipe;
        self.write_rest(&recipe.record, 0, &[]);
        let s = &mut *self.s;
        let encoder = Encoder {
            encoding: recipe.encoding,
            bytes: &s.output.bytes,
            record: &s.record,
            rest: &s.rest,
            list: items.map(|_| List {
                order: &s.order,
                values: &s.items,
                parts: &recipe.layout.item,
            }),
        };
        s.preimage.clear();
        encoder.parts(&recipe.layout.record, &[], None, &mut s.preimage);
        let derived = self.derived(&recipe.record, 0, None);
        self.trace_record(items);
        self.s.answers.push(Ok(derived));
        Ok(())
    }

    fn each_item(&mut self, items: &Items, list: Found, count: usize) -> Result<(), Rejection> {
        self.s.identities.clear();
        let array = self.s.tape.token(list.token);
        let array = array.start as usize..array.end as usize;
        let outer = self.s.bindings.len();
        for index in 0..count {
            self.s.items.clear();
            let answer = match self.item(items, list, index) {
                Err(rejection) => {
                    self.trace_nothing();
                    Err(rejection)
                }
                Ok(()) => Ok(self.finish_item(items, self.element(list, index), array.clone())),
            };
            self.s.bindings.truncate(outer);
            if let Ok(derived) = &answer {
                self.s
                    .identities
                    .push((*derived.key.as_bytes(), index as u32));
            }
            self.s.answers.push(answer);
        }
        if items.occurrence.is_some() {
            self.number_occurrences(items, list);
        }
        Ok(())
    }

    /// Key (without an occurrence) and digest of the item whose values are at hand.
    fn finish_item(&mut self, items: &Items, element: u32, array: Range<usize>) -> Derived {
        if let Some(namespaces) = &items.namespaces {
            self.s
                .bindings
                .add(&self.s.tape, self.payload, element, namespaces);
        }
        let known = items
            .namespaces
            .as_ref()
            .map_or(&[][..], |namespaces| &namespaces.known);
        self.write_rest(&items.scope, element, known);
        self.write_item_preimage(None);
        let token = self.s.tape.token(element);
        let span = ItemSpan {
            element: token.start as usize..token.end as usize,
            array,
        };
        let derived = self.derived(&items.scope, element, Some(span));
        self.trace_item(items, element);
        derived
    }

    fn write_item_preimage(&mut self, occurrence: Option<i64>) {
        let s = &mut *self.s;
        let encoder = Encoder {
            encoding: self.recipe.encoding,
            bytes: &s.output.bytes,
            record: &s.record,
            rest: &s.rest,
            list: None,
        };
        s.preimage.clear();
        encoder.parts(
            &self.recipe.layout.item,
            &s.items,
            occurrence,
            &mut s.preimage,
        );
    }

    /// What no other part of the identity speaks of, where the recipe wants it.
    fn write_rest(&mut self, scope: &Scope, root: u32, known: &[(String, String)]) {
        let s = &mut *self.s;
        s.rest.clear();
        if scope.rest.is_some() {
            let doc = Document {
                tape: &s.tape,
                payload: self.payload,
                normalized: &s.output.bytes,
                items: &s.item_contents,
                rest: Some(Rest {
                    bindings: &s.bindings,
                    known,
                }),
            };
            s.writer.write(&doc, root, &mut s.rest);
        }
    }

    /// Hashes the identity that has been written, and the content of the event.
    fn derived(&mut self, scope: &Scope, root: u32, item: Option<ItemSpan>) -> Derived {
        let s = &mut *self.s;
        let identity: [u8; 32] = Sha256::digest(&s.preimage).into();
        s.content.clear();
        s.content.extend_from_slice(CONTENT_DOMAIN);
        s.content.extend_from_slice(&identity);
        let doc = Document {
            tape: &s.tape,
            payload: self.payload,
            normalized: &s.output.bytes,
            items: &s.item_contents,
            rest: None,
        };
        if scope.rest.is_none() {
            s.writer.write(&doc, root, &mut s.content);
        }
        // With a rest, all but what is set aside is in the identity.
        for pointer in &scope.content.aside {
            match s.tape.at(self.payload, root, &pointer.segments) {
                Some(token) => s.writer.write(&doc, token, &mut s.content),
                None => s.content.push(b'-'),
            }
            s.content.push(b'\n');
        }
        Derived {
            key: EventKey::new(identity),
            digest: digest(&s.content),
            event_time_micros: event_time(self.recipe, &s.record, &s.items),
            prefix: push_prefix(
                self.recipe,
                &s.record,
                &s.items,
                &s.output.bytes,
                &mut s.prefixes,
            ),
            item,
        }
    }

    /// Gives equal items of the record their numbers, in the order of their digests, and their
    /// final keys.
    fn number_occurrences(&mut self, items: &Items, list: Found) {
        let mut identities = std::mem::take(&mut self.s.identities);
        let digest_of = |index: u32| match &self.s.answers[index as usize] {
            Ok(derived) => Some(derived.digest),
            Err(_) => None,
        };
        identities.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0)
                .then_with(|| digest_of(a.1).cmp(&digest_of(b.1)))
                .then(a.1.cmp(&b.1))
        });
        let (mut number, mut before) = (0, None);
        for (identity, index) in &identities {
            number = if before == Some(*identity) {
                number + 1
            } else {
                1
            };
            before = Some(*identity);
            self.s.items.clear();
            // The item was accepted once already, so this cannot fail; if it did, the answer
            // would stand as it is.
            if self.item(items, list, *index as usize).is_err() {
                continue;
            }
            self.write_item_preimage(Some(number));
            self.trace_occurrence(*index as usize);
            if let Ok(derived) = &mut self.s.answers[*index as usize] {
                derived.key = EventKey::new(Sha256::digest(&self.s.preimage).into());
            }
        }
        self.s.identities = identities;
    }
}

/// Whose fields are at hand: the record's, or those of an item (pointer of the list, index).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Record,
    Item(usize, usize),
}

impl Which {
    #[cold]
    fn rejection(self, recipe: &Recipe, pointer: &str, fault: Fault) -> Rejection {
        match (self, &recipe.items) {
            (Which::Item(list, index), Some(items)) => Rejection::at(
                format!("{}/{index}{pointer}", items.pointers[list].text),
                fault,
            ),
            _ => Rejection::at(pointer, fault),
        }
    }
}

impl Scratch {
    fn clear(&mut self) {
        self.answers.clear();
        self.prefixes.clear();
        self.output.bytes.clear();
        self.record.clear();
        self.items.clear();
        self.bindings.clear();
        self.maps.clear();
        self.item_contents.clear();
    }
}

fn digest(content: &[u8]) -> ContentDigest {
    let hash: [u8; 32] = Sha256::digest(content).into();
    let mut first = [0; 16];
    first.copy_from_slice(&hash[..16]);
    ContentDigest::new(first)
}

/// The first of the event time's fields that is there.
fn event_time(recipe: &Recipe, record: &[Value], item: &[Value]) -> Option<i64> {
    let mut values = recipe
        .event_time
        .iter()
        .map(|at| value_of(*at, record, item));
    values
        .find(|value| value.form != Form::Absent)
        .map(|value| value.micros)
}

fn push_prefix(
    recipe: &Recipe,
    record: &[Value],
    item: &[Value],
    bytes: &[u8],
    out: &mut String,
) -> Range<usize> {
    let start = out.len();
    for part in &recipe.prefix {
        match part {
            PrefixPart::Literal(text) => out.push_str(text),
            PrefixPart::Field(at) => {
                // Normalizers write UTF-8 only, so nothing is lost here.
                out.push_str(&String::from_utf8_lossy(
                    value_of(*at, record, item).bytes(bytes),
                ));
            }
        }
    }
    start..out.len()
}
