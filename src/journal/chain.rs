//! The chain of entries: each holds the hash of the one before.
//! Must not be in here: where the entries come from.

use super::entry::{Entry, EntryError, EntryHash, NO_ENTRY};

/// The end of a chain: the last entry's number and hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainHead {
    /// Number of the last entry; 0 before the first.
    pub number: u64,
    /// Its hash.
    pub hash: EntryHash,
}

impl ChainHead {
    /// Before the first entry.
    pub const EMPTY: ChainHead = ChainHead { number: 0, hash: NO_ENTRY };

    /// The head after an entry.
    ///
    /// # Errors
    /// [`EntryError`] where the entry does not continue the chain.
    pub fn follow(self, entry: &Entry) -> Result<ChainHead, EntryError> {
        if entry.number != self.number + 1 {
            return Err(EntryError::NumberOutOfPlace { found: entry.number, last: self.number });
        }
        if entry.previous_hash != self.hash {
            return Err(EntryError::BrokenChain { number: entry.number });
        }
        Ok(ChainHead { number: entry.number, hash: entry.hash })
    }
}
