//! What a worker tells the outside about its work.
//! Must not be in here: anything that the worker's decisions depend on.

use super::refusal::Refusal;
use crate::gate::Counts;

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
}

/// What is seen of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerView {
    /// Whether its consumer is a member of the group.
    pub joined: bool,
    /// Whether its producer is initialised.
    pub producing: bool,
    /// Its partitions.
    pub partitions: Vec<PartitionView>,
}

/// Receives what a worker tells.
pub trait Observer {
    /// A transaction was committed; per partition the counts of offsets never decided before and
    /// of offsets decided again.
    fn committed(&mut self, parts: &[(i32, &Counts, &Counts)], milliseconds: u64);
    /// A transaction was not committed, for the stated cause.
    fn not_committed(&mut self, cause: &'static str);
    /// The view has changed.
    fn viewed(&mut self, view: WorkerView);
}
