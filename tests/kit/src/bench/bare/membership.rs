//! How the workers of the bare pipe share out the partitions: all join, none reads until each has
//! its share, and none may lose one after that. So no transaction ever meets a rebalance.
//! Must not be in here: a record.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, Rebalance};

use crate::error::{Doing, KitError, Result};
use crate::wait::wait_closely;

const SETTLE_TIMEOUT: Duration = Duration::from_secs(60);
/// How far apart the workers may begin.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What all workers know of their shares.
pub(super) struct Settling {
    partitions: usize,
    held: Vec<AtomicUsize>,
    begun: AtomicBool,
    disturbed: AtomicBool,
}

impl Settling {
    pub(super) fn new(workers: usize, partitions: usize) -> Settling {
        let held = (0..workers).map(|_| AtomicUsize::new(0)).collect();
        let (begun, disturbed) = (AtomicBool::new(false), AtomicBool::new(false));
        Settling { partitions, held, begun, disturbed }
    }

    /// Polls without records until every worker has its share, then lets the records come.
    pub(super) fn wait(&self, worker: usize, consumer: &BaseConsumer<Member>) -> Result<()> {
        wait_closely(SETTLE_TIMEOUT, LOOK_EVERY, "each worker has its partitions", || {
            if let Some(Ok(_)) = consumer.poll(Duration::ZERO) {
                return Ok(Err(KitError::new("a record came while its partition was paused")));
            }
            let assigned = consumer.assignment().map_err(|error| error.to_string())?;
            self.held[worker].store(assigned.count(), Ordering::SeqCst);
            if !self.is_settled() {
                return Err(format!("{:?} partitions", self.held));
            }
            self.begun.store(true, Ordering::SeqCst);
            Ok(consumer.resume(&assigned).doing(|| "cannot begin to read".to_owned()))
        })?
    }

    /// Fails once a partition has moved: what a worker then copies may be another's.
    pub(super) fn still_holds(&self) -> Result<()> {
        if self.disturbed.load(Ordering::SeqCst) {
            return Err(KitError::new("the group rebalanced while the pipe ran"));
        }
        Ok(())
    }

    fn is_settled(&self) -> bool {
        let held: Vec<usize> = self.held.iter().map(|h| h.load(Ordering::SeqCst)).collect();
        let least = self.partitions / held.len().max(1);
        held.iter().sum::<usize>() == self.partitions && held.iter().all(|held| *held >= least)
    }
}

/// A member of the group, paused on what it is given until all are settled.
pub(super) struct Member {
    settling: Arc<Settling>,
}

impl Member {
    pub(super) fn new(settling: &Arc<Settling>) -> Member {
        Member { settling: Arc::clone(settling) }
    }
}

impl ClientContext for Member {}

impl ConsumerContext for Member {
    fn post_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if self.settling.begun.load(Ordering::SeqCst) {
            let moved = match rebalance {
                Rebalance::Assign(list) | Rebalance::Revoke(list) => list.count() > 0,
                Rebalance::Error(_) => true,
            };
            self.settling.disturbed.fetch_or(moved, Ordering::SeqCst);
        }
        if let Rebalance::Assign(list) = rebalance
            && consumer.pause(list).is_err()
        {
            self.settling.disturbed.store(true, Ordering::SeqCst);
        }
    }
}
