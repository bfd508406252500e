//! A journal in memory, with a model of what a store must hold after each of its entries.

use oncegate::gate::{FirstSighting, Sighting, SightingKey, WindowState};
use oncegate::identity::{ContentDigest, EventKey};
use oncegate::journal::packed::{Rows, pack_absorbed, pack_firsts};
use oncegate::journal::{
    Assembler, ChainHead, CommitAcknowledged, EncodedEntry, Entry, Receipt, entry, pb,
};
use oncegate::store::PartitionStore;
use std::collections::BTreeMap;

/// Records of one entry.
pub const SPAN: i64 = 1000;

/// One entry in all its forms.
pub struct Written {
    pub encoded: EncodedEntry,
    pub read: Entry,
    pub offsets: (i64, i64),
    /// Sightings as they are after the entry, of the keys that it changed.
    pub changed: Vec<(SightingKey, Sighting)>,
}

impl Written {
    pub fn receipt(&self) -> Receipt {
        Receipt::of_commit(&CommitAcknowledged::by_broker(), &self.encoded, self.offsets)
    }

    pub fn receipt_of_journal(&self) -> Receipt {
        Receipt::of_journal(&self.read, self.offsets)
    }
}

/// A journal that grows, and the sightings after its last entry.
pub struct Journal {
    pub head: ChainHead,
    pub next_offset: i64,
    pub sightings: BTreeMap<SightingKey, Sighting>,
    /// Clock and horizon that the next entries state.
    pub window: WindowState,
}

impl Journal {
    pub fn new() -> Journal {
        Journal {
            head: ChainHead::EMPTY,
            next_offset: 0,
            sightings: BTreeMap::new(),
            window: WindowState::EMPTY,
        }
    }

    /// Writes an entry in which these keys come, in this order: the first time each is a first
    /// sighting, later it is absorbed.
    pub fn write(&mut self, keys: &[u64]) -> Written {
        self.write_keys(keys.iter().map(|n| (key(*n), digest(*n))))
    }

    /// The same with keys and digests of one's own.
    pub fn write_keys(
        &mut self,
        keys: impl IntoIterator<Item = (SightingKey, ContentDigest)>,
    ) -> Written {
        let from = self.head.number as i64 * SPAN;
        let (mut firsts, mut absorbed, mut touched) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (item, (key, digest)) in (0..).zip(keys) {
            let sighting = (self.sightings.entry(key))
                .and_modify(|sighting| {
                    sighting.load_count += 1;
                    absorbed.push(key);
                })
                .or_insert_with(|| {
                    let offset = from + i64::from(item) % SPAN;
                    firsts.push(FirstSighting { key, digest, offset, item });
                    Sighting { digest, first_offset: offset, first_item: item, load_count: 1 }
                });
            touched.insert(key, *sighting);
        }
        let header = pb::EntryHeader {
            from,
            to: from + SPAN,
            clock_micros: self.window.clock_micros,
            horizon_micros: self.window.horizon_micros,
            ..pb::EntryHeader::default()
        };
        let (firsts, absorbed) = (pack_firsts(&firsts, from), pack_absorbed(&absorbed));
        let rows = Rows { firsts, absorbed, ..Rows::default() };
        let number = self.head.number + 1;
        let encoded = entry::encode(number, self.head.hash, header, rows);
        let mut assembler = Assembler::default();
        let read = (encoded.parts.iter())
            .find_map(|part| assembler.push(part).expect("a part of an entry"))
            .expect("all parts of an entry");
        let offsets = (self.next_offset, self.next_offset + encoded.parts.len() as i64);
        // A commit marker follows each transaction.
        self.next_offset = offsets.1 + 1;
        self.head = ChainHead { number, hash: encoded.hash };
        Written { encoded, read, offsets, changed: touched.into_iter().collect() }
    }
}

/// The nth key: event times rise, below zero too, and some are equal.
pub fn key(n: u64) -> SightingKey {
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    hash[24..].copy_from_slice(&n.to_be_bytes());
    SightingKey { event_micros: n as i64 / 3 * 1000 - 5000, key: EventKey::new(hash) }
}

fn digest(n: u64) -> ContentDigest {
    let mut digest = [7; 16];
    digest[8..].copy_from_slice(&n.to_be_bytes());
    ContentDigest::new(digest)
}

/// Keys of the nth entry of a long journal: new ones, and every tenth again.
pub fn keys_of_entry(number: u64, keys: u64) -> Vec<u64> {
    let from = (number - 1) * keys;
    let again = (from..from + keys).step_by(10).map(|n| n / 2);
    (from..from + keys).chain(again).collect()
}

/// Asserts that the store answers for all these keys as the model does.
pub fn assert_holds(store: &mut impl PartitionStore, keys: std::ops::Range<u64>, model: &Journal) {
    let mut keys: Vec<SightingKey> = keys.map(key).collect();
    keys.sort_unstable();
    let mut found = vec![None];
    store.look_up(&keys, &mut found).expect("look-up");
    assert_eq!(found.len(), keys.len());
    for (key, found) in keys.iter().zip(&found) {
        assert_eq!(found.as_ref(), model.sightings.get(key), "{key:?}");
    }
}
