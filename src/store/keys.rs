//! The rows of a store, byte for byte.
//!
//! | row | key | value |
//! | --- | --- | --- |
//! | sighting | event time (8), event key (32) | form (1), first offset (0 to 8), first item (4) and load count (4) unless they are 0 and 1, digest (16) |
//! | position | 41 bytes `FF` | format (4), then the position as protobuf |
//!
//! The form holds how many bytes the offset has in its low half, and in its high half 1 where item
//! and count follow. What most rows have in common stands in front, behind the key's end, which
//! RocksDB makes equal as well: so it is compressed as one piece.
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
/// The most bytes that a sighting has.
pub(super) const SIGHTING_BYTES_MAX: usize = 1 + OFFSET_BYTES + COUNTED_BYTES + DIGEST_BYTES;

const TIME_BYTES: usize = size_of::<EventMicros>();
const DIGEST_BYTES: usize = size_of::<ContentDigest>();
const OFFSET_BYTES: usize = size_of::<i64>();
/// Of item and count.
const COUNTED_BYTES: usize = 8;
/// In the form: item and count follow.
const COUNTED: u8 = 0x10;

const _: () = assert!(KEY_BYTES == TIME_BYTES + size_of::<EventKey>());
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
pub(super) struct SightingRow {
    bytes: [u8; SIGHTING_BYTES_MAX],
    len: usize,
}

impl AsRef<[u8]> for SightingRow {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl SightingRow {
    /// Writes one.
    pub fn of(sighting: &Sighting) -> SightingRow {
        let mut row = SightingRow { bytes: [0; SIGHTING_BYTES_MAX], len: 1 };
        let offset = sighting.first_offset.to_be_bytes();
        let zeros = sighting.first_offset.leading_zeros() as usize / 8;
        row.push(&offset[zeros..]);
        row.bytes[0] = (OFFSET_BYTES - zeros) as u8;
        if (sighting.first_item, sighting.load_count) != (0, 1) {
            row.bytes[0] |= COUNTED;
            row.push(&sighting.first_item.to_be_bytes());
            row.push(&sighting.load_count.to_be_bytes());
        }
        row.push(sighting.digest.as_bytes());
        row
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}

/// Reads the value of a sighting's row; `None` where it is none.
pub(super) fn sighting_of(row: &[u8]) -> Option<Sighting> {
    let (form, rest) = row.split_first()?;
    let offset_bytes = usize::from(form & !COUNTED);
    let (offset, rest) = rest.split_at_checked(offset_bytes)?;
    let mut first_offset = [0; OFFSET_BYTES];
    first_offset[OFFSET_BYTES.checked_sub(offset_bytes)?..].copy_from_slice(offset);
    let (counted, digest) = match form & COUNTED {
        0 => (None, rest),
        _ => {
            let (item, rest) = rest.split_first_chunk::<4>()?;
            let (count, rest) = rest.split_first_chunk::<4>()?;
            (Some((u32::from_be_bytes(*item), u32::from_be_bytes(*count))), rest)
        }
    };
    let digest: &[u8; DIGEST_BYTES] = digest.try_into().ok()?;
    let (first_item, load_count) = counted.unwrap_or((0, 1));
    Some(Sighting {
        digest: ContentDigest::new(*digest),
        first_offset: i64::from_be_bytes(first_offset),
        first_item,
        load_count,
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
            first_offset in prop_oneof![any::<i64>(), 0..1_000_000_i64, Just(0), Just(i64::MAX)],
            (first_item, load_count) in prop_oneof![any::<(u32, u32)>(), Just((0, 1)), Just((0, 2))],
        ) {
            let digest = ContentDigest::new(digest);
            let sighting = Sighting { digest, first_offset, first_item, load_count };
            let row = SightingRow::of(&sighting);
            let row = row.as_ref();
            prop_assert_eq!(sighting_of(row), Some(sighting));
            prop_assert_eq!(sighting_of(&row[..row.len() - 1]), None);
            prop_assert_eq!(sighting_of(&[row, &[0]].concat()), None);
            prop_assert_eq!(row[0] & COUNTED == 0, (first_item, load_count) == (0, 1));
        }
    }

    #[test]
    fn a_form_that_none_writes_is_none() {
        for form in [9, 0x0f, 0x20, 0xff] {
            assert_eq!(sighting_of(&[&[form][..], &[0; 32]].concat()), None, "{form}");
        }
        assert_eq!(sighting_of(&[]), None);
    }

    #[test]
    fn an_unknown_format_is_refused_and_a_cut_row_is_damage() {
        let path = Path::new("/s");
        let newer = StoreError::UnknownFormat { path: path.to_owned(), found: 9 };
        assert_eq!(position_of(path, &[0, 0, 0, 9, 9, 9]), Err(newer));
        for damaged in [&[0, 0, 2][..], &[0, 0, 0, 2][..], &[0, 0, 0, 2, 0xff, 0xff][..]] {
            let read = position_of(path, damaged);
            assert!(matches!(read, Err(StoreError::Damaged { .. })), "{damaged:?}: {read:?}");
        }
    }
}
