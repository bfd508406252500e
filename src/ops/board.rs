//! The board: what every worker last said of itself, and whether that makes the process ready.
//! Must not be in here: how it is served.

use crate::processor::observer::WorkerView;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Route and number of a worker.
pub type WorkerId = (String, usize);

/// Views of all workers of the process.
pub struct Board {
    views: Mutex<BTreeMap<WorkerId, WorkerView>>,
    workers: usize,
}

impl Board {
    /// A board for so many workers, none of which has said anything yet.
    pub fn new(workers: usize) -> Board {
        Board { views: Mutex::default(), workers }
    }

    /// Takes what a worker says.
    pub fn set(&self, worker: &WorkerId, view: WorkerView) {
        // Views are plain values, replaced whole.
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        views.insert(worker.clone(), view);
    }

    /// All views.
    pub fn views(&self) -> BTreeMap<WorkerId, WorkerView> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the process waits for; empty when it is ready. A worker that has joined and has no
    /// partitions is ready; one that has not joined is not.
    pub fn waits_for(&self) -> Vec<String> {
        let views = self.views();
        let mut waits = Vec::new();
        if views.len() < self.workers {
            waits.push(format!("{} of {} workers started", views.len(), self.workers));
        }
        for ((route, worker), view) in &views {
            if !view.producing {
                waits.push(format!("{route}/{worker}: transactional producer not initialised"));
            }
            if !view.joined {
                waits.push(format!("{route}/{worker}: not a member of the group yet"));
            }
            for partition in &view.partitions {
                if partition.state != "running" {
                    let number = partition.partition;
                    let why = (partition.refusal.as_ref())
                        .map_or(String::new(), |refusal| format!(" ({refusal})"));
                    waits.push(format!("{route} partition {number}: {}{why}", partition.state));
                }
            }
        }
        waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::observer::PartitionView;

    fn view(states: &[&'static str]) -> WorkerView {
        WorkerView {
            joined: true,
            producing: true,
            partitions: (states.iter())
                .map(|state| PartitionView {
                    partition: 0,
                    state,
                    committed_next: 0,
                    refusal: None,
                })
                .collect(),
        }
    }

    #[test]
    fn ready_means_joined_and_all_running() {
        let board = Board::new(1);
        let worker = ("lab".to_owned(), 0);
        assert_eq!(board.waits_for().len(), 1, "nothing was said yet");
        board.set(&worker, WorkerView { joined: false, ..view(&[]) });
        assert_eq!(board.waits_for().len(), 1, "all of no partitions is no yes");
        board.set(&worker, view(&[]));
        assert!(board.waits_for().is_empty(), "joined and idle is ready");
        board.set(&worker, view(&["running", "restoring"]));
        assert_eq!(board.waits_for().len(), 1);
        board.set(&worker, view(&["running", "running"]));
        assert!(board.waits_for().is_empty());
    }
}
