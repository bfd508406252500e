//! The packed blocks of an entry: fixed-width rows, so that a restore reads them without parsing.
//! Must not be in here: what the rows mean to a store.

use crate::gate::{FirstSighting, SightingKey};
use crate::identity::{ContentDigest, EventKey};

/// Bytes of a new sighting.
pub const FIRST_BYTES: usize = 64;
/// Bytes of an absorbed key.
pub const ABSORBED_BYTES: usize = 40;

/// The packed blocks of one entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// New sightings, [`FIRST_BYTES`] each.
    pub firsts: Vec<u8>,
    /// Other content let through as a correction, [`FIRST_BYTES`] each.
    pub corrections: Vec<u8>,
    /// Other content not let through, [`FIRST_BYTES`] each.
    pub conflicts: Vec<u8>,
    /// Sightings absorbed again, [`ABSORBED_BYTES`] each.
    pub absorbed: Vec<u8>,
}

impl Rows {
    /// Whether every block is made of whole rows.
    pub fn is_whole(&self) -> bool {
        let rows = [(&self.firsts, FIRST_BYTES), (&self.corrections, FIRST_BYTES)];
        let more = [(&self.conflicts, FIRST_BYTES), (&self.absorbed, ABSORBED_BYTES)];
        rows.iter().chain(&more).all(|(block, row)| block.len() % row == 0)
    }

    /// Appends another part's blocks.
    pub fn append(&mut self, other: &Rows) {
        self.firsts.extend_from_slice(&other.firsts);
        self.corrections.extend_from_slice(&other.corrections);
        self.conflicts.extend_from_slice(&other.conflicts);
        self.absorbed.extend_from_slice(&other.absorbed);
    }

    /// Cuts off blocks of at most `bytes_max` bytes; whole rows only, in the order of the fields.
    pub fn split_front(&mut self, bytes_max: usize) -> Rows {
        let mut room = bytes_max;
        let mut take = |block: &mut Vec<u8>, row: usize| {
            let later = block.split_off(block.len().min(room / row * row));
            let now = std::mem::replace(block, later);
            room -= now.len();
            now
        };
        Rows {
            firsts: take(&mut self.firsts, FIRST_BYTES),
            corrections: take(&mut self.corrections, FIRST_BYTES),
            conflicts: take(&mut self.conflicts, FIRST_BYTES),
            absorbed: take(&mut self.absorbed, ABSORBED_BYTES),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Rows::default()
    }
}

/// Packs new sightings; `from` is the entry's base: the first offset of its range.
///
/// A batch never spans 2^32 offsets, so the delta fits; one that did not would be cut to
/// `u32::MAX` and read back as a position past the range, which a reader refuses.
pub fn pack_firsts(firsts: &[FirstSighting], from: i64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(firsts.len() * FIRST_BYTES);
    for first in firsts {
        let delta = u32::try_from(first.offset - from).unwrap_or(u32::MAX);
        bytes.extend_from_slice(first.key.key.as_bytes());
        bytes.extend_from_slice(&first.key.event_micros.to_be_bytes());
        bytes.extend_from_slice(first.digest.as_bytes());
        bytes.extend_from_slice(&delta.to_be_bytes());
        bytes.extend_from_slice(&first.item.to_be_bytes());
    }
    bytes
}

/// Reads packed sightings. The caller has checked that the length is a multiple of
/// [`FIRST_BYTES`]; a rest would be left out.
pub fn unpack_firsts(bytes: &[u8], from: i64) -> impl ExactSizeIterator<Item = FirstSighting> {
    let (rows, _) = bytes.as_chunks::<FIRST_BYTES>();
    rows.iter().map(move |row| FirstSighting {
        key: SightingKey {
            key: EventKey::new(array(&row[..32])),
            event_micros: i64::from_be_bytes(array(&row[32..40])),
        },
        digest: ContentDigest::new(array(&row[40..56])),
        offset: from + i64::from(u32::from_be_bytes(array(&row[56..60]))),
        item: u32::from_be_bytes(array(&row[60..64])),
    })
}

/// Packs absorbed keys.
pub fn pack_absorbed(absorbed: &[SightingKey]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(absorbed.len() * ABSORBED_BYTES);
    for key in absorbed {
        bytes.extend_from_slice(key.key.as_bytes());
        bytes.extend_from_slice(&key.event_micros.to_be_bytes());
    }
    bytes
}

/// Reads packed absorbed keys, as [`unpack_firsts`].
pub fn unpack_absorbed(bytes: &[u8]) -> impl ExactSizeIterator<Item = SightingKey> {
    let (rows, _) = bytes.as_chunks::<ABSORBED_BYTES>();
    rows.iter().map(|row| SightingKey {
        key: EventKey::new(array(&row[..32])),
        event_micros: i64::from_be_bytes(array(&row[32..40])),
    })
}

/// Copies a slice whose length the caller's indices fix.
fn array<const N: usize>(slice: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(slice);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_cut_at_whole_rows_and_nothing_is_lost() {
        let rows = Rows {
            firsts: vec![1; 3 * FIRST_BYTES],
            corrections: vec![2; FIRST_BYTES],
            conflicts: vec![3; 2 * FIRST_BYTES],
            absorbed: vec![4; 5 * ABSORBED_BYTES],
        };
        let (mut rest, mut joined) = (rows.clone(), Rows::default());
        while !rest.is_empty() {
            let block = rest.split_front(2 * FIRST_BYTES + 1);
            assert!(block.is_whole() && !block.is_empty());
            joined.append(&block);
        }
        assert_eq!(joined, rows);
    }
}
