//! The items of a record: sorted into one event, or each an event of its own.
//!
//! How one object is resolved, normalized and hashed is in `derive`; here is what lists add to
//! it: order, and the numbers of equal items.

use super::content::Document;
use super::derive::{Run, Which};
use super::events::{Derived, ItemSpan};
use super::hash::EventKey;
use super::item_order::ItemOrder;
use super::json::{Kind, Mark};
use super::preimage::Encoder;
use super::recipe::Items;
use super::reject::{Reason, Rejection, fault};
use super::resolve::Found;
use sha2::{Digest, Sha256};
use std::ops::Range;

impl Run<'_> {
    /// Resolves and normalizes one item, appending its values.
    fn item(&mut self, items: &Items, list: Found, index: usize) -> Result<(), Rejection> {
        let element = self.element(list, index);
        let which = Which::Item(list.pointer, index);
        if self.s.tape.token(element).kind != Kind::Object {
            return Err(which.rejection(
                self.recipe,
                "",
                fault!(Reason::Json, "an item must be an object"),
            ));
        }
        self.scope(&items.scope, self.recipe.plan.item, element, which).map(|_| ())
    }

    pub(super) fn record_of_items(
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
        let compare = ItemOrder { items, values: &s.items, bytes: &s.output.bytes };
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
            s.writer.write(&doc, elements[item.index as usize], &mut s.item_contents);
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
        ItemOrder { items, values: &s.items, bytes: &s.output.bytes }
            .sort_for_content(&mut s.content_order, content);
        for (place, item) in s.content_order.iter().enumerate() {
            s.item_contents.push(if place == 0 { b'[' } else { b',' });
            s.item_contents.extend_from_slice(content(item.index));
        }
        s.item_contents.push(b']');
    }

    pub(super) fn each_item(
        &mut self,
        items: &Items,
        list: Found,
        count: usize,
    ) -> Result<(), Rejection> {
        self.s.identities.clear();
        let array = self.s.tape.token(list.token);
        let array = array.start as usize..array.end as usize;
        for index in 0..count {
            self.s.first_value = self.s.items.len();
            let answer = self.item(items, list, index);
            let element = self.element(list, index);
            let answer = match answer {
                Ok(()) => Ok(self.finish_item(items, element, array.clone())),
                Err(rejection) => {
                    self.s.items.truncate(self.s.first_value);
                    self.trace_nothing();
                    Err(rejection)
                }
            };
            if let Ok(derived) = &answer {
                let identity = *derived.key.as_bytes();
                let first_value = self.s.first_value;
                self.s.identities.push(Identity { identity, index, first_value });
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
        self.write_item_preimage(items, element, None);
        let token = self.s.tape.token(element);
        let element_span = token.start as usize..token.end as usize;
        let span = ItemSpan { element: element_span, array };
        let derived = self.derived(&items.scope, element, Some(span));
        self.trace_item(items, element);
        derived
    }

    /// Writes the identity of the item whose values are at hand.
    fn write_item_preimage(&mut self, items: &Items, element: u32, occurrence: Option<i64>) {
        let outer = self.s.bindings.len();
        let mut known = &[][..];
        if let Some(namespaces) = &items.namespaces {
            self.s.bindings.add(&self.s.tape, self.payload, element, namespaces);
            known = &namespaces.known;
        }
        self.write_rest(&items.scope, element, known);
        self.s.bindings.truncate(outer);
        let s = &mut *self.s;
        let encoder = Encoder {
            encoding: self.recipe.encoding,
            bytes: &s.output.bytes,
            record: &s.record,
            rest: &s.rest,
            list: None,
        };
        let values = &s.items[s.first_value..];
        s.preimage.clear();
        encoder.parts(&self.recipe.layout.item, values, occurrence, &mut s.preimage);
    }

    /// Gives equal items of the record their numbers, in the order of their digests, and their
    /// final keys.
    fn number_occurrences(&mut self, items: &Items, list: Found) {
        let mut identities = std::mem::take(&mut self.s.identities);
        let digest_of = |index: usize| match &self.s.answers[index] {
            Ok(derived) => Some(derived.digest),
            Err(_) => None,
        };
        identities.sort_unstable_by(|a, b| {
            let digests = || digest_of(a.index).cmp(&digest_of(b.index));
            a.identity.cmp(&b.identity).then_with(digests).then(a.index.cmp(&b.index))
        });
        let (mut number, mut before) = (0, None);
        for equal in &identities {
            number =
                if before == Some(equal.identity) { number + 1 } else { self.s.first_occurrence };
            before = Some(equal.identity);
            self.s.first_value = equal.first_value;
            self.write_item_preimage(
                items,
                self.element(list, equal.index),
                Some(i64::from(number)),
            );
            self.trace_occurrence(equal.index);
            if let Ok(derived) = &mut self.s.answers[equal.index] {
                derived.key = EventKey::new(Sha256::digest(&self.s.preimage).into());
                derived.occurrence = Some(number);
            }
        }
        self.s.identities = identities;
    }
}

/// An item that has an identity, before it is told apart from its equals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity {
    /// Hash of the identity without its occurrence.
    identity: [u8; 32],
    index: usize,
    /// Where its values begin among those of all items.
    first_value: usize,
}
