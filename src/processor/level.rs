//! Bringing a partition's store level with the journal: whether it is of this journal, the records
//! that it lacks, and what becomes of a store that is of no use.
//! Must not be in here: a look at any other log.

use super::look::Logs;
use super::restore::Halt;
use super::route::Route;
use crate::journal::{Assembler, ChainHead, Entry, EntryError, Position, Receipt};
use crate::kafka::witnesses::{WitnessError, Witnesses};
use crate::store::{PartitionStore, StoreError, Stores};

/// How far the journal was read.
pub(super) struct Reading {
    pub next: i64,
    assembler: Assembler,
    /// Offset of the open entry's first part.
    entry_offset: Option<i64>,
}

impl Reading {
    pub fn from(next: i64) -> Reading {
        Reading { next, assembler: Assembler::default(), entry_offset: None }
    }
}

/// What stops the reading.
pub(super) enum ReadHalt {
    Witness(WitnessError),
    Entry(EntryError, i64),
    Store(StoreError),
}

impl From<WitnessError> for ReadHalt {
    fn from(error: WitnessError) -> ReadHalt {
        ReadHalt::Witness(error)
    }
}

/// Takes one journal record; gives the number of sightings of the entry that it completes.
pub(super) fn take_record<S: PartitionStore>(
    reading: &mut Reading,
    store: &mut S,
    offset: i64,
    value: &[u8],
) -> Result<Option<u64>, ReadHalt> {
    let entry_offset = *reading.entry_offset.get_or_insert(offset);
    let entry = reading.assembler.push(value).map_err(|error| ReadHalt::Entry(error, offset))?;
    let Some(entry) = entry else {
        return Ok(None);
    };
    reading.entry_offset = None;
    let head = store.position().map_or(ChainHead::EMPTY, Position::head);
    head.follow(&entry).map_err(|error| ReadHalt::Entry(error, entry_offset))?;
    let receipt = Receipt::of_journal(&entry, (entry_offset, offset + 1));
    store.restore(&receipt, &entry).map_err(ReadHalt::Store)?;
    let bytes = entry.rows.firsts.len() + entry.rows.corrections.len();
    Ok(Some((bytes / crate::journal::packed::FIRST_BYTES) as u64))
}

/// Whether a store is of this journal.
pub(super) enum Compared {
    Same,
    Other(String),
}

/// Whether the entry that the store ends with stands in the journal.
pub(super) fn compare_store<S: PartitionStore, W: Witnesses>(
    store: &S,
    logs: &Logs,
    partition: i32,
    witnesses: &mut W,
) -> Result<Compared, Halt> {
    let Some(position) = store.position() else {
        return Ok(Compared::Same);
    };
    if position.header.journal_topic_id != logs.ids.journal {
        return Ok(Compared::Other("it was written for another journal topic".into()));
    }
    if position.journal_next > logs.journal.high {
        return Ok(Compared::Other(format!(
            "it is ahead of the journal: it holds entry {} up to journal offset {}, the journal ends at {}",
            position.number, position.journal_next, logs.journal.high
        )));
    }
    if position.journal_offset < logs.journal.low {
        // The entry itself is gone; the next one's hash, or the committed offset, will tell.
        return Ok(Compared::Same);
    }
    let mut assembler = Assembler::default();
    let mut found: Option<Entry> = None;
    let mut next = position.journal_offset;
    while next < position.journal_next && found.is_none() {
        let before = next;
        next =
            witnesses.read_journal(partition, next, position.journal_next, &mut |_, value| {
                if let Ok(Some(entry)) = assembler.push(value) {
                    found = Some(entry);
                }
            })?;
        if next == before {
            return Err(Halt::Waits("the journal entry at the store's position".into()));
        }
    }
    match found {
        Some(entry) if entry.hash == position.hash => Ok(Compared::Same),
        _ => Ok(Compared::Other(format!(
            "the journal holds another entry at offset {} than the store's entry {}",
            position.journal_offset, position.number
        ))),
    }
}

pub(super) fn set_aside<R: Stores>(
    route: &Route,
    stores: &R,
    partition: i32,
    reason: &str,
    why: &str,
) -> Result<(), Halt> {
    match stores.set_aside(&route.name, partition, reason) {
        Ok(path) => {
            tracing::error!(
                route = route.name,
                partition,
                reason,
                path = %path.display(),
                "the partition's store was set aside: {why}; a new one is built from the journal. Keep the files, they may be a witness",
            );
            Ok(())
        }
        Err(error) => Err(Halt::Waits(error.to_string())),
    }
}
