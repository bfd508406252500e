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
                fault!(Reason::Json, "an item is an object"),
            ));
        }
        self.scope(&items.scope, self.recipe.plan.item, element, which)
            .map(|_| ())
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

    pub(super) fn each_item(
        &mut self,
        items: &Items,
        list: Found,
        count: usize,
    ) -> Result<(), Rejection> {
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
