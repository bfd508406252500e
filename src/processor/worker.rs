//! The worker: one consumer, one producer, the tasks of its partitions, stepped.
//!
//! Each step takes answers, polls, and runs at most one transaction, which is over before the
//! next poll: so no rebalance ever meets an open transaction. Must not be in here: threads,
//! clocks, or any way to the cluster but [`Broker`] and [`Takeovers`].

use super::observer::{Observer, PartitionView, WorkerView};
use super::refusal::Refusal;
use super::restore::{Answer, Job, JobKind, TakenOver};
use super::route::{BatchBounds, Route};
use super::setbacks::Setbacks;
use super::takeover::Start;
use super::task::{Arrival, Open, Task, TaskState};
use super::transaction::TransactionLimits;
use crate::gate::{Incarnation, RawRecord, Renderer, RouteNames, Sighting};
use crate::identity::Deriver;
use crate::kafka::broker::{Broker, ConsumeError, Polled, TxnErrorClass};
use crate::store::PartitionStore;
use std::collections::{BTreeMap, BTreeSet};

/// Takes partitions over, beside the worker.
pub trait Takeovers {
    /// What holds a partition's sightings.
    type Store: PartitionStore;
    /// Starts a job; an older one for the same partition is dropped.
    fn submit(&mut self, job: Job);
    /// Drops whatever is under way for a partition.
    fn forget(&mut self, partition: i32);
    /// The next answer.
    fn answer(&mut self) -> Option<(Job, Answer<Self::Store>)>;
}

/// Why a worker cannot go on by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkerExit {
    /// The consumer was fenced or gave up: a new one has to join.
    #[error("{0}")]
    ConsumerGaveUp(String),
    /// Too many producers in a row died.
    #[error("{0} producers in a row were fenced or died, the last one: {1}")]
    ProducersDied(u32, String),
}

/// Longest wait of one poll, so that answers are taken and a stop is seen.
const POLL_MS_MAX: u64 = 50;
/// Records taken in one poll before the bounds of the batch are looked at.
const POLL_RECORDS: usize = 1000;
/// How long one attempt to initialise a producer may block.
const RENEW_MS: u64 = 5000;

/// One worker of a route.
pub struct Worker<B, T: Takeovers, O> {
    pub(super) route: Route,
    pub(super) broker: B,
    pub(super) takeovers: T,
    pub(super) observer: O,
    pub(super) tasks: BTreeMap<i32, Task<T::Store>>,
    pub(super) renderer: Renderer,
    pub(super) limits: TransactionLimits,
    pub(super) setbacks: Setbacks,
    /// When the first record of the batch under way was polled.
    pub(super) batch_since_ms: Option<u64>,
    /// Since when a partition waits at its end for an entry without records.
    pub(super) end_waiting_since_ms: Option<u64>,
    /// Answers of the last look-up; kept for its memory.
    pub(super) found: Vec<Option<Sighting>>,
    deriver: Deriver,
    incarnations: u64,
    producer: ProducerState,
    /// Partitions whose takeover waits for the producer: it is initialised first, which ends a
    /// dead predecessor's transaction.
    takeovers_due: BTreeSet<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProducerState {
    /// There is none: its predecessor's transactions have unknown outcomes.
    Absent,
    /// It works, but a request of its last transaction may still be under way.
    Tainted,
    /// It works.
    Ready,
}

impl<B: Broker, T: Takeovers, O: Observer> Worker<B, T, O> {
    /// A worker without partitions. Its consumer must have subscribed to the raw topic.
    pub fn new(
        route: Route,
        broker: B,
        takeovers: T,
        observer: O,
        limits: TransactionLimits,
    ) -> Worker<B, T, O> {
        let names = RouteNames {
            raw_topic: route.raw_topic.clone(),
            route: route.full_name.clone(),
            recipe: route.recipe_name(),
        };
        let keep_timestamp = route.policy.keep_timestamp;
        Worker {
            renderer: Renderer::new(names, keep_timestamp, route.quarantine_bytes_max),
            deriver: Deriver::new(route.recipe.clone()),
            route,
            broker,
            takeovers,
            observer,
            tasks: BTreeMap::new(),
            limits,
            setbacks: Setbacks::default(),
            batch_since_ms: None,
            end_waiting_since_ms: None,
            found: Vec::new(),
            incarnations: 0,
            producer: ProducerState::Absent,
            takeovers_due: BTreeSet::new(),
        }
    }

    /// Does one round: answers, producer, poll, and a transaction if one is due.
    ///
    /// # Errors
    /// [`WorkerExit`] where the worker has to be built anew or the process to end.
    pub fn step(&mut self) -> Result<(), WorkerExit> {
        self.take_answers();
        self.ensure_producer()?;
        self.poll()?;
        if self.producer == ProducerState::Ready && !self.setbacks.backing_off(self.broker.now_ms())
        {
            self.begin_partitions()?;
            if self.batch_due() {
                self.transact()?;
            }
        }
        Ok(())
    }

    /// Makes every store durable. What is under way is dropped: it was never committed.
    pub fn close(mut self) {
        for task in self.tasks.values_mut() {
            flush(&self.route.name, task);
        }
    }

    /// Tells the observer what there is to see.
    pub fn publish(&mut self) {
        let view = WorkerView {
            joined: self.broker.membership().is_fencing(),
            producing: self.producer != ProducerState::Absent,
            partitions: (self.tasks.values())
                .map(|task| PartitionView {
                    partition: task.partition,
                    state: task.state.as_str(),
                    committed_next: task.committed_next,
                    refusal: match &task.state {
                        TaskState::Refused(refusal) => Some(refusal.clone()),
                        _ => None,
                    },
                })
                .collect(),
        };
        self.observer.viewed(view);
    }

    fn new_incarnation(&mut self) -> Incarnation {
        self.incarnations += 1;
        Incarnation(self.incarnations)
    }

    fn ensure_producer(&mut self) -> Result<(), WorkerExit> {
        let now_ms = self.broker.now_ms();
        if self.producer != ProducerState::Ready && !self.setbacks.backing_off(now_ms) {
            match self.broker.renew_producer(RENEW_MS) {
                Ok(()) => {
                    if self.producer == ProducerState::Tainted {
                        self.verify_all();
                    }
                    self.producer = ProducerState::Ready;
                    self.publish();
                }
                Err(error) => {
                    tracing::warn!(
                        route = self.route.name,
                        "the transactional producer cannot be initialised: {error}; trying again"
                    );
                    self.observer.not_committed("init");
                    if self.producer == ProducerState::Tainted {
                        self.leave_producer();
                    }
                    self.setbacks.aborted(now_ms);
                    if error.class == TxnErrorClass::Fatal {
                        self.setbacks.producer_died(&error.to_string())?;
                    }
                }
            }
        }
        if self.producer == ProducerState::Ready {
            for partition in std::mem::take(&mut self.takeovers_due) {
                if let Some(task) = self.tasks.get(&partition) {
                    let incarnation = task.incarnation;
                    self.takeovers.submit(Job { partition, incarnation, kind: JobKind::Takeover });
                }
            }
        }
        Ok(())
    }

    /// The producer's outcome is unknown: every task is taken over anew, once there is another.
    pub(super) fn leave_producer(&mut self) {
        self.producer = ProducerState::Absent;
        self.restore_all();
    }

    /// A request of the last transaction may still be under way: a new epoch before the next.
    pub(super) fn taint_producer(&mut self) {
        if self.producer == ProducerState::Ready {
            self.producer = ProducerState::Tainted;
        }
    }

    /// Drops what a partition has under way and takes it over anew.
    pub(super) fn restore(&mut self, partition: i32) {
        let incarnation = self.new_incarnation();
        if let Some(task) = self.tasks.get_mut(&partition) {
            task.restore_as(incarnation);
            self.broker.pause(partition);
            self.takeovers.forget(partition);
            self.takeovers_due.insert(partition);
        }
        self.publish();
    }

    pub(super) fn restore_all(&mut self) {
        let partitions: Vec<i32> = (self.tasks.values())
            .filter(|task| !matches!(task.state, TaskState::Refused(_)))
            .map(|task| task.partition)
            .collect();
        for partition in partitions {
            self.restore(partition);
        }
    }

    /// Before anything is sent again, the committed offset must name each task's last entry: an
    /// acknowledged transaction can be lost with the coordinator's log.
    pub(super) fn verify_all(&mut self) {
        for task in self.tasks.values_mut() {
            let Some(position) = task.running().and_then(|open| open.position.as_ref()) else {
                continue;
            };
            let kind = JobKind::Verify { head: position.head(), to: position.committed_next() };
            task.verify();
            self.broker.pause(task.partition);
            self.takeovers.submit(Job {
                partition: task.partition,
                incarnation: task.incarnation,
                kind,
            });
        }
    }

    /// Ends the service of a partition until it is assigned anew.
    pub(super) fn refuse(&mut self, partition: i32, refusal: Refusal) {
        tracing::error!(
            route = self.route.name,
            topic = self.route.raw_topic,
            partition,
            cause = refusal.cause.as_str(),
            "refused: {}",
            refusal.message
        );
        self.broker.pause(partition);
        let incarnation = self.new_incarnation();
        if let Some(task) = self.tasks.get_mut(&partition) {
            task.restore_as(incarnation);
            task.state = TaskState::Refused(refusal);
        }
        self.publish();
    }

    fn take_answers(&mut self) {
        while let Some((job, answer)) = self.takeovers.answer() {
            let in_force = self
                .tasks
                .get(&job.partition)
                .is_some_and(|task| task.incarnation == job.incarnation);
            if !in_force {
                continue;
            }
            match answer {
                Answer::TakenOver(taken) => self.taken_over(job.partition, *taken),
                Answer::Refused(refusal) => self.refuse(job.partition, refusal),
                Answer::Verified => {
                    if let Some(task) = self.tasks.get_mut(&job.partition) {
                        task.verified();
                        self.read_on(job.partition);
                    }
                }
                Answer::NotVerified(why) => {
                    tracing::warn!(
                        route = self.route.name,
                        partition = job.partition,
                        "what was acknowledged is not what is committed ({why}); restoring"
                    );
                    self.restore(job.partition);
                }
            }
        }
    }

    fn taken_over(&mut self, partition: i32, taken: TakenOver<T::Store>) {
        let context = self.route.entry_context(&taken.ids);
        let ends = self.route.noted_ends(taken.committed.as_ref());
        let start = taken.start.clone();
        tracing::info!(
            route = self.route.name,
            topic = self.route.raw_topic,
            partition,
            offset = start.offset(),
            replay = matches!(start, Start::Replay { .. }),
            entries = taken.entries_restored,
            sightings = taken.sightings_restored,
            "taken over"
        );
        let open = Open::new(taken, context, ends);
        let Some(task) = self.tasks.get_mut(&partition) else { return };
        task.rewound_to(start.offset());
        if open.position.is_none() {
            task.state = TaskState::Beginning(open);
            return self.publish();
        }
        task.state = TaskState::Running(open);
        self.read_on(partition);
        self.publish();
    }

    /// Lets a running task's records come, from `collected_next` on.
    pub(super) fn read_on(&mut self, partition: i32) {
        let Some(task) = self.tasks.get_mut(&partition) else { return };
        task.sought();
        if let Err(error) = self.broker.start_at(partition, task.collected_next) {
            tracing::warn!(
                route = self.route.name,
                topic = self.route.raw_topic,
                partition,
                offset = task.collected_next,
                "cannot seek: {error}; taking the partition over anew"
            );
            self.restore(partition);
        }
    }

    fn poll(&mut self) -> Result<(), WorkerExit> {
        let wait_ms = match self.batch_since_ms {
            None => POLL_MS_MAX,
            Some(since_ms) => {
                let age_ms = self.broker.now_ms().saturating_sub(since_ms);
                self.route.batch.wait_ms_max.saturating_sub(age_ms).min(POLL_MS_MAX)
            }
        };
        let bounds = self.route.batch;
        let held: usize = self.tasks.values().map(|task| task.collected.len()).sum();
        let room = bounds.records_max.saturating_sub(held).clamp(1, POLL_RECORDS);
        let (tasks, deriver) = (&mut self.tasks, &mut self.deriver);
        let mut events = Vec::new();
        let mut taken = false;
        self.broker.poll(wait_ms, room, &mut |polled| match polled {
            Polled::Record(record) => match arrive(tasks, deriver, &bounds, record) {
                Arrived::Taken => taken = true,
                Arrived::SeekAgain => events.push(Event::SeekAgain(record.partition)),
                Arrived::Full => events.push(Event::Full(record.partition)),
                Arrived::Dropped => {}
            },
            Polled::End { partition, next } => {
                if let Some(task) = tasks.get_mut(&partition) {
                    task.end_reached(next);
                }
            }
            // The part of a partition that is taken away must be gone before a record that was
            // polled later is taken.
            Polled::Revoked(partitions) => {
                for partition in partitions {
                    if let Some(task) = tasks.get_mut(partition) {
                        task.collected.clear();
                    }
                }
                events.push(Event::Revoked(partitions.to_vec()));
            }
            Polled::Assigned(partitions) => events.push(Event::Assigned(partitions.to_vec())),
            Polled::Failed(error) => events.push(Event::Failed(error)),
        });
        if taken && self.batch_since_ms.is_none() {
            tracing::debug!(route = self.route.name, "collecting");
            self.batch_since_ms = Some(self.broker.now_ms());
        }
        events.into_iter().try_for_each(|event| self.handle(event))
    }

    fn handle(&mut self, event: Event) -> Result<(), WorkerExit> {
        match event {
            Event::SeekAgain(partition) => {
                self.read_on(partition);
                if let Some(task) = self.tasks.get_mut(&partition) {
                    task.sought_again();
                }
            }
            Event::Full(partition) => self.broker.pause(partition),
            Event::Revoked(partitions) => self.revoked(&partitions),
            Event::Assigned(partitions) => {
                for partition in partitions {
                    let incarnation = self.new_incarnation();
                    if let Some(mut stale) =
                        self.tasks.insert(partition, Task::assigned(partition, incarnation))
                    {
                        flush(&self.route.name, &mut stale);
                    }
                    self.takeovers_due.insert(partition);
                }
                self.publish();
            }
            Event::Failed(ConsumeError::Transient(error)) => {
                tracing::warn!(route = self.route.name, "consumer: {error}");
            }
            Event::Failed(ConsumeError::OffsetNotInLog) => {
                let running: Vec<i32> = (self.tasks.values())
                    .filter(|task| task.running().is_some())
                    .map(|task| task.partition)
                    .collect();
                tracing::warn!(
                    route = self.route.name,
                    topic = self.route.raw_topic,
                    partitions = ?running,
                    "the next offset of a partition is not in the log; taking over anew"
                );
                running.into_iter().for_each(|partition| self.restore(partition));
            }
            Event::Failed(ConsumeError::Fatal(error)) => {
                return Err(WorkerExit::ConsumerGaveUp(error));
            }
        }
        Ok(())
    }

    fn revoked(&mut self, partitions: &[i32]) {
        for partition in partitions {
            self.takeovers.forget(*partition);
            self.takeovers_due.remove(partition);
            if let Some(mut task) = self.tasks.remove(partition) {
                flush(&self.route.name, &mut task);
            }
        }
        tracing::info!(route = self.route.name, partitions = ?partitions, "partitions revoked");
        self.publish();
    }

    fn batch_due(&mut self) -> bool {
        let (records, bytes) = (self.tasks.values()).filter(|task| task.running().is_some()).fold(
            (0, 0),
            |(records, bytes), task| {
                (records + task.collected.len(), bytes + task.collected.bytes())
            },
        );
        let bounds = &self.route.batch;
        let since_ms = self.batch_since_ms;
        let age_ms = since_ms.map_or(0, |since_ms| self.broker.now_ms().saturating_sub(since_ms));
        if records == 0 {
            return self.end_entry_due();
        }
        records >= self.setbacks.records_max(bounds.records_max)
            || bytes >= bounds.bytes_max
            || age_ms >= bounds.wait_ms_max
    }
}

enum Event {
    SeekAgain(i32),
    Full(i32),
    Assigned(Vec<i32>),
    Revoked(Vec<i32>),
    Failed(ConsumeError),
}

enum Arrived {
    Taken,
    Dropped,
    Full,
    SeekAgain,
}

fn arrive<S>(
    tasks: &mut BTreeMap<i32, Task<S>>,
    deriver: &mut Deriver,
    bounds: &BatchBounds,
    record: &RawRecord<'_>,
) -> Arrived {
    let Some(task) = tasks.get_mut(&record.partition) else {
        return Arrived::Dropped;
    };
    match task.arrival(record.offset, bounds) {
        Arrival::Take => {
            task.collected.push(record, deriver);
            Arrived::Taken
        }
        Arrival::Drop => Arrived::Dropped,
        Arrival::Full => Arrived::Full,
        Arrival::SeekAgain => Arrived::SeekAgain,
    }
}

fn flush<S: PartitionStore>(route: &str, task: &mut Task<S>) {
    let partition = task.partition;
    if let Some(open) = task.open_mut()
        && let Err(error) = open.store.flush()
    {
        // The journal has it all; the next takeover will only have more to read.
        tracing::warn!(route, partition, "the store was not flushed: {error}");
    }
}
