//! What a worker tells the outside about its work.
//! Must not be in here: anything that the worker's decisions depend on.

use super::refusal::Refusal;
use super::restore::JournalProgress;
use crate::gate::Counts;
use crate::named::named;

named! {
    /// How a transaction ended that was not committed.
    pub enum NotCommitted {
        /// Aborted; what it held is sent again.
        Aborted = "aborted",
        /// It could not begin: the producer was not initialised.
        Init = "init",
        /// Aborted, since the consumer is no longer a member.
        Membership = "membership",
        /// Aborted, since the broker refused a record.
        Record = "record",
        /// Aborted, since a log lost its tail.
        Tail = "tail",
        /// Aborted, since a topic is another than before.
        Topics = "topics",
        /// Nobody knows.
        Unknown = "unknown",
    }
}

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

/// Receives what a worker tells.
pub trait Observer {
    /// A transaction was committed; per partition the counts of offsets never decided before and
    /// of offsets decided again.
    fn committed(&mut self, parts: &[(i32, &Counts, &Counts)], milliseconds: u64);
    /// A transaction was not committed.
    fn not_committed(&mut self, how: NotCommitted);
    /// The view has changed.
    fn viewed(&mut self, view: WorkerView);
}
