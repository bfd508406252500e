//! The receipt: what only a committed transaction yields, and a store's write asks for.
//! Must not be in here: any other way to come by one.

use super::entry::{EncodedEntry, Entry};
use super::position::Position;

/// The broker's yes to a commit. Whoever implements a broker makes one where the commit was
/// acknowledged, and nowhere else.
#[derive(Debug)]
pub struct CommitAcknowledged {
    _only_by_name: (),
}

impl CommitAcknowledged {
    /// States that the broker acknowledged the transaction that is meant.
    pub fn by_broker() -> CommitAcknowledged {
        CommitAcknowledged { _only_by_name: () }
    }
}

/// Proof that an entry is committed, with the position after it and the number before.
#[derive(Debug)]
pub struct Receipt {
    position: Position,
}

impl Receipt {
    /// For an entry of a transaction whose commit was acknowledged; it stands in the journal at
    /// `[journal_offset, journal_next)`, as the delivery reports said.
    pub fn of_commit(
        _acknowledged: &CommitAcknowledged,
        entry: &EncodedEntry,
        (journal_offset, journal_next): (i64, i64),
    ) -> Receipt {
        Receipt { position: Position::of_written(entry, journal_offset, journal_next) }
    }

    /// For an entry that a `read_committed` reader got from the journal: it is committed.
    pub fn of_journal(entry: &Entry, (journal_offset, journal_next): (i64, i64)) -> Receipt {
        Receipt { position: Position::of_entry(entry, journal_offset, journal_next) }
    }

    /// The position after the entry.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// The position after the entry, by value.
    pub fn into_position(self) -> Position {
        self.position
    }

    /// Number of the entry that must have been applied before: 0 if this is the first.
    pub fn number_before(&self) -> u64 {
        self.position.number.saturating_sub(1)
    }
}
