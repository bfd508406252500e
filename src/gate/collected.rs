//! The records of one partition that are under way: copied once, keyed as they come, decided later.
//! Must not be in here: verdicts, or anything that a redelivery of the same records would change.

use super::reason::Reason;
use super::record::{Header, RawRecord, RecordTimestamp};
use super::sighting::{EventMicros, SightingKey};
use crate::identity::{ContentDigest, Deriver, EventKey, Granularity, ItemSpan};
use sha2::{Digest, Sha256};
use std::ops::Range;

type Span = Range<usize>;

struct StoredHeader {
    name: Span,
    value: Option<Span>,
}

struct StoredRecord {
    offset: i64,
    timestamp: RecordTimestamp,
    key: Option<Span>,
    payload: Option<Span>,
    headers: Span,
    events: Span,
    /// Whether its events are its items.
    itemized: bool,
}

/// An event of a collected record, or why there is none.
pub enum Keyed {
    /// It has a key.
    Event {
        /// SHA-256 over the canonical identity.
        key: EventKey,
        /// Digest of the canonical payload.
        digest: ContentDigest,
        /// Its own time, where the recipe has one.
        event_micros: Option<EventMicros>,
        /// Where the key's textual prefix stands in the arena.
        prefix: Span,
        /// `items` granularity: where the element stands in the payload.
        item: Option<ItemSpan>,
        /// Its number among equal items of the record, where the recipe numbers them.
        occurrence: Option<u32>,
    },
    /// It could not be keyed.
    Rejected {
        /// Why.
        reason: Reason,
        /// JSON pointer and rule, never a value.
        detail: Box<str>,
    },
}

impl Keyed {
    /// Where the event's sighting would stand, if it has a key.
    pub fn sighting_key(&self) -> Option<SightingKey> {
        match self {
            Keyed::Event { key, event_micros, .. } => {
                Some(SightingKey::of_event(*key, *event_micros))
            }
            Keyed::Rejected { .. } => None,
        }
    }
}

/// What an empty collection keeps of its memory in any case, so that small batches allocate nothing.
const KEPT_BYTES: usize = 1 << 20;
const KEPT_RECORDS: usize = 4096;

/// Records of one raw partition in raw order, in one arena that is reused from batch to batch.
pub struct Collected {
    partition: i32,
    bytes: Vec<u8>,
    headers: Vec<StoredHeader>,
    records: Vec<StoredRecord>,
    events: Vec<Keyed>,
    /// Records before this index are committed.
    front: usize,
}

impl Collected {
    /// An empty collection for a partition.
    pub fn new(partition: i32) -> Collected {
        Collected {
            partition,
            bytes: Vec::new(),
            headers: Vec::new(),
            records: Vec::new(),
            events: Vec::new(),
            front: 0,
        }
    }

    /// The raw partition that the records are of.
    pub fn partition(&self) -> i32 {
        self.partition
    }

    /// Records that wait for a verdict.
    pub fn len(&self) -> usize {
        self.records.len() - self.front
    }

    /// Whether none wait.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held, committed records of the same batch included.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Drops everything. The memory is kept for the next batch.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.headers.clear();
        self.records.clear();
        self.events.clear();
        self.front = 0;
    }

    /// Bytes of memory that an empty collection keeps and [`shed`](Collected::shed) gives back; 0 for
    /// another.
    pub fn spare_bytes(&self) -> usize {
        fn spare<T>(memory: &Vec<T>, kept: usize) -> usize {
            memory.capacity().saturating_sub(kept) * size_of::<T>()
        }
        if !self.is_empty() {
            return 0;
        }
        spare(&self.bytes, KEPT_BYTES)
            + spare(&self.headers, KEPT_RECORDS)
            + spare(&self.records, KEPT_RECORDS)
            + spare(&self.events, KEPT_RECORDS)
    }

    /// Gives back the memory of an empty collection beyond what a small batch needs.
    pub fn shed(&mut self) {
        if !self.is_empty() {
            return;
        }
        self.bytes.shrink_to(KEPT_BYTES);
        self.headers.shrink_to(KEPT_RECORDS);
        self.records.shrink_to(KEPT_RECORDS);
        self.events.shrink_to(KEPT_RECORDS);
    }

    /// Drops the first `count` waiting records: they are committed.
    pub fn advance(&mut self, count: usize) {
        self.front += count;
        if self.front >= self.records.len() {
            self.clear();
        }
    }

    /// The index range of the first `count` waiting records (or of all, if fewer).
    pub fn waiting(&self, count: usize) -> Range<usize> {
        self.front..self.records.len().min(self.front.saturating_add(count))
    }

    /// Copies a record and derives its events.
    pub fn push(&mut self, record: &RawRecord<'_>, deriver: &mut Deriver) {
        let key = record.key.map(|bytes| self.keep(bytes));
        let payload = record.payload.map(|bytes| self.keep(bytes));
        let headers_from = self.headers.len();
        for header in record.headers {
            let name = self.keep(header.name);
            let value = header.value.map(|bytes| self.keep(bytes));
            self.headers.push(StoredHeader { name, value });
        }
        let events_from = self.events.len();
        let itemized = self.derive(record.payload, deriver);
        self.records.push(StoredRecord {
            offset: record.offset,
            timestamp: record.timestamp,
            key,
            payload,
            headers: headers_from..self.headers.len(),
            events: events_from..self.events.len(),
            itemized,
        });
    }

    fn keep(&mut self, bytes: &[u8]) -> Span {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        from..self.bytes.len()
    }

    /// Derives the events of a record; whether they are its items.
    fn derive(&mut self, payload: Option<&[u8]>, deriver: &mut Deriver) -> bool {
        let Some(payload) = payload else {
            let detail = ": a null value (tombstone) holds no event".into();
            self.events.push(Keyed::Rejected { reason: Reason::Tombstone, detail });
            return false;
        };
        let by_items = deriver.recipe().granularity() == Granularity::Items;
        match deriver.derive(payload) {
            Err(rejection) => {
                self.events.push(Keyed::Rejected {
                    reason: Reason::Identity(rejection.reason),
                    detail: rejection.to_string().into(),
                });
                false
            }
            Ok(events) => {
                for event in events.iter() {
                    let keyed = match event {
                        Ok(event) => {
                            let from = self.bytes.len();
                            self.bytes.extend_from_slice(event.prefix.as_bytes());
                            Keyed::Event {
                                key: event.key,
                                digest: event.digest,
                                event_micros: event.event_time_micros,
                                prefix: from..self.bytes.len(),
                                item: event.item,
                                occurrence: event.occurrence,
                            }
                        }
                        Err(rejection) => Keyed::Rejected {
                            reason: Reason::Identity(rejection.reason),
                            detail: rejection.to_string().into(),
                        },
                    };
                    self.events.push(keyed);
                }
                by_items
            }
        }
    }

    /// Offset of a record by index.
    pub fn offset(&self, record: usize) -> i64 {
        self.records[record].offset
    }

    /// Timestamp of a record by index.
    pub fn timestamp(&self, record: usize) -> RecordTimestamp {
        self.records[record].timestamp
    }

    /// Kafka key of a record by index.
    pub fn key(&self, record: usize) -> Option<&[u8]> {
        self.records[record].key.clone().map(|span| &self.bytes[span])
    }

    /// Value of a record by index.
    pub fn payload(&self, record: usize) -> Option<&[u8]> {
        self.records[record].payload.clone().map(|span| &self.bytes[span])
    }

    /// Headers of a record by index, in order.
    pub fn headers(&self, record: usize) -> impl ExactSizeIterator<Item = Header<'_>> {
        self.headers[self.records[record].headers.clone()].iter().map(|header| Header {
            name: &self.bytes[header.name.clone()],
            value: header.value.clone().map(|span| &self.bytes[span]),
        })
    }

    /// The index range of a record's events.
    pub fn events_of(&self, record: usize) -> Range<usize> {
        self.records[record].events.clone()
    }

    /// The index range of the events of a range of records.
    pub fn events_of_range(&self, records: &Range<usize>) -> Range<usize> {
        if records.is_empty() {
            return 0..0;
        }
        self.records[records.start].events.start..self.records[records.end - 1].events.end
    }

    /// Whether a record's events are its items: not where the record is one event, nor where it
    /// was rejected as a whole.
    pub fn is_itemized(&self, record: usize) -> bool {
        self.records[record].itemized
    }

    /// An event by index.
    pub fn event(&self, event: usize) -> &Keyed {
        &self.events[event]
    }

    /// The textual prefix of an event's key.
    pub fn prefix(&self, span: &Range<usize>) -> &str {
        // The prefix came in as a `&str` and was copied whole.
        std::str::from_utf8(&self.bytes[span.clone()]).unwrap_or_default()
    }

    /// Hash that tells this record from another at the same offset: SHA-256 over key and value,
    /// each with its length (null apart from empty).
    pub fn record_hash(&self, record: usize) -> [u8; 32] {
        let mut hasher = Sha256::new();
        for part in [self.key(record), self.payload(record)] {
            hasher.update(part.map_or(-1, |bytes| bytes.len() as i64).to_be_bytes());
            hasher.update(part.unwrap_or_default());
        }
        hasher.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_kept_until_it_is_shed_and_a_small_batch_keeps_its_own() {
        let mut collected = Collected::new(0);
        collected.bytes.reserve_exact(3 * KEPT_BYTES);
        collected.records.reserve_exact(KEPT_RECORDS / 2);
        collected.clear();
        assert_eq!(collected.spare_bytes(), 2 * KEPT_BYTES);
        collected.shed();
        assert_eq!(collected.spare_bytes(), 0);
        assert!(collected.bytes.capacity() >= KEPT_BYTES);
        assert!(collected.records.capacity() >= KEPT_RECORDS / 2);
    }
}
