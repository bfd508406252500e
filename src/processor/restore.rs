//! The takeover of one partition, in short steps, beside the polling thread: ask the logs, bring
//! the store level with the journal, compare, answer.
//! Must not be in here: the worker's tasks, or a wait that another partition would have to sit out.

use super::level::{Compared, ReadHalt, Reading, compare_store, set_aside, take_record};
use super::look::{Known, Logs, look, standing};
use super::refusal::{Refusal, RefusalCause};
use super::route::Route;
use super::tails::Standing;
use super::takeover::{Facts, Start, decide_start};
use crate::gate::Incarnation;
use crate::journal::{EntryError, LogEnd, OffsetMetadata, Position};
use crate::kafka::broker::TopicIds;
use crate::kafka::witnesses::{Committed, Log, Watermarks, WitnessError, Witnesses};
use crate::store::{PartitionStore, StoreError, Stores};

/// What a worker asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Raw partition.
    pub partition: i32,
    /// The incarnation that asks; a stale answer is thrown away.
    pub incarnation: Incarnation,
    /// What is asked.
    pub kind: JobKind,
}

/// The questions that a worker or a person's act has.
#[derive(Clone, Debug, PartialEq)]
pub enum JobKind {
    /// Where does this partition go on?
    Takeover,
    /// The same for a store that was found damaged while it was open: it is set aside first.
    Rebuild,
    /// The same for a person who accepts that records were deleted unread.
    AcceptGap,
    /// The same for a person who goes on although the logs contradict each other.
    Adopt,
    /// Does the committed offset still name the last entry that the task knows, and do the last
    /// records of all logs still stand?
    Verify {
        /// That entry.
        last: Box<Position>,
        /// Offset and hash of the last raw record that the task holds undecided.
        held: Option<(i64, [u8; 32])>,
    },
}

/// The answer to a job.
pub enum Answer<S> {
    /// The partition goes on.
    TakenOver(Box<TakenOver<S>>),
    /// It must not.
    Refused(Refusal),
    /// It is not known yet, for the stated cause; another answer follows.
    Waits(String),
    /// The store is being brought level; another answer follows.
    Restoring(JournalProgress),
    /// The committed offset names the entry.
    Verified,
    /// It does not: the partition has to be taken over anew.
    NotVerified(String),
}

/// How far the journal was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalProgress {
    /// The next offset of the journal's partition.
    pub next: i64,
    /// Its end.
    pub end: i64,
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
    /// The raw log.
    pub raw: Watermarks,
    /// Ends of clean and quarantine to note with the next entry.
    pub ends: (LogEnd, LogEnd),
    /// Why it must not go on: only where a person asks to go on all the same.
    pub contradiction: Option<Refusal>,
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
pub(super) enum Halt {
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
    /// What was looked at once the journal was read.
    known: Option<Known>,
    store: Option<S>,
    reading: Reading,
    /// Whether the store that was found damaged was set aside.
    set_aside: bool,
    /// Whether the store was compared with the journal's entry at its position.
    compared: bool,
    entries_restored: u64,
    sightings_restored: u64,
}

impl<S: PartitionStore> Restoration<S> {
    /// Starts a job.
    pub fn new(job: Job) -> Restoration<S> {
        Restoration {
            job,
            committed: None,
            logs: None,
            known: None,
            store: None,
            reading: Reading::from(0),
            set_aside: false,
            compared: false,
            entries_restored: 0,
            sightings_restored: 0,
        }
    }

    /// The job.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// How far the journal was read, once it is.
    pub fn progress(&self) -> Option<JournalProgress> {
        let logs = self.logs.as_ref().filter(|_| self.compared)?;
        Some(JournalProgress { next: self.reading.next, end: logs.journal.high })
    }

    /// Does one short piece of work.
    pub fn step<W, R>(&mut self, route: &Route, witnesses: &mut W, stores: &R) -> Stepped<S>
    where
        W: Witnesses,
        R: Stores<Store = S>,
    {
        let stepped = match self.job.kind.clone() {
            JobKind::Verify { last, held } => self.verify(witnesses, &last, held),
            JobKind::Takeover | JobKind::Rebuild | JobKind::AcceptGap | JobKind::Adopt => {
                self.take_over(route, witnesses, stores)
            }
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
        position: &Position,
        held: Option<(i64, [u8; 32])>,
    ) -> Result<Option<Answer<S>>, Halt> {
        let partition = self.job.partition;
        let (head, to) = (position.head(), position.committed_next());
        let committed = witnesses.committed(partition)?;
        let noted = (committed.as_ref())
            .filter(|committed| committed.offset == to)
            .and_then(|committed| committed.metadata.parse::<OffsetMetadata>().ok())
            .filter(|noted| noted.names(&head));
        if let Some(noted) = noted {
            // What was aborted may stand where a log lost its tail, and hide the loss from the
            // next transaction.
            let (raw_offset, raw_hash) = match &held {
                Some((offset, hash)) => (*offset, &hash[..]),
                None => (position.header.last_raw_offset, &position.header.last_raw_hash[..]),
            };
            let last = [
                (Log::Raw, raw_offset),
                (Log::Journal, position.journal_next - 1),
                (Log::Clean, noted.clean.last_offset),
                (Log::Quarantine, noted.quarantine.last_offset),
            ];
            for (log, offset) in last.into_iter().filter(|(_, offset)| *offset >= 0) {
                // Where its record is not given, the log's ends tell why.
                let found = match witnesses.record_hash(log, partition, offset) {
                    Ok(hash) => hash.map_or(Standing::Gone, Standing::Found),
                    Err(_) => {
                        let marks = witnesses.watermarks(log, partition)?;
                        standing(log, partition, marks, offset, witnesses)?
                    }
                };
                let stands = match found {
                    Standing::Gone => false,
                    Standing::Found(hash) if log == Log::Raw => hash[..] == *raw_hash,
                    Standing::Found(_) | Standing::Unknown => true,
                };
                if !stands {
                    return Ok(Some(Answer::NotVerified(format!(
                        "the record at offset {offset} of the {log:?} log is gone or another"
                    ))));
                }
            }
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
                quarantine: witnesses.watermarks(Log::Quarantine, partition)?,
            });
            return Ok(None);
        };
        let Some(mut store) = self.store.take() else {
            if self.job.kind == JobKind::Rebuild && !self.set_aside {
                let why = "rows that were looked up are damaged";
                set_aside(route, stores, partition, "damaged", why)?;
                self.set_aside = true;
            }
            let store = stores.open(&route.name, partition);
            return self.opened(store, route, stores).map(|()| None);
        };
        if !self.compared {
            match compare_store(&store, &logs, partition, witnesses) {
                Ok(Compared::Same) => {}
                Err(halt) => {
                    // The journal may be another by now than its ends and id say.
                    self.logs = None;
                    return Err(halt);
                }
                Ok(Compared::Other(why)) => {
                    drop(store);
                    set_aside(route, stores, partition, "not-of-this-journal", &why)?;
                    return Ok(None);
                }
            }
            let next = store.position().map_or(0, |position| position.journal_next);
            self.reading = Reading::from(next.max(logs.journal.low));
            self.compared = true;
            if self.reading.next < logs.journal.high {
                tracing::info!(
                    route = route.name,
                    partition,
                    journal_next = self.reading.next,
                    journal_end = logs.journal.high,
                    "restoring from the journal"
                );
            }
            self.store = Some(store);
            return Ok(None);
        }
        if self.reading.next < logs.journal.high {
            let before = self.reading.next;
            let read = self.read_on(&mut store, &logs, witnesses);
            self.store = Some(store);
            return match read {
                Ok(()) if self.reading.next > before => Ok(None),
                Ok(()) => {
                    // Its end is asked for again: it may have lost its tail meanwhile.
                    self.logs = None;
                    Err(Halt::Waits(format!(
                        "journal {}/{partition}: nothing committed beyond offset {before} yet, its end is {}; a transaction is pending, or hangs",
                        route.journal_topic, logs.journal.high
                    )))
                }
                Err(halt) => self.damaged(halt, route, stores),
            };
        }
        let Some(known) = self.known.take() else {
            let asked =
                look(route, witnesses, partition, &logs, committed.as_ref(), store.position());
            self.store = Some(store);
            match asked {
                Ok(known) => self.known = Some(known),
                Err(halt) => {
                    // The log may have lost what its watermarks said: they are asked once more.
                    self.logs = None;
                    return Err(halt);
                }
            }
            return Ok(None);
        };
        let facts = Facts {
            route,
            partition,
            committed: committed.as_ref(),
            ids: &logs.ids,
            raw: logs.raw,
            journal: logs.journal,
            clean: logs.clean,
            raw_last: known.raw,
            journal_last: known.journal,
            tails: &known.tails,
            gap_accepted: matches!(self.job.kind, JobKind::AcceptGap),
            last_entry: store.position(),
            store_has_position: store.position().is_some(),
        };
        let position = store.position().cloned();
        let adopts = self.job.kind == JobKind::Adopt;
        let (start, contradiction) = match decide_start(&facts) {
            Ok(start) => (start, None),
            Err(refusal) if adopts => {
                let at = position.as_ref().map_or(logs.raw.low, Position::committed_next);
                (Start::GoOn { at }, Some(refusal))
            }
            Err(refusal) => return Err(Halt::Refused(refusal)),
        };
        let ends = match contradiction {
            // All that clean and quarantine hold now is the base.
            Some(_) => (
                LogEnd::based(&route.clean_topic_id, logs.clean.high),
                LogEnd::based(&route.quarantine_topic_id, logs.quarantine.high),
            ),
            None => (known.tails[0].end(), known.tails[1].end()),
        };
        Ok(Some(Answer::TakenOver(Box::new(TakenOver {
            store,
            position,
            start,
            ids: logs.ids,
            raw: logs.raw,
            ends,
            contradiction,
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
