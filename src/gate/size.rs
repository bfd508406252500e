//! How large the copies of a raw record become: to the byte, in Kafka's record format 2, before
//! compression.
//!
//! What stands near the limit of a topic is larger than the client makes a batch, so it is sent in
//! one of its own: there its place and time are told by one byte each. Must not be in here: what is
//! done with a record that is too large.

use super::collected::{Collected, Keyed};
use super::output::{OWN_PREFIX, RAW_PREFIX};
use super::record::Header;

/// A record batch without its records.
const BATCH_BYTES: usize = 61;
/// Attributes, and the differences to the batch's first timestamp and offset, which are zero.
const RECORD_FIXED_BYTES: usize = 3;
/// What a raw header's name that is not UTF-8 is kept under, before its hexadecimal digits.
const RAW_NAME: &str = "name-";
/// Digits of the largest number of a journal entry.
const ENTRY_DIGITS_MAX: usize = 20;

/// Lengths of the names that stand in every header of a route.
#[derive(Clone, Copy, Debug)]
pub struct NameLengths {
    /// Of the raw topic.
    pub raw_topic: usize,
    /// Of `group/route`.
    pub route: usize,
    /// Of `name/version` of the recipe.
    pub recipe: usize,
}

impl NameLengths {
    /// Of these names.
    pub fn of(raw_topic: &str, route: &str, recipe: &str) -> NameLengths {
        NameLengths { raw_topic: raw_topic.len(), route: route.len(), recipe: recipe.len() }
    }

    /// Of the value of `oncegate-source`.
    fn source(&self, partition: i32, offset: i64, item: Option<u32>) -> usize {
        let place = [partition as u64, offset as u64].map(|number| 1 + digits(number));
        let item = item.map_or(0, |item| 1 + digits(u64::from(item)));
        self.raw_topic + place.iter().sum::<usize>() + item
    }
}

/// What a clean record says beyond the headers of a first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Besides {
    /// Nothing.
    Nothing,
    /// The offset and item of what it corrects.
    Corrects(i64, u32),
    /// The number of a journal entry, as large as it may ever be.
    Admitted,
}

/// Size of the batch that holds the clean record of an event alone.
pub fn clean_bytes(
    collected: &Collected,
    (record, event): (usize, usize),
    names: &NameLengths,
    besides: Besides,
) -> usize {
    let Keyed::Event { prefix, item, occurrence, .. } = collected.event(event) else { return 0 };
    let itemized = collected.is_itemized(record);
    let nth = (event - collected.events_of(record).start) as u32;
    let source = |offset: i64, item: u32| {
        names.source(collected.partition(), offset, itemized.then_some(item))
    };
    let mut size = CopySize::of(collected, record);
    if let Some(span) = item {
        size.payload = size.payload.map(|whole| whole - span.array.len() + span.element.len() + 2);
    }
    size.own("oncegate-key", prefix.len() + 64);
    size.own("oncegate-digest", 32);
    size.own("oncegate-source", source(collected.offset(record), nth));
    size.own("oncegate-recipe", names.recipe);
    size.own("oncegate-route", names.route);
    if let Some(number) = occurrence.filter(|number| *number > 1) {
        size.own("oncegate-occurrence", digits(u64::from(number)));
    }
    match besides {
        Besides::Nothing => {}
        Besides::Corrects(offset, item) => size.own("oncegate-corrects", source(offset, item)),
        Besides::Admitted => size.own("oncegate-admitted", ENTRY_DIGITS_MAX),
    }
    size.batch()
}

/// Size of the batch that holds a copy of a whole raw record with these headers of ours, alone.
pub(super) fn copy_bytes<'h>(
    collected: &Collected,
    record: usize,
    own: impl Iterator<Item = Header<'h>>,
) -> usize {
    let mut size = CopySize::of(collected, record);
    for header in own {
        size.header(header.name.len(), header.value.map(<[u8]>::len));
    }
    size.batch()
}

/// The parts of a copy's size.
struct CopySize {
    key: Option<usize>,
    payload: Option<usize>,
    headers: usize,
    headers_bytes: usize,
}

impl CopySize {
    /// Key, value and raw headers.
    fn of(collected: &Collected, record: usize) -> CopySize {
        let mut size = CopySize {
            key: collected.key(record).map(<[u8]>::len),
            payload: collected.payload(record).map(<[u8]>::len),
            headers: 0,
            headers_bytes: 0,
        };
        for header in collected.headers(record) {
            size.header(kept_name_bytes(header.name), header.value.map(<[u8]>::len));
        }
        size
    }

    fn own(&mut self, name: &str, value: usize) {
        self.header(name.len(), Some(value));
    }

    fn header(&mut self, name: usize, value: Option<usize>) {
        self.headers += 1;
        self.headers_bytes += field(Some(name)) + field(value);
    }

    fn batch(&self) -> usize {
        let body = RECORD_FIXED_BYTES
            + field(self.key)
            + field(self.payload)
            + varint(self.headers)
            + self.headers_bytes;
        BATCH_BYTES + varint(body) + body
    }
}

/// A length and so many bytes; null is the length -1, which takes one byte.
fn field(len: Option<usize>) -> usize {
    len.map_or(1, |len| varint(len) + len)
}

/// Bytes of a length as a zigzag varint.
fn varint(number: usize) -> usize {
    let bits = usize::BITS - (number << 1 | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

fn digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Length of the name under which a raw header is kept.
fn kept_name_bytes(name: &[u8]) -> usize {
    if std::str::from_utf8(name).is_err() {
        RAW_PREFIX.len() + RAW_NAME.len() + 2 * name.len()
    } else if name.starts_with(OWN_PREFIX.as_bytes()) {
        name.len() - OWN_PREFIX.len() + RAW_PREFIX.len()
    } else {
        name.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_take_as_many_bytes_as_kafka_gives_them() {
        for (number, bytes) in
            [(0, 1), (63, 1), (64, 2), (8191, 2), (8192, 3), (1 << 20, 4), ((1 << 20) - 1, 3)]
        {
            assert_eq!(varint(number), bytes, "{number}");
        }
        for (number, length) in [(0, 1), (9, 1), (10, 2), (999, 3), (u64::MAX, 20)] {
            assert_eq!(digits(number), length, "{number}");
        }
    }
}
