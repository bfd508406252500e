//! The deriver: from the bytes of a record to its events.
//!
//! One pass over the bytes makes the tape; the recipe's plan picks the fields and marks what the
//! content leaves out; the fields are normalized, joined and hashed. All room is kept for the
//! next record, so that a warm deriver allocates nothing for a record without rejections.
//!
//! No clock, no IO, and no value of a document in any rejection.

use super::content::{Document, Writer};
use super::events::{Derived, Events, ItemSpan};
use super::hash::{ContentDigest, EventKey};
use super::json::{Kind, Mark, Tape};
use super::normalize::{Input, Output};
use super::preimage::{Form, SEPARATOR, Value, check_separator, push_json};
use super::recipe::{
    Action, Encoding, Field, FieldRef, Granularity, Items, NodeId, Origin, Part, Plan, PrefixPart,
    Recipe,
};
use super::reject::{Fault, Reason, Rejection};
use sha2::{Digest, Sha256};
use std::cmp::Ordering;
use std::sync::Arc;

/// Derives the events of records by one recipe; one for each thread.
#[derive(Debug)]
pub struct Deriver {
    recipe: Arc<Recipe>,
    scratch: Scratch,
}

/// All room that is used again for the next record.
#[derive(Debug, Default)]
struct Scratch {
    tape: Tape,
    output: Output,
    writer: Writer,
    /// The token of each field of the record, then of the item at hand; `NONE` where absent.
    slots: Vec<u32>,
    record: Vec<Value>,
    /// The values of all items, one item behind the other.
    items: Vec<Value>,
    order: Vec<u32>,
    preimage: Vec<u8>,
    content: Vec<u8>,
    item_contents: Vec<u8>,
    item_spans: Vec<(u32, u32)>,
    prefixes: String,
    answers: Vec<Result<Derived, Rejection>>,
    /// Hash of the identity without its occurrence, of each answer that is not a rejection.
    identities: Vec<([u8; 32], u32)>,
}

const NONE: u32 = u32::MAX;
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
        scratch.derive(recipe, payload)?;
        Ok(Events { answers: &scratch.answers, prefixes: &scratch.prefixes })
    }
}

impl Scratch {
    fn derive(&mut self, recipe: &Recipe, payload: &[u8]) -> Result<(), Rejection> {
        self.answers.clear();
        self.prefixes.clear();
        self.output.bytes.clear();
        self.record.clear();
        self.items.clear();
        self.tape.read(payload)?;
        if self.tape.token(0).kind != Kind::Object {
            return Err(Rejection::at("", Fault::new(Reason::Json, "the document is an object")));
        }
        self.slots.clear();
        self.slots.resize(recipe.fields.len(), NONE);
        let mut list = NONE;
        resolve(
            &mut self.tape,
            payload,
            &recipe.plan,
            recipe.plan.record,
            0,
            &mut self.slots,
            &mut list,
        );
        let mut at = Normalizing {
            tape: &self.tape,
            payload,
            encoding: recipe.encoding,
            output: &mut self.output,
        };
        at.fields(0, &recipe.fields, &self.slots, &mut self.record).map_err(|(index, fault)| {
            Rejection::at(recipe.fields[index].pointer.text.as_str(), fault)
        })?;
        let Some(items) = &recipe.items else {
            return self.finish_record(recipe, payload, None);
        };
        let elements = self.elements(items, list)?;
        match recipe.granularity {
            Granularity::Record => self.record_of_items(recipe, items, payload, list, elements),
            Granularity::Items => self.each_item(recipe, items, payload, list, elements),
        }
    }

    /// How many items there are; none is a fault.
    fn elements(&self, items: &Items, list: u32) -> Result<usize, Rejection> {
        let fault = if list == NONE {
            Fault::new(Reason::Empty, "the list of items is there")
        } else {
            let token = self.tape.token(list);
            match (token.kind, token.count) {
                (Kind::Array, 0) => Fault::new(Reason::Empty, "there is at least one item"),
                (Kind::Array, count) => return Ok(count as usize),
                _ => Fault::new(Reason::Json, "the list of items is an array"),
            }
        };
        Err(Rejection::at(items.pointer.text.as_str(), fault))
    }

    fn element(&self, list: u32, index: usize) -> u32 {
        self.tape.elements_of(self.tape.token(list))[index]
    }

    /// Resolves and normalizes one item, appending its values.
    fn item(
        &mut self,
        recipe: &Recipe,
        items: &Items,
        payload: &[u8],
        list: u32,
        index: usize,
    ) -> Result<(), Rejection> {
        let element = self.element(list, index);
        let pointer = |rest: &str| format!("{}/{index}{rest}", items.pointer.text);
        if self.tape.token(element).kind != Kind::Object {
            return Err(Rejection::at(
                pointer(""),
                Fault::new(Reason::Json, "an item is an object"),
            ));
        }
        self.slots.clear();
        self.slots.resize(items.fields.len(), NONE);
        if let Some(node) = recipe.plan.item {
            resolve(
                &mut self.tape,
                payload,
                &recipe.plan,
                node,
                element,
                &mut self.slots,
                &mut NONE.clone(),
            );
        }
        let mut at = Normalizing {
            tape: &self.tape,
            payload,
            encoding: recipe.encoding,
            output: &mut self.output,
        };
        at.fields(element, &items.fields, &self.slots, &mut self.items).map_err(|(field, fault)| {
            Rejection::at(pointer(&items.fields[field].pointer.text), fault)
        })
    }

    fn record_of_items(
        &mut self,
        recipe: &Recipe,
        items: &Items,
        payload: &[u8],
        list: u32,
        count: usize,
    ) -> Result<(), Rejection> {
        for index in 0..count {
            self.item(recipe, items, payload, list, index)?;
        }
        self.tape.set_mark(list, Mark::Items);
        self.order.clear();
        self.order.extend(0..count as u32);
        self.write_item_contents(items, payload, list, count);
        if !items.sort.is_empty() {
            let compare = ItemOrder { items, values: &self.items, bytes: &self.output.bytes };
            let order = |a: &u32, b: &u32| compare.by_sort(*a, *b).then(a.cmp(b));
            if !self.order.is_sorted_by(|a, b| order(a, b).is_lt()) {
                self.order.sort_unstable_by(order);
            }
        }
        self.finish_record(recipe, payload, Some(count))
    }

    /// The contents of the items as one list, in an order that their spelling does not change.
    fn write_item_contents(&mut self, items: &Items, payload: &[u8], list: u32, count: usize) {
        self.content.clear();
        self.item_spans.clear();
        for index in 0..count {
            let start = self.content.len();
            let element = self.element(list, index);
            let doc = Document { tape: &self.tape, payload };
            self.writer.write(doc, element, &[], &mut self.content);
            self.item_spans.push((start as u32, self.content.len() as u32));
        }
        let content = |index: u32| {
            let (start, end) = self.item_spans[index as usize];
            &self.content[start as usize..end as usize]
        };
        if !items.sort.is_empty() {
            let compare = ItemOrder { items, values: &self.items, bytes: &self.output.bytes };
            self.order.sort_unstable_by(|a, b| {
                compare
                    .by_sort(*a, *b)
                    .then_with(|| compare.by_all(*a, *b))
                    .then_with(|| content(*a).cmp(content(*b)))
            });
        }
        self.item_contents.clear();
        for (place, index) in self.order.iter().enumerate() {
            self.item_contents.push(if place == 0 { b'[' } else { b',' });
            self.item_contents.extend_from_slice(content(*index));
        }
        self.item_contents.push(b']');
        self.order.sort_unstable();
    }

    /// Key and digest of a record as one event.
    fn finish_record(
        &mut self,
        recipe: &Recipe,
        payload: &[u8],
        items: Option<usize>,
    ) -> Result<(), Rejection> {
        let encoder = Encoder {
            encoding: recipe.encoding,
            bytes: &self.output.bytes,
            record: &self.record,
            list: items.map(|_| List {
                order: &self.order,
                values: &self.items,
                parts: &recipe.layout.item,
            }),
        };
        self.preimage.clear();
        encoder.parts(&recipe.layout.record, &[], None, &mut self.preimage);
        let identity: [u8; 32] = Sha256::digest(&self.preimage).into();
        begin_content(&mut self.content, &identity);
        let doc = Document { tape: &self.tape, payload };
        self.writer.write(doc, 0, &self.item_contents, &mut self.content);
        let derived = Derived {
            key: EventKey::new(identity),
            digest: digest(&self.content),
            event_time_micros: event_time(recipe, &self.record, &[]),
            prefix: push_prefix(recipe, &self.record, &[], &self.output.bytes, &mut self.prefixes),
            item: None,
        };
        self.answers.push(Ok(derived));
        Ok(())
    }

    fn each_item(
        &mut self,
        recipe: &Recipe,
        items: &Items,
        payload: &[u8],
        list: u32,
        count: usize,
    ) -> Result<(), Rejection> {
        self.identities.clear();
        let array = self.tape.token(list);
        let array = array.start as usize..array.end as usize;
        for index in 0..count {
            self.items.clear();
            let answer = match self.item(recipe, items, payload, list, index) {
                Err(rejection) => Err(rejection),
                Ok(()) => {
                    Ok(self.finish_item(recipe, payload, self.element(list, index), array.clone()))
                }
            };
            if let Ok(derived) = &answer {
                self.identities.push((*derived.key.as_bytes(), index as u32));
            }
            self.answers.push(answer);
        }
        if items.occurrence.is_some() {
            self.number_occurrences(recipe, items, payload, list);
        }
        Ok(())
    }

    /// Key (without an occurrence) and digest of the item whose values are at hand.
    fn finish_item(
        &mut self,
        recipe: &Recipe,
        payload: &[u8],
        element: u32,
        array: std::ops::Range<usize>,
    ) -> Derived {
        let encoder = Encoder {
            encoding: recipe.encoding,
            bytes: &self.output.bytes,
            record: &self.record,
            list: None,
        };
        self.preimage.clear();
        encoder.parts(&recipe.layout.item, &self.items, None, &mut self.preimage);
        let identity: [u8; 32] = Sha256::digest(&self.preimage).into();
        begin_content(&mut self.content, &identity);
        let doc = Document { tape: &self.tape, payload };
        self.writer.write(doc, element, &[], &mut self.content);
        let token = self.tape.token(element);
        Derived {
            key: EventKey::new(identity),
            digest: digest(&self.content),
            event_time_micros: event_time(recipe, &self.record, &self.items),
            prefix: push_prefix(
                recipe,
                &self.record,
                &self.items,
                &self.output.bytes,
                &mut self.prefixes,
            ),
            item: Some(ItemSpan { element: token.start as usize..token.end as usize, array }),
        }
    }

    /// Gives equal items of the record their numbers, in the order of their digests, and their
    /// final keys.
    fn number_occurrences(&mut self, recipe: &Recipe, items: &Items, payload: &[u8], list: u32) {
        let mut identities = std::mem::take(&mut self.identities);
        let digest_of = |index: u32, answers: &[Result<Derived, Rejection>]| {
            answers[index as usize].as_ref().map_or(ContentDigest::new([0; 16]), |d| d.digest)
        };
        identities.sort_unstable_by(|a, b| {
            let digests = || digest_of(a.1, &self.answers).cmp(&digest_of(b.1, &self.answers));
            a.0.cmp(&b.0).then_with(digests).then(a.1.cmp(&b.1))
        });
        let (mut number, mut before) = (0u64, None);
        for (identity, index) in &identities {
            number = if before == Some(*identity) { number + 1 } else { 1 };
            before = Some(*identity);
            self.items.clear();
            // The item was accepted once already, so this cannot fail; if it did, the answer
            // would stand as it is.
            if self.item(recipe, items, payload, list, *index as usize).is_err() {
                continue;
            }
            let encoder = Encoder {
                encoding: recipe.encoding,
                bytes: &self.output.bytes,
                record: &self.record,
                list: None,
            };
            self.preimage.clear();
            encoder.parts(&recipe.layout.item, &self.items, Some(number), &mut self.preimage);
            if let Ok(derived) = &mut self.answers[*index as usize] {
                derived.key = EventKey::new(Sha256::digest(&self.preimage).into());
            }
        }
        self.identities = identities;
    }
}

fn begin_content(content: &mut Vec<u8>, identity: &[u8; 32]) {
    content.clear();
    content.extend_from_slice(CONTENT_DOMAIN);
    content.extend_from_slice(identity);
}

fn digest(content: &[u8]) -> ContentDigest {
    let hash: [u8; 32] = Sha256::digest(content).into();
    let mut first = [0; 16];
    first.copy_from_slice(&hash[..16]);
    ContentDigest::new(first)
}

/// Walks the plan and the document together: fills the slots and sets the marks.
fn resolve(
    tape: &mut Tape,
    payload: &[u8],
    plan: &Plan,
    node: NodeId,
    index: u32,
    slots: &mut [u32],
    list: &mut u32,
) {
    let node = plan.node(node);
    let token = tape.token(index);
    match &node.action {
        Action::Pass => {}
        Action::Fields(fields) => {
            fields.iter().for_each(|field| slots[*field] = index);
            return tape.set_mark(index, Mark::LeftOut);
        }
        Action::Ignore => return tape.set_mark(index, Mark::LeftOut),
        Action::Items => {
            *list = index;
            return;
        }
    }
    if node.unordered && token.kind == Kind::Array {
        tape.set_mark(index, Mark::Unordered);
    }
    if token.kind == Kind::Object {
        // Both sides are sorted by name, so one walk along them finds all.
        let (mut step, mut member) = (0, 0);
        while step < node.members.len() && member < token.count {
            let (s, m) = (&node.members[step], tape.members[(token.first + member) as usize]);
            let order =
                s.prefix.cmp(&m.prefix).then_with(|| s.name.as_ref().cmp(tape.name(payload, &m)));
            if order.is_eq() {
                resolve(tape, payload, plan, s.to, m.value, slots, list);
            }
            step += usize::from(order.is_le());
            member += u32::from(order.is_ge());
        }
    } else if token.kind == Kind::Array {
        for step in &node.members {
            if let Some(element) =
                step.index.and_then(|at| tape.elements_of(token).get(at).copied())
            {
                resolve(tape, payload, plan, step.to, element, slots, list);
            }
        }
        if let Some(each) = node.each {
            for at in 0..token.count {
                let element = tape.elements[(token.first + at) as usize];
                resolve(tape, payload, plan, each, element, slots, list);
            }
        }
    }
}

/// Normalizes the fields of a record or an item.
struct Normalizing<'a> {
    tape: &'a Tape,
    payload: &'a [u8],
    encoding: Encoding,
    output: &'a mut Output,
}

impl Normalizing<'_> {
    /// Appends one value for each field; on a fault, which field it was.
    fn fields(
        &mut self,
        root: u32,
        fields: &[Field],
        slots: &[u32],
        values: &mut Vec<Value>,
    ) -> Result<(), (usize, Fault)> {
        for (index, field) in fields.iter().enumerate() {
            let value = self.field(root, field, slots[index]).map_err(|fault| (index, fault))?;
            values.push(value);
        }
        Ok(())
    }

    fn field(&mut self, root: u32, field: &Field, slot: u32) -> Result<Value, Fault> {
        let absent = slot == NONE;
        if field.optional
            && (if absent { self.leaves_no_trace(root, field) } else { self.is_empty(field, slot) })
        {
            return Ok(Value::ABSENT);
        }
        let input = if absent { Input::Other } else { input(self.tape, self.payload, slot) };
        let start = self.output.bytes.len();
        field.normalizer.apply(input, self.output)?;
        let end = self.output.bytes.len();
        if self.encoding == Encoding::Tuple {
            check_separator(&self.output.bytes[start..end])?;
        }
        let form = if self.output.plain { Form::Plain } else { Form::Text };
        Ok(Value { form, start: start as u32, end: end as u32, micros: self.output.micros })
    }

    /// An optional member is absent when the first member of its pointer is: an error
    /// declaration without its time is a fault, not an event without a declaration.
    fn leaves_no_trace(&self, root: u32, field: &Field) -> bool {
        field.pointer.segments.len() == 1
            || !field.pointer.begins_in(self.tape, self.payload, self.tape.token(root))
    }

    fn is_empty(&self, field: &Field, slot: u32) -> bool {
        let token = self.tape.token(slot);
        field.empty_is_absent
            && match token.kind {
                Kind::Null => true,
                Kind::Text | Kind::Decoded => token.start == token.end,
                Kind::Array | Kind::Object => token.count == 0,
                Kind::Number | Kind::True | Kind::False => false,
            }
    }
}

fn input<'a>(tape: &'a Tape, payload: &'a [u8], slot: u32) -> Input<'a> {
    let token = tape.token(slot);
    match token.kind {
        Kind::Text | Kind::Decoded => Input::Text(tape.text(payload, token)),
        Kind::Number => Input::Number(tape.text(payload, token)),
        _ => Input::Other,
    }
}

/// Compares items by their normalized values, as bytes.
struct ItemOrder<'a> {
    items: &'a Items,
    values: &'a [Value],
    bytes: &'a [u8],
}

impl ItemOrder<'_> {
    fn value(&self, item: u32, field: usize) -> (Form, &[u8]) {
        let value = self.values[item as usize * self.items.fields.len() + field];
        // Whether a text needs escapes has no part in the order.
        let form = if value.form == Form::Absent { Form::Absent } else { Form::Plain };
        (form, value.bytes(self.bytes))
    }

    fn by(&self, a: u32, b: u32, mut fields: impl Iterator<Item = usize>) -> Ordering {
        fields
            .find_map(|f| Some(self.value(a, f).cmp(&self.value(b, f))).filter(|o| o.is_ne()))
            .unwrap_or(Ordering::Equal)
    }

    /// By the fields that the recipe sorts by.
    fn by_sort(&self, a: u32, b: u32) -> Ordering {
        self.by(a, b, self.items.sort.iter().copied())
    }

    fn by_all(&self, a: u32, b: u32) -> Ordering {
        self.by(a, b, 0..self.items.fields.len())
    }
}

/// Writes the parts of an identity.
struct Encoder<'a> {
    encoding: Encoding,
    bytes: &'a [u8],
    record: &'a [Value],
    list: Option<List<'a>>,
}

struct List<'a> {
    order: &'a [u32],
    values: &'a [Value],
    parts: &'a [Part],
}

impl Encoder<'_> {
    fn parts(&self, parts: &[Part], item: &[Value], occurrence: Option<u64>, out: &mut Vec<u8>) {
        let json = self.encoding == Encoding::Json;
        if json {
            out.push(b'{');
        }
        let mut first = true;
        for part in parts {
            let value = match part.origin {
                Origin::Field(FieldRef::Record(index)) => self.record[index],
                Origin::Field(FieldRef::Item(index)) => item[index],
                Origin::Items => Value { form: Form::Plain, ..Value::ABSENT },
                Origin::Occurrence if occurrence.is_none() => Value::ABSENT,
                Origin::Occurrence => Value { form: Form::Plain, ..Value::ABSENT },
            };
            if value.form == Form::Absent {
                continue;
            }
            if !first {
                out.push(if json { b',' } else { SEPARATOR });
            }
            first = false;
            out.extend_from_slice(&part.label);
            match (part.origin, occurrence) {
                (Origin::Items, _) => self.list(out),
                (Origin::Occurrence, Some(number)) => {
                    self.value(Form::Plain, number.to_string().as_bytes(), out)
                }
                _ => self.value(value.form, value.bytes(self.bytes), out),
            }
        }
        if json {
            out.push(b'}');
        }
    }

    fn value(&self, form: Form, bytes: &[u8], out: &mut Vec<u8>) {
        match self.encoding {
            Encoding::Json => push_json(form, bytes, out),
            Encoding::Tuple => out.extend_from_slice(bytes),
        }
    }

    fn list(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        if let Some(list) = &self.list {
            let width = list.values.len() / list.order.len().max(1);
            for (place, index) in list.order.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                let values = &list.values[*index as usize * width..][..width];
                self.parts(list.parts, values, None, out);
            }
        }
        out.push(b']');
    }
}

/// The first of the event time's fields that is there.
fn event_time(recipe: &Recipe, record: &[Value], item: &[Value]) -> Option<i64> {
    recipe
        .event_time
        .iter()
        .map(|at| value_of(*at, record, item))
        .find(|v| v.form != Form::Absent)
        .map(|v| v.micros)
}

fn value_of(at: FieldRef, record: &[Value], item: &[Value]) -> Value {
    match at {
        FieldRef::Record(index) => record[index],
        FieldRef::Item(index) => item[index],
    }
}

fn push_prefix(
    recipe: &Recipe,
    record: &[Value],
    item: &[Value],
    bytes: &[u8],
    out: &mut String,
) -> std::ops::Range<usize> {
    let start = out.len();
    for part in &recipe.prefix {
        match part {
            PrefixPart::Literal(text) => out.push_str(text),
            PrefixPart::Field(at) => {
                // Normalizers write UTF-8 only, so nothing is lost here.
                out.push_str(&String::from_utf8_lossy(value_of(*at, record, item).bytes(bytes)));
            }
        }
    }
    start..out.len()
}
