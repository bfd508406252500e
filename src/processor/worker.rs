//! The worker: one consumer, one producer, the tasks of its partitions, stepped.
//!
//! Each step takes answers, polls, and runs at most one transaction, which is over before the
//! next poll: so no rebalance ever meets an open transaction. Must not be in here: threads,
//! clocks, or any way to the cluster but [`Broker`] and [`Takeovers`].

use super::event::{NotCommitted, TakeoverEnd, WorkerEvent};
use super::observer::{Observer, PartitionView, StageMicros, WorkerView};
use super::refusal::Refusal;
use super::restore::{Answer, Job, JobKind, TakenOver};
use super::route::Route;
use super::setbacks::Setbacks;
use super::takeover::Start;
use super::task::{Open, Task, TaskState};
use super::transaction::TransactionLimits;
use crate::gate::{Incarnation, Renderer, RouteNames, Sighting};
use crate::identity::Deriver;
use crate::kafka::broker::{Broker, TxnErrorClass};
use crate::store::{PartitionStore, StoreError};
use std::collections::BTreeMap;
use std::fmt::Display;

/// Takes partitions over, beside the worker.
pub trait Takeovers {
    /// What holds a partition's sightings.
    type Store: PartitionStore;
    /// Starts a job; an older one for the same partition is dropped.
    fn submit(&mut self, job: Job);
    /// Drops whatever is under way for a partition.
    fn forget(&mut self, partition: i32);
    /// The partition was assigned: its store is kept, whether it is open or not.
    fn serve(&mut self, _partition: i32) {}
    /// The partition was taken away.
    fn leave(&mut self, _partition: i32) {}
    /// The next answer.
    fn answer(&mut self) -> Option<(Job, Answer<Self::Store>)>;
}

/// Why a worker cannot go on by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkerExit {
    /// The consumer was fenced or gave up: a new one has to join.
    #[error("{why}")]
    ConsumerGaveUp {
        /// The client's words.
        why: String,
        /// Whether the consumer had trouble with brokers before. An answer to a static member that
        /// is lost on the way leaves it with a member id that is fenced later, without any other
        /// process.
        disturbed: bool,
    },
    /// Too many producers in a row died.
    #[error("{0} producers in a row were fenced or died, the last one: {1}")]
    ProducersDied(u32, String),
}

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
    pub(super) deriver: Deriver,
    /// How long the batch under way was in each stage so far.
    pub(super) stages: StageMicros,
    incarnations: u64,
    /// Why the client cannot read raw records, until one or a partition's end comes.
    pub(super) unread: Option<String>,
    /// Whether the consumer had trouble with brokers.
    pub(super) disturbed: bool,
    producer: ProducerState,
    /// Partitions whose takeover waits for the producer: it is initialised first, which ends a
    /// dead predecessor's transaction.
    pub(super) takeovers_due: BTreeMap<i32, JobKind>,
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
            stages: StageMicros::default(),
            incarnations: 0,
            unread: None,
            disturbed: false,
            producer: ProducerState::Absent,
            takeovers_due: BTreeMap::new(),
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
        self.read_on_with_room();
        if self.may_transact() {
            self.begin_partitions()?;
        }
        // What began may have left a request under way, or failed.
        if self.may_transact() && self.batch_due() {
            self.transact()?;
        }
        Ok(())
    }

    fn may_transact(&self) -> bool {
        self.producer == ProducerState::Ready && !self.setbacks.backing_off(self.broker.now_ms())
    }

    /// Makes every store durable. What is under way is dropped: it was never committed.
    pub fn close(mut self) {
        for task in self.tasks.values_mut() {
            flush(&self.route.name, task);
        }
    }

    /// Says what happened, to the log and to the observer.
    pub(super) fn tell(&mut self, event: &WorkerEvent<'_>) {
        event.log(&self.route.name, &self.route.raw_topic);
        self.observer.happened(event);
    }

    /// Says that a transaction was not committed.
    pub(super) fn not_committed(&mut self, how: NotCommitted, records: usize, why: &dyn Display) {
        self.tell(&WorkerEvent::NotCommitted { how, records, why });
    }

    /// Says why a partition will be taken over anew.
    pub(super) fn give_up(&mut self, partition: i32, why: &dyn Display) {
        self.tell(&WorkerEvent::GivenUp { partitions: &[partition], why });
    }

    /// Tells the observer what there is to see.
    pub fn publish(&mut self) {
        let view = WorkerView {
            joined: self.broker.membership().is_fencing(),
            producing: self.producer != ProducerState::Absent,
            hindered: self.hindered(),
            partitions: (self.tasks.values())
                .map(|task| PartitionView {
                    partition: task.partition,
                    state: task.state.as_str(),
                    committed_next: task.committed_next,
                    refusal: match &task.state {
                        TaskState::Refused(refusal) => Some(refusal.clone()),
                        _ => None,
                    },
                    waits_for: task.waits_for.clone(),
                    restoring: task.restoring,
                })
                .collect(),
        };
        self.observer.viewed(view);
    }

    fn hindered(&self) -> Option<String> {
        let aborts = self.setbacks.hindered();
        aborts.map(|why| format!("every transaction is aborted ({why})")).or_else(|| {
            self.unread.as_ref().map(|why| format!("raw records cannot be read ({why})"))
        })
    }

    pub(super) fn new_incarnation(&mut self) -> Incarnation {
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
                    self.not_committed(NotCommitted::Init, 0, &error);
                    if self.producer == ProducerState::Tainted {
                        self.leave_producer();
                    }
                    self.setbacks.aborted(now_ms);
                    if error.class == TxnErrorClass::Fatal {
                        self.tell(&WorkerEvent::Fenced(&error));
                        self.setbacks.producer_died(&error.to_string())?;
                    }
                }
            }
        }
        if self.producer == ProducerState::Ready {
            for (partition, kind) in std::mem::take(&mut self.takeovers_due) {
                if let Some(task) = self.tasks.get(&partition) {
                    let incarnation = task.incarnation;
                    self.takeovers.submit(Job { partition, incarnation, kind });
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
        self.restore_by(partition, JobKind::Takeover);
    }

    /// The same after the partition's store failed.
    pub(super) fn restore_after(&mut self, partition: i32, error: &StoreError) {
        let kind = match error {
            StoreError::Damaged { .. } => JobKind::Rebuild,
            _ => JobKind::Takeover,
        };
        self.restore_by(partition, kind);
    }

    fn restore_by(&mut self, partition: i32, kind: JobKind) {
        let incarnation = self.new_incarnation();
        let now_ms = self.broker.now_ms();
        if let Some(task) = self.tasks.get_mut(&partition) {
            task.restore_as(incarnation);
            task.awaited_since_ms.get_or_insert(now_ms);
            self.broker.pause(partition);
            self.takeovers.forget(partition);
            self.takeovers_due.insert(partition, kind);
        }
        self.publish();
    }

    pub(super) fn restore_all(&mut self) {
        let partitions: Vec<i32> = (self.tasks.values())
            .filter(|task| !matches!(task.state, TaskState::Refused(_)))
            .map(|task| task.partition)
            .collect();
        for partition in partitions {
            // Healthy stores, which would otherwise read again what they lose here.
            if let Some(task) = self.tasks.get_mut(&partition) {
                flush(&self.route.name, task);
            }
            self.restore(partition);
        }
    }

    /// Before anything is sent again, the committed offset must name each task's last entry: an
    /// acknowledged transaction can be lost with the coordinator's log.
    pub(super) fn verify_all(&mut self) {
        let partitions: Vec<i32> = self.tasks.keys().copied().collect();
        partitions.into_iter().for_each(|partition| self.verify(partition));
    }

    /// Stops a running partition until what it knows was found to stand.
    pub(super) fn verify(&mut self, partition: i32) {
        let Some(task) = self.tasks.get_mut(&partition) else { return };
        let Some(position) = task.running().and_then(|open| open.position.as_ref()) else {
            return;
        };
        let held = task.collected.waiting(usize::MAX).next_back();
        let held = held.map(|at| (task.collected.offset(at), task.collected.record_hash(at)));
        let kind = JobKind::Verify { last: Box::new(position.clone()), held };
        let incarnation = task.incarnation;
        task.verify();
        self.broker.pause(partition);
        self.takeovers.submit(Job { partition, incarnation, kind });
    }

    /// Ends the service of a partition until it is assigned anew.
    pub(super) fn refuse(&mut self, partition: i32, refusal: Refusal) {
        self.tell(&WorkerEvent::Refused(partition, &refusal));
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
                Answer::Restoring(progress) => {
                    if let Some(task) = self.tasks.get_mut(&job.partition) {
                        task.waits_for = None;
                        task.restoring = Some(progress);
                        self.publish();
                    }
                }
                Answer::Waits(cause) => {
                    if let Some(task) = self.tasks.get_mut(&job.partition) {
                        // What it holds would take the room of partitions that go on.
                        task.give_up_held();
                        task.waits_for = Some(cause);
                        self.publish();
                    }
                }
                Answer::Verified => {
                    if let Some(task) = self.tasks.get_mut(&job.partition) {
                        task.verified();
                        self.read_on(job.partition);
                    }
                }
                Answer::NotVerified(why) => {
                    self.give_up(
                        job.partition,
                        &format_args!("what was acknowledged is not what is committed: {why}"),
                    );
                    self.restore(job.partition);
                }
            }
        }
    }

    fn taken_over(&mut self, partition: i32, taken: TakenOver<T::Store>) {
        let context = self.route.entry_context(&taken.ids);
        let start = taken.start.clone();
        self.tell(&WorkerEvent::TakenOver(TakeoverEnd {
            partition,
            offset: start.offset(),
            replay: matches!(start, Start::Replay { .. }),
            entries: taken.entries_restored,
            sightings: taken.sightings_restored,
        }));
        let open = Open::new(taken, context);
        let Some(task) = self.tasks.get_mut(&partition) else { return };
        task.waits_for = None;
        task.restoring = None;
        task.rewound_to(start.offset());
        if open.position.is_none() {
            task.state = TaskState::Beginning(open);
            return self.publish();
        }
        task.state = TaskState::Running(open);
        self.runs(partition);
        self.read_on(partition);
        self.publish();
    }

    /// A partition has come to run.
    pub(super) fn runs(&mut self, partition: i32) {
        let now_ms = self.broker.now_ms();
        let since_ms = self.tasks.get_mut(&partition).and_then(|task| task.awaited_since_ms.take());
        if let Some(since_ms) = since_ms {
            let milliseconds = now_ms.saturating_sub(since_ms);
            self.tell(&WorkerEvent::Running { partition, milliseconds });
        }
    }

    /// Lets a running task's records come, from `collected_next` on.
    pub(super) fn read_on(&mut self, partition: i32) {
        let Some(task) = self.tasks.get_mut(&partition) else { return };
        task.sought();
        if let Err(error) = self.broker.start_at(partition, task.collected_next) {
            let offset = task.collected_next;
            self.give_up(partition, &format_args!("cannot seek to {offset}: {error}"));
            self.restore(partition);
        }
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
        records >= self.records_max() || bytes >= bounds.bytes_max || age_ms >= bounds.wait_ms_max
    }
}

pub(super) fn flush<S: PartitionStore>(route: &str, task: &mut Task<S>) {
    let partition = task.partition;
    if let Some(open) = task.open_mut()
        && let Err(error) = open.store.flush()
    {
        // The journal has it all; the next takeover will only have more to read.
        tracing::warn!(route, partition, "the store was not flushed: {error}");
    }
}
