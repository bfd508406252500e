//! The order of a record's items, by their normalized values.
//!
//! The identity sorts by the fields that the recipe names, and keeps the order of the document
//! among equals; the content must not depend on that order even where the recipe's fields do not
//! settle it.

use super::preimage::{Form, Value};
use super::recipe::Items;
use std::cmp::Ordering;

/// Compares items by their normalized values, as bytes.
pub(crate) struct ItemOrder<'a> {
    pub items: &'a Items,
    /// The values of all items, one item behind the other.
    pub values: &'a [Value],
    /// The normalizers' bytes.
    pub bytes: &'a [u8],
}

impl ItemOrder<'_> {
    fn by(&self, a: u32, b: u32, fields: impl Iterator<Item = usize>) -> Ordering {
        let width = self.items.scope.fields.len();
        let value = |item: u32, field: usize| {
            let value = &self.values[item as usize * width + field];
            // What is absent comes first; whether a text needs escapes has no part in the order.
            (value.form != Form::Absent, value.bytes(self.bytes))
        };
        for field in fields {
            let order = value(a, field).cmp(&value(b, field));
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    fn by_sort(&self, a: u32, b: u32) -> Ordering {
        self.by(a, b, self.items.sort.iter().copied())
    }

    /// Sorts as the identity writes the items.
    pub fn sort_for_identity(&self, order: &mut [u32]) {
        let compare = |a: &u32, b: &u32| self.by_sort(*a, *b).then(a.cmp(b));
        if !self.items.sort.is_empty() && !order.is_sorted_by(|a, b| compare(a, b).is_le()) {
            order.sort_unstable_by(compare);
        }
    }

    /// Sorts so that items which are equal in all they say stand together.
    pub fn sort_for_content<'c>(&self, order: &mut [u32], content: impl Fn(u32) -> &'c [u8]) {
        if self.items.sort.is_empty() {
            return;
        }
        let all = || 0..self.items.scope.fields.len();
        order.sort_unstable_by(|a, b| {
            self.by_sort(*a, *b)
                .then_with(|| self.by(*a, *b, all()))
                .then_with(|| content(*a).cmp(content(*b)))
        });
    }
}
