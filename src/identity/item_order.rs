//! The order of a record's items, by their normalized values.
//!
//! The identity sorts by the fields that the recipe names, and keeps the order of the document
//! among equals; the content must not depend on that order even where the recipe's fields do not
//! settle it.

use super::preimage::{Form, Value};
use super::recipe::Items;
use std::cmp::Ordering;

/// An item to be sorted: the first bytes of what decides most, and its index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    prefix: u128,
    pub index: u32,
}

/// Compares items by their normalized values, as bytes.
#[derive(Clone, Copy)]
pub(crate) struct ItemOrder<'a> {
    pub items: &'a Items,
    /// The values of all items, one item behind the other.
    pub values: &'a [Value],
    /// The normalizers' bytes.
    pub bytes: &'a [u8],
}

impl ItemOrder<'_> {
    fn value(&self, item: u32, field: usize) -> &Value {
        &self.values[item as usize * self.items.scope.fields.len() + field]
    }

    /// What is absent comes first; whether a text needs escapes has no part in the order.
    fn text(&self, item: u32, field: usize) -> (bool, &[u8]) {
        let value = self.value(item, field);
        (value.form != Form::Absent, value.bytes(self.bytes))
    }

    fn by(&self, a: u32, b: u32, fields: impl Iterator<Item = usize>) -> Ordering {
        for field in fields {
            let order = self.text(a, field).cmp(&self.text(b, field));
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    fn by_sort(&self, a: &Place, b: &Place) -> Ordering {
        let rest = || self.by(a.index, b.index, self.items.sort.iter().copied());
        a.prefix.cmp(&b.prefix).then_with(rest)
    }

    /// The first field of the order in which items differ; those before it decide nothing.
    ///
    /// Its first bytes can be compared before all else, since absent values have none.
    fn leading(&self, count: u32) -> Option<usize> {
        let differs = |field: &usize| {
            let first = self.text(0, *field);
            (1..count).any(|item| self.text(item, *field) != first)
        };
        self.items.sort.iter().copied().find(|field| differs(field))
    }

    /// Sorts as the identity writes the items. Whether some of them are equal in what it sorts by.
    pub fn sort_for_identity(&self, count: u32, order: &mut Vec<Place>) -> bool {
        order.clear();
        let leading = self.leading(count);
        let prefix =
            |index| leading.map_or(0, |field| prefix_of(self.bytes, self.value(index, field)));
        order.extend((0..count).map(|index| Place { prefix: prefix(index), index }));
        if self.items.sort.is_empty() {
            return false;
        }
        if order.is_sorted_by(|a, b| self.by_sort(a, b).is_lt()) {
            return false;
        }
        // What is found equal here stands side by side in the end.
        let equals = std::cell::Cell::new(false);
        order.sort_unstable_by(|a, b| {
            let order = self.by_sort(a, b);
            equals.set(equals.get() | order.is_eq());
            order.then(a.index.cmp(&b.index))
        });
        equals.get() && order.windows(2).any(|pair| self.by_sort(&pair[0], &pair[1]).is_eq())
    }

    /// Sorts what the identity's order leaves open, so that the content does not depend on the
    /// order of the document.
    pub fn sort_for_content<'c>(&self, order: &mut [Place], content: impl Fn(u32) -> &'c [u8]) {
        let all = || 0..self.items.scope.fields.len();
        order.sort_unstable_by(|a, b| {
            self.by_sort(a, b)
                .then_with(|| self.by(a.index, b.index, all()))
                .then_with(|| content(a.index).cmp(content(b.index)))
        });
    }
}

/// The first sixteen bytes of a span, filled up with zeros. A lesser prefix is a lesser text, and
/// an absent value has the least.
fn prefix_of(bytes: &[u8], value: &Value) -> u128 {
    let (start, length) = (value.start as usize, (value.end - value.start) as usize);
    match bytes.get(start..).and_then(|rest| rest.first_chunk::<16>()) {
        Some(chunk) if length >= 16 => u128::from_be_bytes(*chunk),
        Some(_) if length == 0 => 0,
        // What lies behind the value is masked away.
        Some(chunk) => u128::from_be_bytes(*chunk) & (u128::MAX << (128 - 8 * length)),
        None => {
            let text = value.bytes(bytes).iter().take(16).enumerate();
            text.fold(0, |prefix, (place, byte)| prefix | u128::from(*byte) << (120 - 8 * place))
        }
    }
}
