//! The packed blocks of an entry: fixed-width rows, so that a restore reads them without parsing.
//! Must not be in here: what the rows mean to a store.

use crate::gate::{FirstSighting, SightingKey};
use crate::identity::{ContentDigest, EventKey};

/// Bytes of a new sighting.
pub const FIRST_BYTES: usize = 64;
/// Bytes of an absorbed key.
pub const ABSORBED_BYTES: usize = 40;

/// Packs new sightings; `from` is the first offset of the entry's range.
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
