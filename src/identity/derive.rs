//! The deriver: from the bytes of a record to its events.
//!
//! One pass over the bytes makes the tape; the recipe's plan picks the fields and marks what the
//! content leaves out; the fields are normalized, joined and hashed. All room is kept for the
//! next record, so that a warm deriver allocates nothing for a record without rejections.
//!
//! No clock, no IO, and no value of a document in any rejection.

use super::content::{Document, Rest, Writer};
use super::events::{Derived, Events, ItemSpan, event_time, push_prefix};
use super::explain::Trace;
use super::fields::Normalizing;
use super::hash::{ContentDigest, EventKey};
use super::item_order::Place;
use super::items::Identity;
use super::json::{Kind, Tape};
use super::lists::Lists;
use super::namespaces::Bindings;
use super::normalize::Output;
use super::preimage::{Encoder, List, Value};
use super::recipe::{Granularity, Items, NodeId, Recipe, Scope};
use super::reject::{Fault, Reason, Rejection, fault};
use super::resolve::{Found, NONE, Resolver};
use super::shape_maps::Maps;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;

/// Where the content itself begins in what is hashed for the digest.
pub(super) const CONTENT_START: usize = CONTENT_DOMAIN.len() + 32;

/// Derives the events of records by one recipe; one for each thread.
pub struct Deriver {
    recipe: Arc<Recipe>,
    pub(super) scratch: Scratch,
}

/// All room that is used again for the next record.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub tape: Tape,
    pub output: Output,
    pub writer: Writer,
    pub lists: Lists,
    pub bindings: Bindings,
    /// The token of each field of the record, then of the item at hand.
    pub slots: Vec<u32>,
    pub in_place: Vec<(u32, usize)>,
    pub maps: Maps,
    pub record: Vec<Value>,
    /// The values of all items, one item behind the other.
    pub items: Vec<Value>,
    /// Where those of the item at hand begin, in granularity `items`.
    pub first_value: usize,
    pub order: Vec<Place>,
    pub content_order: Vec<Place>,
    pub preimage: Vec<u8>,
    pub rest: Vec<u8>,
    pub content: Vec<u8>,
    pub item_contents: Vec<u8>,
    pub item_spans: Vec<(u32, u32)>,
    pub prefixes: String,
    pub answers: Vec<Result<Derived, Rejection>>,
    /// The number of the first of equal items.
    pub first_occurrence: u32,
    /// Of each answer that is not a rejection, in granularity `items`.
    pub identities: Vec<Identity>,
    /// Where to note what is hashed, for a person who asks for it.
    pub trace: Option<Vec<Trace>>,
}

/// What the content digest begins with, so that it can never be taken for another hash.
const CONTENT_DOMAIN: &[u8] = b"oncegate content 1\n";

impl Deriver {
    /// A deriver for one recipe; it allocates as it meets its first records.
    pub fn new(recipe: Arc<Recipe>) -> Deriver {
        Deriver { recipe, scratch: Scratch::default() }
    }

    /// The recipe by which it derives.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The same, to be shared with other derivers.
    pub fn shared_recipe(&self) -> Arc<Recipe> {
        self.recipe.clone()
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
        self.derive_numbered(payload, 1)
    }

    /// The same for a document that was reduced to one of equal items: it had the number
    /// `occurrence` among them, which is part of its key where the recipe numbers equal items.
    ///
    /// # Errors
    ///
    /// As [`derive`](Deriver::derive).
    pub fn derive_numbered<'d>(
        &'d mut self,
        payload: &[u8],
        occurrence: u32,
    ) -> Result<Events<'d>, Rejection> {
        self.scratch.first_occurrence = occurrence;
        let Deriver { recipe, scratch } = self;
        Run { recipe, payload, s: scratch }.derive()?;
        Ok(Events { answers: &scratch.answers, prefixes: &scratch.prefixes })
    }
}

/// Shows the recipe only: the room of a deriver holds values of its last record.
impl fmt::Debug for Deriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, version) = (&self.recipe.name, self.recipe.version);
        f.debug_struct("Deriver")
            .field("recipe", name)
            .field("version", &version)
            .finish_non_exhaustive()
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
            return Err(Rejection::at("", fault!(Reason::Json, "the document must be an object")));
        }
        let list = self.scope(&recipe.record, recipe.plan.record, 0, Which::Record)?;
        let Some(items) = &recipe.items else {
            return self.finish_record(None);
        };
        let (list, count) = self.elements(items, list)?;
        if let Some(namespaces) = &items.namespaces {
            self.s.bindings.add(&self.s.tape, self.payload, 0, namespaces);
        }
        match recipe.granularity {
            Granularity::Record => self.record_of_items(items, list, count),
            Granularity::Items => self.each_item(items, list, count),
        }
    }

    /// Resolves and normalizes the fields of the record or of one item.
    pub(super) fn scope(
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
            let fault = fault!(Reason::Json, "only one list of items may be there");
            return Err(which.rejection(self.recipe, "", fault));
        }
        let mut normalizing = Normalizing {
            tape: &mut s.tape,
            payload: self.payload,
            encoding: self.recipe.encoding,
            output: &mut s.output,
            lists: &mut s.lists,
        };
        let values = if which == Which::Record { &mut s.record } else { &mut s.items };
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
            None => fault!(Reason::Empty, "a list of items is due"),
            Some(list) => match self.s.tape.token(list.token) {
                token if token.kind != Kind::Array => {
                    fault!(Reason::Json, "the list of items must be an array")
                }
                token if token.count == 0 => {
                    fault!(Reason::Empty, "at least one item is due")
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

    /// Key and digest of a record as one event.
    pub(super) fn finish_record(&mut self, items: Option<(Found, usize)>) -> Result<(), Rejection> {
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

    /// What no other part of the identity speaks of, where the recipe wants it.
    pub(super) fn write_rest(&mut self, scope: &Scope, root: u32, known: &[(String, String)]) {
        let s = &mut *self.s;
        s.rest.clear();
        if scope.rest.is_some() {
            let doc = Document {
                tape: &s.tape,
                payload: self.payload,
                normalized: &s.output.bytes,
                items: &s.item_contents,
                rest: Some(Rest { bindings: &s.bindings, known }),
            };
            s.writer.write(&doc, root, &mut s.rest);
        }
    }

    /// Hashes the identity that has been written, and the content of the event.
    pub(super) fn derived(&mut self, scope: &Scope, root: u32, item: Option<ItemSpan>) -> Derived {
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
            event_time_micros: event_time(self.recipe, &s.record, &s.items[s.first_value..]),
            prefix: push_prefix(
                self.recipe,
                &s.record,
                &s.items[s.first_value..],
                &s.output.bytes,
                &mut s.prefixes,
            ),
            item,
            occurrence: None,
        }
    }
}

/// Whose fields are at hand: the record's, or those of an item (pointer of the list, index).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Record,
    Item(usize, usize),
}

impl Which {
    #[cold]
    pub fn rejection(self, recipe: &Recipe, pointer: &str, fault: Fault) -> Rejection {
        match (self, &recipe.items) {
            (Which::Item(list, index), Some(items)) => {
                Rejection::at(format!("{}/{index}{pointer}", items.pointers[list].text), fault)
            }
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
        self.first_value = 0;
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
