//! The row that journal and clean give for one event, of one width so that it can be sorted.
//! Must not be in here: what a difference between rows means.

use crate::evidence::rows::Kind;
use crate::evidence::source_header::SourcePosition;
use crate::identity::{ContentDigest, EventKey};

/// Bytes of a row.
pub const ROW_BYTES: usize = 89;

/// Who says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Witness {
    /// A row of the journal; `rank` counts the rows of the partition in order.
    Journal {
        /// Why the event was let through.
        kind: Kind,
        /// Which row of the partition.
        rank: u64,
    },
    /// A record of the clean topic.
    Clean {
        /// Why it was let through, by its headers.
        kind: Kind,
    },
}

/// One event as a witness tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Event key.
    pub key: EventKey,
    /// Content digest.
    pub digest: ContentDigest,
    /// Raw position.
    pub source: SourcePosition,
    /// Who says it.
    pub witness: Witness,
    /// Offset in the journal or clean partition of the same number.
    pub place: i64,
    /// Of an admitted event the number of the entry; 0 of others.
    pub entry: u64,
}

impl Row {
    /// Key, digest, position, witness: rows of one event stand together, the journal's first.
    pub fn to_bytes(&self) -> [u8; ROW_BYTES] {
        let (what, rank) = match self.witness {
            Witness::Journal { kind: Kind::First, rank } => (0, rank),
            Witness::Journal { kind: Kind::Correction, rank } => (1, rank),
            Witness::Journal { kind: Kind::Admitted, rank } => (2, rank),
            Witness::Clean { kind: Kind::First } => (3, 0),
            Witness::Clean { kind: Kind::Correction } => (4, 0),
            Witness::Clean { kind: Kind::Admitted } => (5, 0),
        };
        let mut bytes = [0; ROW_BYTES];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        put(self.key.as_bytes());
        put(self.digest.as_bytes());
        put(&self.source.partition.to_be_bytes());
        put(&self.source.offset.to_be_bytes());
        put(&self.source.item.to_be_bytes());
        put(&[what]);
        put(&self.place.to_be_bytes());
        put(&rank.to_be_bytes());
        put(&self.entry.to_be_bytes());
        bytes
    }

    /// Reads a row that [`Row::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8; ROW_BYTES]) -> Row {
        let rank = u64::from_be_bytes(part(bytes, 73));
        let witness = match bytes[64] {
            0 => Witness::Journal { kind: Kind::First, rank },
            1 => Witness::Journal { kind: Kind::Correction, rank },
            2 => Witness::Journal { kind: Kind::Admitted, rank },
            3 => Witness::Clean { kind: Kind::First },
            4 => Witness::Clean { kind: Kind::Correction },
            _ => Witness::Clean { kind: Kind::Admitted },
        };
        Row {
            key: EventKey::new(part(bytes, 0)),
            digest: ContentDigest::new(part(bytes, 32)),
            source: SourcePosition {
                partition: i32::from_be_bytes(part(bytes, 48)),
                offset: i64::from_be_bytes(part(bytes, 52)),
                item: u32::from_be_bytes(part(bytes, 60)),
            },
            witness,
            place: i64::from_be_bytes(part(bytes, 65)),
            entry: u64::from_be_bytes(part(bytes, 81)),
        }
    }
}

/// The `M` bytes at `at`; the callers' places lie within a row.
fn part<const M: usize>(bytes: &[u8; ROW_BYTES], at: usize) -> [u8; M] {
    let mut out = [0; M];
    out.copy_from_slice(&bytes[at..at + M]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_what_they_hold_and_the_journals_come_first() {
        let source = SourcePosition { partition: 3, offset: 1 << 40, item: 9 };
        let row = |witness, place| Row {
            key: EventKey::new([7; 32]),
            digest: ContentDigest::new([8; 16]),
            source,
            witness,
            place,
            entry: 1 << 42,
        };
        let clean = row(Witness::Clean { kind: Kind::Admitted }, 5);
        let kinds = [Kind::First, Kind::Correction, Kind::Admitted];
        for kind in kinds {
            let journal = row(Witness::Journal { kind, rank: 1 << 33 }, 1 << 41);
            assert_eq!(Row::from_bytes(&journal.to_bytes()), journal);
            assert!(journal.to_bytes() < clean.to_bytes());
        }
        assert_eq!(Row::from_bytes(&clean.to_bytes()), clean);
    }
}
