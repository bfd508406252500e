//! The rows of a store, byte for byte.
//!
//! | row | key | value |
//! | --- | --- | --- |
//! | sighting | event time (8), event key (32) | digest (16), first offset (8), first item (4), load count (4) |
//! | position | 41 bytes `FF` | format (4), then the position as protobuf |
//!
//! All numbers are big endian. The event time has its sign bit flipped, so that the order of the
//! bytes is the order of [`SightingKey`]. The position sorts behind every sighting: each file that
//! is written holds it, so in front it would make every file overlap all older ones.
//!
//! Must not be in here: reading or writing a store.

use super::{FORMAT, StoreError};
use crate::gate::{EventMicros, Sighting, SightingKey};
use crate::identity::{ContentDigest, EventKey};
use crate::journal::Position;
use std::path::Path;

/// Bytes of a sighting's key.
pub(super) const KEY_BYTES: usize = 40;
/// Bytes of a sighting.
pub(super) const SIGHTING_BYTES: usize = 32;

const TIME_BYTES: usize = size_of::<EventMicros>();
const DIGEST_BYTES: usize = size_of::<ContentDigest>();

const _: () = assert!(KEY_BYTES == TIME_BYTES + size_of::<EventKey>());
const _: () = assert!(SIGHTING_BYTES == DIGEST_BYTES + 8 + 4 + 4);
const _: () = assert!(POSITION_KEY.len() > KEY_BYTES);

/// Key of the position's row.
pub(super) const POSITION_KEY: [u8; KEY_BYTES + 1] = [0xff; KEY_BYTES + 1];

/// The key of a sighting's row.
pub(super) fn key_row(key: &SightingKey) -> [u8; KEY_BYTES] {
    let mut row = [0; KEY_BYTES];
    let (time, hash) = row.split_at_mut(TIME_BYTES);
    time.copy_from_slice(&(key.event_micros.cast_unsigned() ^ (1 << 63)).to_be_bytes());
    hash.copy_from_slice(key.key.as_bytes());
    row
}

/// The lowest key that a sighting of this event time can have.
pub(super) fn lowest_row(event_micros: EventMicros) -> [u8; KEY_BYTES] {
    key_row(&SightingKey { event_micros, key: EventKey::new([0; 32]) })
}

/// Whether a row is a sighting of an event time below this one.
pub(super) fn is_below(row: &[u8], horizon: EventMicros) -> bool {
    row.len() == KEY_BYTES && row < &lowest_row(horizon)[..]
}

/// The value of a sighting's row.
pub(super) fn sighting_row(sighting: &Sighting) -> [u8; SIGHTING_BYTES] {
    let mut row = [0; SIGHTING_BYTES];
    row[..16].copy_from_slice(sighting.digest.as_bytes());
    row[16..24].copy_from_slice(&sighting.first_offset.to_be_bytes());
    row[24..28].copy_from_slice(&sighting.first_item.to_be_bytes());
    row[28..].copy_from_slice(&sighting.load_count.to_be_bytes());
    row
}

/// Reads the value of a sighting's row; `None` where it has not the width of one.
pub(super) fn sighting_of(row: &[u8]) -> Option<Sighting> {
    let (digest, rest) = row.split_first_chunk::<DIGEST_BYTES>()?;
    let (first_offset, rest) = rest.split_first_chunk::<8>()?;
    let (first_item, rest) = rest.split_first_chunk::<4>()?;
    let load_count: &[u8; 4] = rest.try_into().ok()?;
    Some(Sighting {
        digest: ContentDigest::new(*digest),
        first_offset: i64::from_be_bytes(*first_offset),
        first_item: u32::from_be_bytes(*first_item),
        load_count: u32::from_be_bytes(*load_count),
    })
}

/// The value of the position's row.
pub(super) fn position_row(position: &Position) -> Vec<u8> {
    let mut row = FORMAT.to_be_bytes().to_vec();
    row.extend_from_slice(&position.to_bytes());
    row
}

/// Reads the value of the position's row.
pub(super) fn position_of(path: &Path, row: &[u8]) -> Result<Position, StoreError> {
    let Some((format, position)) = row.split_first_chunk::<4>() else {
        return Err(StoreError::damaged(path, "the position's row is cut"));
    };
    let found = u32::from_be_bytes(*format);
    if found != FORMAT {
        return Err(StoreError::UnknownFormat { path: path.to_owned(), found });
    }
    Position::from_bytes(position)
        .ok_or_else(|| StoreError::damaged(path, "the position's row cannot be read"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys() -> impl Strategy<Value = SightingKey> {
        let micros = prop_oneof![
            any::<i64>(),
            -3..3_i64,
            Just(i64::MIN),
            Just(i64::MAX),
            1_700_000_000_000_000..1_700_000_000_000_010_i64
        ];
        let hash = prop_oneof![any::<[u8; 32]>(), Just([0; 32]), Just([0xff; 32])];
        (micros, hash)
            .prop_map(|(event_micros, hash)| SightingKey { event_micros, key: EventKey::new(hash) })
    }

    proptest! {
        #[test]
        fn bytes_sort_as_keys_do(a in keys(), b in keys()) {
            prop_assert_eq!(a.cmp(&b), key_row(&a).cmp(&key_row(&b)));
            prop_assert!(key_row(&a)[..] < POSITION_KEY[..]);
            prop_assert_eq!(is_below(&key_row(&a), b.event_micros), a.event_micros < b.event_micros);
            prop_assert!(!is_below(&key_row(&SightingKey::kept(a.key)), b.event_micros));
            prop_assert!(!is_below(&POSITION_KEY, b.event_micros));
        }

        #[test]
        fn sightings_come_back(
            digest: [u8; 16],
            first_offset: i64,
            first_item: u32,
            load_count: u32,
        ) {
            let digest = ContentDigest::new(digest);
            let sighting = Sighting { digest, first_offset, first_item, load_count };
            let row = sighting_row(&sighting);
            prop_assert_eq!(sighting_of(&row), Some(sighting));
            prop_assert_eq!(sighting_of(&row[1..]), None);
            prop_assert_eq!(sighting_of(&[&row[..], &[0]].concat()), None);
        }
    }

    #[test]
    fn an_unknown_format_is_refused_and_a_cut_row_is_damage() {
        let path = Path::new("/s");
        let newer = StoreError::UnknownFormat { path: path.to_owned(), found: 2 };
        assert_eq!(position_of(path, &[0, 0, 0, 2, 9, 9]), Err(newer));
        for damaged in [&[0, 0, 1][..], &[0, 0, 0, 1][..], &[0, 0, 0, 1, 0xff, 0xff][..]] {
            let read = position_of(path, damaged);
            assert!(matches!(read, Err(StoreError::Damaged { .. })), "{damaged:?}: {read:?}");
        }
    }
}
