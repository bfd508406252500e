//! How large the copies of a raw record become.
//! Must not be in here: what is done with one that is too large.

use super::collected::{Collected, Keyed};
use super::output::RAW_PREFIX;

/// Bytes that the record format and our own headers may add to key, value, raw headers and the
/// key's prefix: record batch header (61), record framing (40), and at most 1,400 for our own
/// headers, with two names of topics of the greatest length.
const FRAMING_BYTES: usize = 1501;

/// Upper bound of the size of an event's clean record in bytes before compression.
pub fn clean_bytes(collected: &Collected, record: usize, event: usize) -> usize {
    let whole = copy_bytes(collected, record, collected.event(event));
    match collected.event(event) {
        Keyed::Event { item: Some(span), .. } => {
            whole.saturating_sub(span.array.len()) + span.element.len() + 2
        }
        _ => whole,
    }
}

/// The same of a copy with the whole raw value.
pub(super) fn copy_bytes(collected: &Collected, record: usize, event: &Keyed) -> usize {
    let len = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
    let headers: usize = (collected.headers(record))
        .map(|header| header.name.len() * 2 + len(header.value) + RAW_PREFIX.len() + 15)
        .sum();
    let told = match event {
        Keyed::Event { prefix, .. } => prefix.len(),
        Keyed::Rejected { detail, .. } => detail.len(),
    };
    len(collected.key(record)) + len(collected.payload(record)) + headers + told + FRAMING_BYTES
}
