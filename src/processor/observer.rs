//! What a worker tells the outside about its work.
//! Must not be in here: anything that the worker's decisions depend on.

use super::event::WorkerEvent;
use super::refusal::Refusal;
use super::restore::JournalProgress;
use crate::gate::Counts;
use crate::named::named;

pub use crate::kafka::broker::{BrokerFigures, ClientFigures};
pub use crate::store::StoreSize;

/// What is seen of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionView {
    /// Raw partition.
    pub partition: i32,
    /// `restoring`, `beginning`, `running`, `verifying` or `refused`.
    pub state: &'static str,
    /// The source offset after the last committed batch; -1 while unknown.
    pub committed_next: i64,
    /// Why it is not served.
    pub refusal: Option<Refusal>,
    /// What its takeover waits for, once that takes long.
    pub waits_for: Option<String>,
    /// How far its store is brought level, while it is.
    pub restoring: Option<JournalProgress>,
}

/// What is seen of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerView {
    /// Whether its consumer is a member of the group.
    pub joined: bool,
    /// Whether its producer is initialised.
    pub producing: bool,
    /// What is in the way of all its work, if anything: transaction after transaction is aborted, or
    /// raw records cannot be read.
    pub hindered: Option<String>,
    /// Its partitions.
    pub partitions: Vec<PartitionView>,
}

/// What is measured of one partition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartitionFigures {
    /// Raw partition.
    pub partition: i32,
    /// The source offset after the last committed batch; -1 while unknown.
    pub committed_next: i64,
    /// Where the raw log ends.
    pub raw_end: Option<i64>,
    /// Timestamp of the oldest record under way, in milliseconds since 1970-01-01T00:00:00Z.
    pub oldest_ms: Option<i64>,
    /// Highest event time let through, in microseconds since 1970-01-01T00:00:00Z.
    pub clock_micros: Option<i64>,
    /// What is older may be forgotten, in microseconds likewise.
    pub horizon_micros: Option<i64>,
    /// Its store.
    pub store: Option<StoreSize>,
    /// What its journal counts since the beginning: decided the first time, and replays.
    pub totals: Option<(Counts, Counts)>,
}

/// What is measured of a worker.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Its partitions.
    pub partitions: Vec<PartitionFigures>,
    /// Its clients.
    pub client: ClientFigures,
}

named! {
    /// What a batch passes through.
    pub enum Stage {
        /// Waiting for its records, and copying them.
        Poll = "poll",
        /// Their keys and digests.
        Identity = "identity",
        /// The store's answers, and verdicts.
        Lookup = "lookup",
        /// Writing the outputs, until the brokers have them.
        Produce = "produce",
        /// Offsets, and the end of the transaction.
        Commit = "commit",
        /// Writing what was seen into the stores.
        Apply = "apply",
    }
}

/// How long a batch was in each stage, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageMicros([u64; Stage::ALL.len()]);

impl StageMicros {
    /// Adds to a stage.
    pub fn add(&mut self, stage: Stage, micros: u64) {
        self.0[stage as usize] += micros;
    }

    /// How long it was in a stage.
    pub fn of(&self, stage: Stage) -> u64 {
        self.0[stage as usize]
    }
}

/// A transaction that was committed.
#[derive(Clone, Copy, Debug)]
pub struct CommittedBatch<'a> {
    /// Per partition the counts of offsets never decided before, and of offsets decided again.
    pub parts: &'a [(i32, &'a Counts, &'a Counts)],
    /// Raw records.
    pub records: usize,
    /// From the verdicts to the broker's answer, in microseconds.
    pub transaction_micros: u64,
    /// Its stages.
    pub stages: StageMicros,
}

/// Receives what a worker tells.
pub trait Observer {
    /// Something happened. Its line was written.
    fn happened(&mut self, _event: &WorkerEvent<'_>) {}
    /// The view has changed.
    fn viewed(&mut self, view: WorkerView);
    /// Figures, about once a second.
    fn measured(&mut self, _figures: Figures) {}
}
