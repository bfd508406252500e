//! The proof that an event was never let through: the whole chain, and no row of the event's key.
//! Must not be in here: reading the journal.

use super::chain::ChainHead;
use super::entry::{Assembler, Entry, EntryError};
use super::packed::unpack_firsts;
use crate::identity::EventKey;

/// Where an event was let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LetThroughAt {
    /// Number of the journal entry.
    pub entry: u64,
    /// Raw offset.
    pub offset: i64,
    /// Index of the event within the raw record.
    pub item: u32,
}

/// Is fed with the records of a journal partition, from its first on.
pub struct NeverLetThrough {
    key: EventKey,
    assembler: Assembler,
    head: ChainHead,
    found: Option<LetThroughAt>,
    adopted: Option<u64>,
}

impl NeverLetThrough {
    /// Looks for this key.
    pub fn new(key: EventKey) -> NeverLetThrough {
        NeverLetThrough {
            key,
            assembler: Assembler::default(),
            head: ChainHead::EMPTY,
            found: None,
            adopted: None,
        }
    }

    /// Takes the next record's value.
    ///
    /// # Errors
    /// [`EntryError`] where the chain does not begin with entry 1, or is broken: then nothing is
    /// proven.
    pub fn push(&mut self, value: &[u8]) -> Result<(), EntryError> {
        if let Some(entry) = self.assembler.push(value)? {
            self.head = self.head.follow(&entry)?;
            self.look(&entry);
        }
        Ok(())
    }

    /// The entry by which a person went on although entries may be gone: then the journal, though
    /// its chain is whole, proves nothing of the time before.
    pub fn adopted(&self) -> Option<u64> {
        self.adopted
    }

    fn look(&mut self, entry: &Entry) {
        if entry.header.kind == i32::from(super::pb::EntryKind::Adopt) {
            self.adopted = Some(entry.number);
        }
        let rows = unpack_firsts(&entry.rows.firsts, entry.base())
            .chain(unpack_firsts(&entry.rows.corrections, entry.base()));
        for row in rows.filter(|row| row.key.key == self.key) {
            let at = LetThroughAt { entry: entry.number, offset: row.offset, item: row.item };
            self.found.get_or_insert(at);
        }
    }

    /// Where the event was let through, if it was, in the chain that ends at the head given back.
    pub fn end(&self) -> (ChainHead, Option<LetThroughAt>) {
        (self.head, self.found)
    }
}
