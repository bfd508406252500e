//! The model's [`Witnesses`], and the takeovers of a worker in steps of their own.
//! Must not be in here: what a takeover consists of.

use crate::log::Topic;
use crate::mutant::Mutant;
use crate::store::{SimStore, SimStores};
use crate::world::{FULL_NAME, World};
use oncegate::kafka::broker::TopicIds;
use oncegate::kafka::witnesses::{Committed, Log, Watermarks, WitnessError, Witnesses};
use oncegate::processor::restore::{Answer, Job, Restoration, Stepped};
use oncegate::processor::route::Route;
use oncegate::processor::worker::Takeovers;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// What a takeover sees of the model.
pub struct SimWitnesses<'w> {
    pub world: &'w World,
}

impl SimWitnesses<'_> {
    fn answers(&self, what: &'static str) -> Result<(), WitnessError> {
        let mut c = self.world.c.borrow_mut();
        let trouble = c.knobs.call;
        if c.is_away() || c.random.chance(trouble) {
            return Err(WitnessError::NotYet { what, message: "timed out".into() });
        }
        Ok(())
    }
}

fn topic_of(log: Log) -> Topic {
    match log {
        Log::Raw => Topic::Raw,
        Log::Clean => Topic::Clean,
        Log::Quarantine => Topic::Quarantine,
        Log::Journal => Topic::Journal,
    }
}

impl Witnesses for SimWitnesses<'_> {
    fn committed(&mut self, partition: i32) -> Result<Option<Committed>, WitnessError> {
        const WHAT: &str = "committed offset";
        let mutant = self.world.mutant;
        if let Err(error) = self.answers(WHAT) {
            return if mutant == Mutant::NoAnswerIsNone { Ok(None) } else { Err(error) };
        }
        let c = self.world.c.borrow();
        if c.group.pending.values().any(|pending| pending.contains_key(&partition))
            && mutant != Mutant::UnstableOffsets
        {
            return Err(WitnessError::NotYet { what: WHAT, message: "unstable".into() });
        }
        let committed = c.group.committed[partition as usize].clone();
        Ok(committed.map(|(offset, metadata)| Committed { offset, metadata }))
    }

    fn watermarks(&mut self, log: Log, partition: i32) -> Result<Watermarks, WitnessError> {
        self.answers("watermarks")?;
        let mutant = self.world.mutant;
        let c = self.world.c.borrow();
        let of = c.log(topic_of(log), partition);
        let high = match (mutant, log) {
            (Mutant::JournalEndIsStable, Log::Journal) => of.stable(),
            (Mutant::RawEndUnread, Log::Raw) => i64::MAX,
            _ => of.high(),
        };
        Ok(Watermarks { low: of.low, high })
    }

    fn record_hash(
        &mut self,
        log: Log,
        partition: i32,
        offset: i64,
    ) -> Result<Option<[u8; 32]>, WitnessError> {
        const WHAT: &str = "a log's last record";
        self.answers(WHAT)?;
        let c = self.world.c.borrow();
        let of = c.log(topic_of(log), partition);
        if offset < of.low || offset > of.high() {
            return Err(WitnessError::OffsetNotInLog { log, partition, offset });
        }
        if offset >= of.stable() {
            return Err(WitnessError::NotYet { what: WHAT, message: "not given".into() });
        }
        let at = of.committed_from(offset).next().filter(|(found, _)| *found == offset);
        if self.world.mutant == Mutant::TailsUnread && log != Log::Raw {
            return Ok(Some([0; 32]));
        }
        Ok(at.map(|(_, record)| {
            let mut hash = [0; 32];
            hash.copy_from_slice(&crate::readers::hash_of(record));
            hash
        }))
    }

    fn topic_ids(&mut self) -> Result<TopicIds, WitnessError> {
        self.answers("topic ids")?;
        let c = self.world.c.borrow();
        let id = |topic| match self.world.mutant {
            Mutant::TopicIdsUnread => format!("{topic:?}-1"),
            _ => c.topic_id(topic),
        };
        Ok(TopicIds {
            raw: id(Topic::Raw),
            journal: id(Topic::Journal),
            raw_partitions: c.raw_partitions,
        })
    }

    fn read_journal(
        &mut self,
        partition: i32,
        from: i64,
        until: i64,
        sink: &mut dyn FnMut(i64, &[u8]),
    ) -> Result<i64, WitnessError> {
        let dirty = self.world.mutant == Mutant::JournalReadUncommitted;
        let (records, next) = self.read((Log::Journal, dirty), partition, from, until)?;
        for (offset, record) in &records {
            sink(*offset, record.payload.as_deref().unwrap_or_default());
        }
        Ok(next)
    }

    fn read_routes(
        &mut self,
        log: Log,
        partition: i32,
        from: i64,
        until: i64,
        sink: &mut dyn FnMut(i64, Option<&str>),
    ) -> Result<i64, WitnessError> {
        let (records, next) = self.read((log, false), partition, from, until)?;
        // Nobody but the gate writes to these logs of the model.
        records.iter().for_each(|(offset, _)| sink(*offset, Some(FULL_NAME)));
        Ok(next)
    }
}

type Slice = (Vec<(i64, Rc<crate::log::Record>)>, i64);

impl SimWitnesses<'_> {
    /// Some records of `[from, until)`, and where to go on.
    fn read(
        &mut self,
        (which, dirty): (Log, bool),
        partition: i32,
        from: i64,
        until: i64,
    ) -> Result<Slice, WitnessError> {
        self.answers("records")?;
        let mut c = self.world.c.borrow_mut();
        let max = c.random.between(1, 30) as usize;
        let log = c.log(topic_of(which), partition);
        if from < log.low || from > log.high() {
            return Err(WitnessError::OffsetNotInLog { log: which, partition, offset: from });
        }
        let end = if dirty { log.high().min(until) } else { log.stable().min(until) };
        let take = |records: &mut dyn Iterator<Item = (i64, &Rc<crate::log::Record>)>| {
            records
                .take_while(|(offset, _)| *offset < end)
                .take(max)
                .map(|(offset, record)| (offset, record.clone()))
                .collect::<Vec<_>>()
        };
        let records = if dirty {
            take(&mut log.uncommitted_from(from))
        } else {
            take(&mut log.committed_from(from))
        };
        let next = match records.last() {
            Some((offset, _)) if records.len() == max => offset + 1,
            _ => end.max(from),
        };
        Ok((records, next))
    }
}

/// The jobs of one worker's takeovers, and their answers.
#[derive(Default)]
pub struct Restorer {
    jobs: VecDeque<Restoration<SimStore>>,
    answers: VecDeque<(Job, Answer<SimStore>)>,
    pub wake_at: u64,
    waits: usize,
}

impl Restorer {
    pub fn is_busy(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// One step of the job in front; one that waits goes to the back.
    pub fn step(&mut self, world: &World, route: &Route, stores: &SimStores) {
        let now = world.c.borrow().now;
        let Some(mut job) = self.jobs.pop_front() else { return };
        let mut witnesses = SimWitnesses { world };
        match job.step(route, &mut witnesses, stores) {
            Stepped::Done(answer) => {
                self.waits = 0;
                self.answers.push_back((job.job().clone(), answer));
            }
            Stepped::Moved => {
                self.waits = 0;
                self.wake_at = now + 1;
                self.jobs.push_front(job);
            }
            Stepped::Waits(cause) => {
                world.c.borrow().say(|| format!("takeover waits: {cause}"));
                self.waits += 1;
                if self.waits >= self.jobs.len() {
                    self.wake_at = now + 100;
                    self.waits = 0;
                }
                self.jobs.push_back(job);
            }
        }
    }
}

/// The worker's handle.
pub struct SimTakeovers(pub Rc<RefCell<Restorer>>);

impl Takeovers for SimTakeovers {
    type Store = SimStore;

    fn submit(&mut self, job: Job) {
        let mut restorer = self.0.borrow_mut();
        let dropped: Vec<_> = {
            let partition = job.partition;
            let (keep, drop): (VecDeque<_>, VecDeque<_>) =
                restorer.jobs.drain(..).partition(|of| of.job().partition != partition);
            restorer.jobs = keep;
            drop.into_iter().collect()
        };
        drop(dropped);
        restorer.jobs.push_back(Restoration::new(job));
    }

    fn forget(&mut self, partition: i32) {
        self.0.borrow_mut().jobs.retain(|of| of.job().partition != partition);
    }

    fn answer(&mut self) -> Option<(Job, Answer<SimStore>)> {
        self.0.borrow_mut().answers.pop_front()
    }
}
