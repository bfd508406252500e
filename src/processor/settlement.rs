//! From what a worker has collected to a transaction, and from its ending to what the tasks hold.
//! Must not be in here: polling, rebalances, or how a transaction is run.

use super::event::{NotCommitted, WorkerEvent};
use super::observer::{CommittedBatch, Observer, Stage, StageMicros};
use super::takeover::{other_topics, tail_lost};
use super::transaction::{self, End, Outputs, Parcel, end_after};
use super::worker::{Takeovers, Worker, WorkerExit};
use crate::gate::{Case, Lookups, Part, Target, decide_part};
use crate::journal::entry::{NO_ENTRY, begin_header, encode, encode_part};
use crate::journal::packed::Rows;
use crate::journal::{CommitAcknowledged, EncodedEntry, Receipt};
use crate::kafka::broker::{Broker, Delivered, DeliveryError, TopicIds, TxnError};
use crate::store::{PartitionStore, StoreError};

/// How long a partition's end must have been seen before an entry without records is written.
const END_ENTRY_IDLE_MS: u64 = 1000;

/// What a transaction is to write for one partition.
struct Prepared {
    partition: i32,
    entry: EncodedEntry,
    /// `None` for the entry that begins a partition.
    part: Option<Part>,
}

/// Why a committed part does not stand in the store.
#[derive(Debug, thiserror::Error)]
enum Unsettled {
    #[error("the journal entry's offset was not reported")]
    NotReported,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl<B: Broker, T: Takeovers, O: Observer> Worker<B, T, O> {
    /// Writes the first entry of partitions that were never served, before anything is read.
    pub(super) fn begin_partitions(&mut self) -> Result<(), WorkerExit> {
        let mut prepared = Vec::new();
        for task in self.tasks.values() {
            let super::task::TaskState::Beginning(open) = &task.state else { continue };
            let header = begin_header(&open.context, open.progress.decided_to);
            let entry = encode(1, NO_ENTRY, header, Rows::default());
            prepared.push(Prepared { partition: task.partition, entry, part: None });
        }
        if prepared.is_empty() {
            return Ok(());
        }
        let partitions: Vec<i32> = prepared.iter().map(|prepared| prepared.partition).collect();
        self.run(prepared)?;
        for partition in partitions {
            let begun = self.tasks.get_mut(&partition).is_some_and(|task| {
                let begun = task.open_mut().is_some_and(|open| open.position.is_some());
                if begun {
                    task.verified();
                }
                begun
            });
            if begun {
                self.runs(partition);
                self.read_on(partition);
            }
        }
        self.publish();
        Ok(())
    }

    /// Whether a partition that was read to its end has markers behind its last entry.
    pub(super) fn end_entry_due(&mut self) -> bool {
        let now_ms = self.broker.now_ms();
        let waiting = (self.tasks.values())
            .any(|task| task.running().is_some() && task.covered_to() > task.committed_next);
        if !waiting {
            self.end_waiting_since_ms = None;
            return false;
        }
        let since_ms = *self.end_waiting_since_ms.get_or_insert(now_ms);
        now_ms.saturating_sub(since_ms) >= END_ENTRY_IDLE_MS
    }

    /// Decides what was collected and runs a transaction over it.
    pub(super) fn transact(&mut self) -> Result<(), WorkerExit> {
        self.end_waiting_since_ms = None;
        let mut prepared: Vec<Prepared> = Vec::new();
        let watch = self.broker.stopwatch();
        let mut room = self.records_max();
        let partitions = match self.searched() {
            Some(partition) => vec![partition],
            None => self.tasks.keys().copied().collect(),
        };
        for partition in partitions {
            if room == 0 {
                break;
            }
            match self.prepare(partition, room) {
                Ok(None) => {}
                Ok(Some(part)) => {
                    room -= part.part.as_ref().map_or(0, |part| part.records.len());
                    prepared.push(part);
                }
                Err(error) => {
                    self.give_up(partition, &error);
                    self.restore_after(partition, &error);
                }
            }
        }
        self.stages.add(Stage::Lookup, watch.micros());
        if prepared.is_empty() {
            self.end_batch();
            return Ok(());
        }
        self.run(prepared)
    }

    /// The partition in which a record that the broker refuses is searched, if it can be now.
    fn searched(&self) -> Option<i32> {
        self.setbacks.searched().filter(|partition| {
            let task = self.tasks.get(partition).filter(|task| task.running().is_some());
            task.is_some_and(|task| !task.collected.is_empty())
        })
    }

    /// How many records a batch may have.
    pub(super) fn records_max(&self) -> usize {
        let bound = self.route.batch.records_max;
        self.searched().map_or(bound, |_| self.setbacks.records_max(bound))
    }

    /// Decides at most `records_max` of a partition's records.
    fn prepare(
        &mut self,
        partition: i32,
        records_max: usize,
    ) -> Result<Option<Prepared>, StoreError> {
        let refused = self.setbacks.refused(partition);
        let Some(task) = self.tasks.get_mut(&partition) else { return Ok(None) };
        let incarnation = task.collected_for();
        let covered_to = task.covered_to();
        let super::task::TaskState::Running(open) = &mut task.state else { return Ok(None) };
        let records = task.collected.waiting(records_max);
        let all = records.len() == task.collected.len();
        let to_at_least = if all { covered_to } else { task.committed_next };
        if records.is_empty() && to_at_least <= task.committed_next {
            return Ok(None);
        }
        let Some(position) = &open.position else { return Ok(None) };
        let lookups = Lookups::of(&task.collected, &records, &open.progress.window);
        self.found.clear();
        open.store.look_up(&lookups.keys, &mut self.found)?;
        let conflict = self.route.policy.conflict;
        let corrections = lookups.corrections(&task.collected, &records, &self.found, conflict);
        let mut corrections_found = Vec::new();
        if !corrections.keys.is_empty() {
            open.store.look_up(&corrections.keys, &mut corrections_found)?;
        }
        let case = Case {
            collected: &task.collected,
            records,
            lookups: &lookups,
            found: &self.found,
            corrections: &corrections,
            corrections_found: &corrections_found,
            from: task.committed_next,
            incarnation,
            before: &open.progress,
            to_at_least,
            refused,
        };
        let part = decide_part(case, &self.route.policy);
        let entry = encode_part(&open.context, &part, position);
        Ok(Some(Prepared { partition, entry, part: Some(part) }))
    }

    fn run(&mut self, prepared: Vec<Prepared>) -> Result<(), WorkerExit> {
        let watch = self.broker.stopwatch();
        let Some((prepared, expected)) = self.in_force(prepared) else { return Ok(()) };
        let mut parcels = Vec::with_capacity(prepared.len());
        for item in &prepared {
            let Some(task) = self.tasks.get(&item.partition) else { continue };
            let Some(open) = task.open() else { continue };
            parcels.push(Parcel {
                partition: item.partition,
                entry: &item.entry,
                outputs: match &item.part {
                    Some(part) => Outputs::Decided(&task.collected, part),
                    None => Outputs::None,
                },
                clean_end: open.clean_end.clone(),
                quarantine_end: open.quarantine_end.clone(),
                journal_next: open.position.as_ref().map_or(0, |position| position.journal_next),
            });
        }
        let ended = transaction::run(
            &mut self.broker,
            &mut self.renderer,
            &parcels,
            &expected,
            &self.limits,
        );
        if ended.straggler_suspected {
            self.taint_producer();
        }
        self.stages.add(Stage::Produce, ended.produce_micros);
        self.stages.add(Stage::Commit, ended.commit_micros);
        let records = records_of(&prepared);
        match ended.end {
            End::Committed(acknowledged, delivered) => {
                self.settle(&prepared, &acknowledged, &delivered, watch.micros());
            }
            End::RecordRefused(error) => self.record_refused(&prepared, &error),
            End::Aborted(error) => self.aborted(records, &error),
            End::MembershipLost(error) => {
                self.not_committed(NotCommitted::Membership, records, &error);
                self.setbacks.aborted(self.broker.now_ms());
                self.restore_all();
            }
            End::OtherTopics(found) => {
                self.not_committed(NotCommitted::Topics, records, &"see the refusals");
                let partitions: Vec<i32> = self.tasks.keys().copied().collect();
                for partition in partitions {
                    self.refuse(partition, other_topics(&self.route, &expected, &found));
                }
            }
            End::TailLost(lost) => {
                self.not_committed(NotCommitted::Tail, records, &"see the refusal");
                self.setbacks.aborted(self.broker.now_ms());
                self.refuse(lost.partition, tail_lost(&self.route, &lost));
                self.send_again_when_verified();
            }
            End::Unknown(error) => {
                self.not_committed(NotCommitted::Unknown, records, &error);
                self.setbacks.aborted(self.broker.now_ms());
                self.leave_producer();
                self.tell(&WorkerEvent::Fenced(&error));
                self.setbacks.producer_died(&error.to_string())?;
            }
        }
        if self.tasks.values().all(|task| task.collected.is_empty()) {
            self.end_batch();
        }
        self.shed_memory();
        Ok(())
    }

    /// Partitions keep their memory for the next batch, as long as all of them together keep no more
    /// than a batch may have beyond what each needs for a small one.
    fn shed_memory(&mut self) {
        let spare: usize = self.tasks.values().map(|task| task.collected.spare_bytes()).sum();
        if spare > self.route.batch.bytes_max {
            self.tasks.values_mut().for_each(|task| task.collected.shed());
        }
    }

    /// No record is under way.
    fn end_batch(&mut self) {
        self.batch_since_ms = None;
        self.stages = StageMicros::default();
    }

    /// Leaves out what was collected for an incarnation that is no longer in force, and what is
    /// for other topics than the first; gives the topics that the rest is for.
    fn in_force(&mut self, prepared: Vec<Prepared>) -> Option<(Vec<Prepared>, TopicIds)> {
        let mut expected: Option<TopicIds> = None;
        let (mut kept, mut stale) = (Vec::with_capacity(prepared.len()), Vec::new());
        for item in prepared {
            let ids = self.tasks.get(&item.partition).and_then(|task| {
                let made_for = item.part.as_ref().map_or(task.incarnation, |p| p.incarnation);
                let context = &task.open()?.context;
                (made_for == task.incarnation).then(|| TopicIds {
                    raw: context.raw_topic_id.clone(),
                    journal: context.journal_topic_id.clone(),
                    raw_partitions: context.raw_partitions,
                })
            });
            match ids {
                Some(ids) if *expected.get_or_insert_with(|| ids.clone()) == ids => kept.push(item),
                _ => stale.push(item.partition),
            }
        }
        for partition in stale {
            self.restore(partition);
        }
        expected.filter(|_| !kept.is_empty()).map(|expected| (kept, expected))
    }

    /// With the receipts: one atomic write per store, then the watermarks.
    fn settle(
        &mut self,
        prepared: &[Prepared],
        acknowledged: &CommitAcknowledged,
        delivered: &Delivered,
        transaction_micros: u64,
    ) {
        let watch = self.broker.stopwatch();
        for item in prepared {
            if let Err(error) = self.settle_one(item, acknowledged, delivered) {
                self.give_up(
                    item.partition,
                    &format_args!("what is committed was not stored: {error}"),
                );
                match error {
                    Unsettled::NotReported => self.restore(item.partition),
                    Unsettled::Store(error) => self.restore_after(item.partition, &error),
                }
            }
        }
        let partitions: Vec<i32> = prepared.iter().map(|item| item.partition).collect();
        self.setbacks.committed(self.route.batch.records_max, &partitions);
        let counts: Vec<_> = (prepared.iter())
            .filter_map(|item| {
                item.part.as_ref().map(|p| (item.partition, &p.counts, &p.replay_counts))
            })
            .collect();
        let records = records_of(prepared);
        let mut stages = std::mem::take(&mut self.stages);
        stages.add(Stage::Apply, watch.micros());
        let batch = CommittedBatch { parts: &counts, records, transaction_micros, stages };
        self.tell(&WorkerEvent::Committed(batch));
        self.publish();
    }

    fn settle_one(
        &mut self,
        item: &Prepared,
        acknowledged: &CommitAcknowledged,
        delivered: &Delivered,
    ) -> Result<(), Unsettled> {
        let Some(task) = self.tasks.get_mut(&item.partition) else { return Ok(()) };
        let Some((first, last)) = delivered.ranges.get(&(Target::Journal, item.partition)) else {
            return Err(Unsettled::NotReported);
        };
        let receipt = Receipt::of_commit(acknowledged, &item.entry, (*first, last + 1));
        let changed = item.part.as_ref().map_or(&[][..], |part| &part.changed);
        let Some(open) = task.open_mut() else { return Ok(()) };
        open.store.apply(&receipt, changed)?;
        open.clean_end = end_after(&open.clean_end, delivered, Target::Clean, item.partition);
        open.quarantine_end =
            end_after(&open.quarantine_end, delivered, Target::Quarantine, item.partition);
        open.position = Some(receipt.into_position());
        if let Some(part) = &item.part {
            open.progress = part.after.clone();
            task.committed(part.records.len(), part.to);
        }
        Ok(())
    }

    fn record_refused(&mut self, prepared: &[Prepared], error: &DeliveryError) {
        let records = records_of(prepared);
        self.not_committed(NotCommitted::Record, records, error);
        let alone = (prepared.iter()).filter(|_| records == 1).find_map(|item| {
            let part = item.part.as_ref().filter(|part| !part.records.is_empty())?;
            let task = self.tasks.get(&item.partition)?;
            Some((item.partition, task.collected.offset(part.records.start)))
        });
        self.setbacks.record_refused(self.broker.now_ms(), error, records, alone);
        self.send_again_when_verified();
    }

    fn aborted(&mut self, records: usize, error: &TxnError) {
        self.not_committed(NotCommitted::Aborted, records, error);
        self.setbacks.aborted(self.broker.now_ms());
        self.setbacks.aborted_because(error.to_string());
        self.send_again_when_verified();
    }

    fn send_again_when_verified(&mut self) {
        let beginning: Vec<i32> = (self.tasks.values())
            .filter(|task| matches!(task.state, super::task::TaskState::Beginning(_)))
            .map(|task| task.partition)
            .collect();
        for partition in beginning {
            self.restore(partition);
        }
        self.verify_all();
        self.publish();
    }
}

/// Raw records of a batch.
fn records_of(prepared: &[Prepared]) -> usize {
    prepared.iter().filter_map(|item| item.part.as_ref()).map(|part| part.records.len()).sum()
}
