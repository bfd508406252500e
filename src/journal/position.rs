//! Where a partition stands in its journal: the last entry, and what it said.
//! Must not be in here: how the position is stored.

use super::chain::ChainHead;
use super::entry::{EncodedEntry, Entry, EntryHash, counts_of};
use super::pb;
use crate::gate::{Counts, Progress, WindowState};
use prost::Message;

/// The last entry that a task or its store holds. The store is a function of the journal, so
/// this and the sightings are all of its state.
#[derive(Clone, Debug, PartialEq)]
pub struct Position {
    /// Journal offset of the entry's first part.
    pub journal_offset: i64,
    /// One past the journal offset of the entry's last part.
    pub journal_next: i64,
    /// Number of the entry.
    pub number: u64,
    /// Its hash.
    pub hash: EntryHash,
    /// Everything in it but the sightings.
    pub header: pb::EntryHeader,
}

impl Position {
    /// The position after an entry read from the journal at `[journal_offset, journal_next)`.
    pub fn of_entry(entry: &Entry, journal_offset: i64, journal_next: i64) -> Position {
        Position {
            journal_offset,
            journal_next,
            number: entry.number,
            hash: entry.hash,
            header: entry.header.clone(),
        }
    }

    /// The position after an entry that this process wrote.
    pub fn of_written(entry: &EncodedEntry, journal_offset: i64, journal_next: i64) -> Position {
        Position {
            journal_offset,
            journal_next,
            number: entry.number,
            hash: entry.hash,
            header: entry.header.clone(),
        }
    }

    /// `committed_next`: the source offset after the last committed batch.
    pub fn committed_next(&self) -> i64 {
        self.header.to
    }

    /// The chain's head at this position.
    pub fn head(&self) -> ChainHead {
        ChainHead { number: self.number, hash: self.hash }
    }

    /// What was counted since the beginning: offsets decided the first time, and decided again.
    pub fn totals(&self) -> (Counts, Counts) {
        let header = &self.header;
        (counts_of(header.total_counts.as_ref()), counts_of(header.total_replay_counts.as_ref()))
    }

    /// What the partition has decided so far.
    pub fn progress(&self) -> Progress {
        Progress {
            window: WindowState {
                clock_micros: self.header.clock_micros,
                horizon_micros: self.header.horizon_micros,
            },
            decided_to: self.header.decided_to,
            skipped: self.header.skipped.iter().map(|range| (range.from, range.to)).collect(),
        }
    }

    /// The row that a store keeps.
    pub fn to_bytes(&self) -> Vec<u8> {
        pb::Position {
            journal_offset: self.journal_offset,
            journal_next: self.journal_next,
            number: self.number,
            hash: self.hash.to_vec(),
            header: Some(self.header.clone()),
        }
        .encode_to_vec()
    }

    /// Reads a store's row; `None` where it is damaged.
    pub fn from_bytes(bytes: &[u8]) -> Option<Position> {
        let row = pb::Position::decode(bytes).ok()?;
        Some(Position {
            journal_offset: row.journal_offset,
            journal_next: row.journal_next,
            number: row.number,
            hash: row.hash.try_into().ok()?,
            header: row.header?,
        })
    }
}
