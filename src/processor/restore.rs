//! The takeover of one partition, in short steps, beside the polling thread: ask the logs, bring
//! the store level with the journal, compare, answer.
//! Must not be in here: the worker's tasks, or a wait that another partition would have to sit out.

use super::refusal::{Refusal, RefusalCause};
use super::route::Route;
use super::takeover::{Facts, Start, decide_start};
use crate::gate::Incarnation;
use crate::journal::{Assembler, ChainHead, Entry, EntryError, Position, Receipt};
use crate::kafka::broker::TopicIds;
use crate::kafka::witnesses::{Committed, Log, Watermarks, WitnessError, Witnesses};
use crate::store::{PartitionStore, StoreError, Stores};

/// What a worker asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Raw partition.
    pub partition: i32,
    /// The incarnation that asks; a stale answer is thrown away.
    pub incarnation: Incarnation,
    /// What is asked.
    pub kind: JobKind,
}

/// The two questions that a worker has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Where does this partition go on?
    Takeover,
    /// Does the committed offset still name this entry, which ended at this offset?
    Verify {
        /// The last entry that the task knows.
        head: ChainHead,
        /// Its `to`.
        to: i64,
    },
}

/// The answer to a job.
pub enum Answer<S> {
    /// The partition goes on.
    TakenOver(Box<TakenOver<S>>),
    /// It must not.
    Refused(Refusal),
    /// The committed offset names the entry.
    Verified,
    /// It does not: the partition has to be taken over anew.
    NotVerified(String),
}

/// A partition brought level.
pub struct TakenOver<S> {
    /// Its store.
    pub store: S,
    /// The last entry; `None` before the first.
    pub position: Option<Position>,
    /// Where to go on.
    pub start: Start,
    /// The topics' ids as found.
    pub ids: TopicIds,
    /// What was committed.
    pub committed: Option<Committed>,
    /// Entries read from the journal.
    pub entries_restored: u64,
    /// Sightings read from it.
    pub sightings_restored: u64,
}

/// How far a step came.
pub enum Stepped<S> {
    /// Done.
    Done(Answer<S>),
    /// More to do; it can go on at once.
    Moved,
    /// It waits for an answer, for the stated cause.
    Waits(String),
}

/// What stops a step.
enum Halt {
    Waits(String),
    Refused(Refusal),
}

impl From<WitnessError> for Halt {
    fn from(error: WitnessError) -> Halt {
        Halt::Waits(error.to_string())
    }
}

/// One job under way.
pub struct Restoration<S> {
    job: Job,
    committed: Option<Option<Committed>>,
    logs: Option<Logs>,
    store: Option<S>,
    reading: Reading,
    /// Whether the store was compared with the journal's entry at its position.
    compared: bool,
    entries_restored: u64,
    sightings_restored: u64,
}

#[derive(Clone)]
struct Logs {
    ids: TopicIds,
    raw: Watermarks,
    journal: Watermarks,
    clean: Watermarks,
}

/// How far the journal was read.
struct Reading {
    next: i64,
    assembler: Assembler,
    /// Offset of the open entry's first part.
    entry_offset: Option<i64>,
}

impl Reading {
    fn from(next: i64) -> Reading {
        Reading { next, assembler: Assembler::default(), entry_offset: None }
    }
}

impl<S: PartitionStore> Restoration<S> {
    /// Starts a job.
    pub fn new(job: Job) -> Restoration<S> {
        Restoration {
            job,
            committed: None,
            logs: None,
            store: None,
            reading: Reading::from(0),
            compared: false,
            entries_restored: 0,
            sightings_restored: 0,
        }
    }

    /// The job.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Journal records read and to read, once known: `(next, end)`.
    pub fn progress(&self) -> Option<(i64, i64)> {
        self.logs.as_ref().map(|logs| (self.reading.next, logs.journal.high))
    }

    /// Does one short piece of work.
    pub fn step<W, R>(&mut self, route: &Route, witnesses: &mut W, stores: &R) -> Stepped<S>
    where
        W: Witnesses,
        R: Stores<Store = S>,
    {
        let stepped = match self.job.kind.clone() {
            JobKind::Verify { head, to } => self.verify(witnesses, &head, to),
            JobKind::Takeover => self.take_over(route, witnesses, stores),
        };
        match stepped {
            Ok(Some(answer)) => Stepped::Done(answer),
            Ok(None) => Stepped::Moved,
            Err(Halt::Waits(cause)) => Stepped::Waits(cause),
            Err(Halt::Refused(refusal)) => {
                self.store = None;
                Stepped::Done(Answer::Refused(refusal))
            }
        }
    }

    fn verify<W: Witnesses>(
        &mut self,
        witnesses: &mut W,
        head: &ChainHead,
        to: i64,
    ) -> Result<Option<Answer<S>>, Halt> {
        let committed = witnesses.committed(self.job.partition)?;
        let names = committed.as_ref().is_some_and(|committed| {
            let noted: Result<crate::journal::OffsetMetadata, _> = committed.metadata.parse();
            committed.offset == to && noted.is_ok_and(|noted| noted.names(head))
        });
        if names {
            return Ok(Some(Answer::Verified));
        }
        let found = committed.map_or("none".to_owned(), |committed| committed.offset.to_string());
        Ok(Some(Answer::NotVerified(format!(
            "committed offset is {found}, the last entry known is {} ending at {to}",
            head.number
        ))))
    }

    fn take_over<W, R>(
        &mut self,
        route: &Route,
        witnesses: &mut W,
        stores: &R,
    ) -> Result<Option<Answer<S>>, Halt>
    where
        W: Witnesses,
        R: Stores<Store = S>,
    {
        let partition = self.job.partition;
        let Some(committed) = self.committed.clone() else {
            self.committed = Some(witnesses.committed(partition)?);
            return Ok(None);
        };
        let Some(logs) = self.logs.clone() else {
            self.logs = Some(Logs {
                ids: witnesses.topic_ids()?,
                raw: witnesses.watermarks(Log::Raw, partition)?,
                journal: witnesses.watermarks(Log::Journal, partition)?,
                clean: witnesses.watermarks(Log::Clean, partition)?,
            });
            return Ok(None);
        };
        let Some(mut store) = self.store.take() else {
            let store = stores.open(&route.name, partition);
            return self.opened(store, route, stores).map(|()| None);
        };
        if !self.compared {
            match compare_store(&store, &logs, partition, witnesses)? {
                Compared::Same => {}
                Compared::Other(why) => {
                    drop(store);
                    set_aside(route, stores, partition, "not-of-this-journal", &why)?;
                    return Ok(None);
                }
            }
            let next = store.position().map_or(0, |position| position.journal_next);
            self.reading = Reading::from(next.max(logs.journal.low));
            self.compared = true;
            self.store = Some(store);
            return Ok(None);
        }
        if self.reading.next < logs.journal.high {
            let before = self.reading.next;
            let read = self.read_on(&mut store, &logs, witnesses);
            self.store = Some(store);
            return match read {
                Ok(()) if self.reading.next > before => Ok(None),
                Ok(()) => Err(Halt::Waits(format!(
                    "journal {}/{partition}: nothing committed beyond offset {before} yet, its end is {}; a transaction may be pending",
                    route.journal_topic, logs.journal.high
                ))),
                Err(halt) => self.damaged(halt, route, stores),
            };
        }
        let facts = Facts {
            route,
            partition,
            committed: committed.as_ref(),
            ids: &logs.ids,
            raw: logs.raw,
            journal: logs.journal,
            clean: logs.clean,
            last_entry: store.position(),
            store_has_position: store.position().is_some(),
        };
        let start = decide_start(&facts).map_err(Halt::Refused)?;
        let position = store.position().cloned();
        Ok(Some(Answer::TakenOver(Box::new(TakenOver {
            store,
            position,
            start,
            ids: logs.ids,
            committed,
            entries_restored: self.entries_restored,
            sightings_restored: self.sightings_restored,
        }))))
    }

    fn opened<R: Stores<Store = S>>(
        &mut self,
        store: Result<S, StoreError>,
        route: &Route,
        stores: &R,
    ) -> Result<(), Halt> {
        match store {
            Ok(store) => {
                self.store = Some(store);
                self.compared = false;
                Ok(())
            }
            Err(StoreError::Damaged { .. }) => {
                let why = "it is damaged and cannot be opened";
                set_aside(route, stores, self.job.partition, "damaged", why)
            }
            Err(error) => Err(Halt::Waits(error.to_string())),
        }
    }

    /// Reads a slice of the journal into the store.
    fn read_on<W: Witnesses>(
        &mut self,
        store: &mut S,
        logs: &Logs,
        witnesses: &mut W,
    ) -> Result<(), ReadHalt> {
        let reading = &mut self.reading;
        let mut restored = (0, 0);
        let mut halted = None;
        let next = witnesses.read_journal(
            self.job.partition,
            reading.next,
            logs.journal.high,
            &mut |offset, value| {
                if halted.is_some() {
                    return;
                }
                match take_record(reading, store, offset, value) {
                    Ok(Some(sightings)) => restored = (restored.0 + 1, restored.1 + sightings),
                    Ok(None) => {}
                    Err(halt) => halted = Some(halt),
                }
            },
        )?;
        self.entries_restored += restored.0;
        self.sightings_restored += restored.1;
        if let Some(halt) = halted {
            return Err(halt);
        }
        self.reading.next = next;
        Ok(())
    }

    fn damaged<R: Stores<Store = S>>(
        &mut self,
        halt: ReadHalt,
        route: &Route,
        stores: &R,
    ) -> Result<Option<Answer<S>>, Halt> {
        let partition = self.job.partition;
        match halt {
            ReadHalt::Witness(error) => {
                if let WitnessError::OffsetNotInLog { .. } = error {
                    // Its head was deleted meanwhile: look at all of it once more.
                    self.store = None;
                    self.logs = None;
                }
                Err(error.into())
            }
            ReadHalt::Entry(error, offset) => Err(Halt::Refused(Refusal {
                cause: match error {
                    EntryError::NumberOutOfPlace { .. } => RefusalCause::JournalCut,
                    _ => RefusalCause::ChainBroken,
                },
                message: format!(
                    "journal {}/{partition}, offset {offset}: {error}. Entries were removed, altered or written by somebody else. Restore the journal topic.",
                    route.journal_topic,
                ),
            })),
            ReadHalt::Store(StoreError::Damaged { .. }) => {
                self.store = None;
                let why = "it is damaged";
                set_aside(route, stores, partition, "damaged", why)?;
                Ok(None)
            }
            ReadHalt::Store(error) => {
                // Opened again at the next step, at whatever position it kept.
                self.store = None;
                self.compared = false;
                Err(Halt::Waits(error.to_string()))
            }
        }
    }
}

enum ReadHalt {
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
fn take_record<S: PartitionStore>(
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

enum Compared {
    Same,
    Other(String),
}

/// Whether the entry that the store ends with stands in the journal.
fn compare_store<S: PartitionStore, W: Witnesses>(
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

fn set_aside<R: Stores>(
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
