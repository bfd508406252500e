//! What comes in: records, rebalances, and how much of it a worker may hold.
//! Must not be in here: a transaction, or what is decided of a record.

use super::event::WorkerEvent;
use super::observer::{Observer, Stage};
use super::restore::JobKind;
use super::route::BatchBounds;
use super::task::{Arrival, Task};
use super::worker::{Takeovers, Worker, WorkerExit, flush};
use crate::gate::RawRecord;
use crate::identity::Deriver;
use crate::kafka::broker::{Broker, ConsumeError, Polled};
use std::collections::BTreeMap;

/// Longest wait of one poll, so that answers are taken and a stop is seen.
const POLL_MS_MAX: u64 = 50;
/// Records taken in one poll before the bounds of the batch are looked at.
const POLL_RECORDS: usize = 1000;
/// How many batches a worker may hold while nothing can be sent.
const HELD_BATCHES_MAX: usize = 2;

/// One record in so many is timed: looking at a clock twice for each would be felt.
const TIMED: u64 = 16;

/// How long the records of one poll took to take in, by those that were timed.
#[derive(Default)]
struct TakingIn {
    records: u64,
    timed: u64,
    timed_nanos: u64,
}

impl TakingIn {
    /// Whether the next record is timed.
    fn times_next(&mut self) -> bool {
        self.records += 1;
        self.records % TIMED == 1
    }

    fn timed(&mut self, nanos: u64) {
        self.timed += 1;
        self.timed_nanos += nanos;
    }

    /// Of all records, in microseconds.
    fn micros(&self) -> u64 {
        self.timed_nanos.saturating_mul(self.records) / self.timed.max(1) / 1_000
    }
}

/// What all tasks of a worker hold together.
struct Held {
    records: usize,
    bytes: usize,
}

impl Held {
    fn by<S>(tasks: &BTreeMap<i32, Task<S>>) -> Held {
        let collected = || tasks.values().map(|task| &task.collected);
        Held {
            records: collected().map(|collected| collected.len()).sum(),
            bytes: collected().map(|collected| collected.bytes()).sum(),
        }
    }

    fn is_full(&self, bounds: &BatchBounds) -> bool {
        self.records >= HELD_BATCHES_MAX * bounds.records_max
            || self.bytes >= HELD_BATCHES_MAX * bounds.bytes_max
    }

    /// Whether half of what may be held is free.
    fn has_room(&self, bounds: &BatchBounds) -> bool {
        2 * self.records <= HELD_BATCHES_MAX * bounds.records_max
            && 2 * self.bytes <= HELD_BATCHES_MAX * bounds.bytes_max
    }
}

impl<B: Broker, T: Takeovers, O: Observer> Worker<B, T, O> {
    /// Polls once, and does what follows from it.
    pub(super) fn poll(&mut self) -> Result<(), WorkerExit> {
        let wait_ms = match self.batch_since_ms {
            None => POLL_MS_MAX,
            Some(since_ms) => {
                let age_ms = self.broker.now_ms().saturating_sub(since_ms);
                self.route.batch.wait_ms_max.saturating_sub(age_ms).min(POLL_MS_MAX)
            }
        };
        let bounds = self.route.batch;
        let mut held = Held::by(&self.tasks);
        let room = bounds.records_max.saturating_sub(held.records).clamp(1, POLL_RECORDS);
        let (tasks, deriver) = (&mut self.tasks, &mut self.deriver);
        let mut events = Vec::new();
        let (watch, mut taking_in) = (self.broker.stopwatch(), TakingIn::default());
        let (mut taken, mut end_seen) = (false, false);
        self.broker.poll(wait_ms, room, &mut |polled| match polled {
            Polled::Record(record) => {
                let began_nanos = taking_in.times_next().then(|| watch.nanos());
                match arrive(tasks, deriver, (&mut held, &bounds), record) {
                    Arrived::Taken => taken = true,
                    Arrived::SeekAgain => events.push(Event::SeekAgain(record.partition)),
                    Arrived::Full => events.push(Event::Full(record.partition)),
                    Arrived::Dropped => {}
                }
                if let Some(began_nanos) = began_nanos {
                    taking_in.timed(watch.nanos() - began_nanos);
                }
            }
            Polled::End { partition, next } => {
                if tasks.get_mut(&partition).is_some_and(|task| task.end_reached(next)) {
                    events.push(Event::SeekAgain(partition));
                }
                end_seen = true;
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
        if taken || self.batch_since_ms.is_some() {
            let identity_micros = taking_in.micros();
            self.stages.add(Stage::Poll, watch.micros().saturating_sub(identity_micros));
            self.stages.add(Stage::Identity, identity_micros);
        }
        if taken || end_seen {
            self.unread = None;
        }
        if taken && self.batch_since_ms.is_none() {
            tracing::debug!(route = self.route.name, "collecting");
            self.batch_since_ms = Some(self.broker.now_ms());
        }
        events.into_iter().try_for_each(|event| self.handle(event))
    }

    fn handle(&mut self, event: Event) -> Result<(), WorkerExit> {
        match event {
            Event::SeekAgain(partition) => {
                let ahead = self.tasks.get(&partition).and_then(Task::seek_due);
                self.read_on(partition);
                if let (Some(task), Some(ahead)) = (self.tasks.get_mut(&partition), ahead) {
                    task.sought_again(ahead);
                }
            }
            Event::Full(partition) => self.broker.pause(partition),
            Event::Revoked(partitions) => self.revoked(&partitions),
            Event::Assigned(partitions) => {
                self.tell(&WorkerEvent::Assigned(&partitions));
                for partition in partitions {
                    self.takeovers.serve(partition);
                    let incarnation = self.new_incarnation();
                    if let Some(mut stale) =
                        self.tasks.insert(partition, Task::assigned(partition, incarnation))
                    {
                        flush(&self.route.name, &mut stale);
                    }
                    if let Some(task) = self.tasks.get_mut(&partition) {
                        task.awaited_since_ms = Some(self.broker.now_ms());
                    }
                    self.takeovers_due.insert(partition, JobKind::Takeover);
                }
                self.publish();
            }
            Event::Failed(ConsumeError::Transient(error)) => {
                tracing::warn!(route = self.route.name, "consumer: {error}");
                self.disturbed = true;
            }
            Event::Failed(ConsumeError::OffsetNotInLog) => {
                self.restore_running("the next offset of a partition is not in the log");
            }
            Event::Failed(ConsumeError::Lasting(error)) => {
                self.restore_running(&error);
                self.unread = Some(error);
            }
            Event::Failed(ConsumeError::Fatal(error)) => {
                self.tell(&WorkerEvent::Fenced(&error));
                return Err(WorkerExit::ConsumerGaveUp { why: error, disturbed: self.disturbed });
            }
        }
        Ok(())
    }

    /// The client does not say of which partition it speaks: all that run are taken over anew.
    fn restore_running(&mut self, why: &str) {
        let running: Vec<i32> = (self.tasks.values())
            .filter(|task| task.running().is_some())
            .map(|task| task.partition)
            .collect();
        self.tell(&WorkerEvent::GivenUp { partitions: &running, why: &why });
        running.into_iter().for_each(|partition| self.restore(partition));
    }

    fn revoked(&mut self, partitions: &[i32]) {
        for partition in partitions {
            self.takeovers.forget(*partition);
            self.takeovers.leave(*partition);
            self.takeovers_due.remove(partition);
            if let Some(mut task) = self.tasks.remove(partition) {
                flush(&self.route.name, &mut task);
            }
        }
        self.tell(&WorkerEvent::Revoked(partitions));
        self.publish();
    }

    /// Lets partitions that were paused for want of room come again, once half of it is free.
    pub(super) fn read_on_with_room(&mut self) {
        let waiting: Vec<i32> = (self.tasks.values())
            .filter(|task| task.may_read_on())
            .map(|task| task.partition)
            .collect();
        if waiting.is_empty() || !Held::by(&self.tasks).has_room(&self.route.batch) {
            return;
        }
        // They have been paused for long, and the client notices a log that lost its tail and grew
        // again only while it reads.
        waiting.into_iter().for_each(|partition| self.verify(partition));
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
    (held, bounds): (&mut Held, &BatchBounds),
    record: &RawRecord<'_>,
) -> Arrived {
    let Some(task) = tasks.get_mut(&record.partition) else {
        return Arrived::Dropped;
    };
    match task.arrival(record.offset, held.is_full(bounds)) {
        Arrival::Take => {
            let before = task.collected.bytes();
            task.collected.push(record, deriver);
            held.records += 1;
            held.bytes += task.collected.bytes() - before;
            Arrived::Taken
        }
        Arrival::Drop => Arrived::Dropped,
        Arrival::Full => Arrived::Full,
        Arrival::SeekAgain => Arrived::SeekAgain,
    }
}
