//! The board: what every worker last said of itself, and whether that makes the process ready.
//! Must not be in here: how it is served.

use super::lag::Arrivals;
use crate::processor::observer::{
    ClientFigures, Figures, PartitionFigures, PartitionView, WorkerView,
};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A worker tells its view every second. One that has not for so long stands in a call of the
/// client: brokers that do not answer, or a clock that was set back, by which the client waits.
const STANDS_AFTER: Duration = Duration::from_secs(15);

/// Route and number of a worker.
pub type WorkerId = (String, usize);

/// Views of all workers of the process, and what was measured of them.
pub struct Board {
    views: Mutex<BTreeMap<WorkerId, (WorkerView, Instant)>>,
    measured: Mutex<BTreeMap<WorkerId, Measured>>,
    /// Records in committed transactions, by route; they stay when a partition leaves.
    records: Mutex<BTreeMap<String, u64>>,
    /// Why no worker was started yet.
    held_up: Mutex<Option<String>>,
    workers: usize,
}

/// All that was heard, at one moment.
#[derive(Clone, Debug)]
pub struct Heard {
    /// What each worker last said, and how long ago.
    pub workers: Vec<(WorkerId, WorkerView, Duration)>,
    /// The partitions of all workers.
    pub partitions: Vec<Seen>,
    /// What the process waits for; empty when it is ready.
    pub waits_for: Vec<String>,
}

/// What was last measured of a worker.
#[derive(Default)]
struct Measured {
    figures: Figures,
    arrivals: BTreeMap<i32, Arrivals>,
}

/// A partition that is assigned to a worker of this process.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Route.
    pub route: String,
    /// Its state.
    pub view: PartitionView,
    /// What was measured of it; not yet where it was just assigned.
    pub figures: Option<PartitionFigures>,
    /// For how long this process has seen records that are not committed.
    pub waited: Duration,
}

impl Seen {
    /// The next offset to commit; `None` while unknown.
    pub fn committed_next(&self) -> Option<i64> {
        Some(self.view.committed_next).filter(|next| *next >= 0)
    }

    /// Where the raw partition ends. It is asked once a second, so that what is committed may be
    /// further; then it ends there at least.
    pub fn raw_end(&self) -> Option<i64> {
        let end = self.figures.as_ref()?.raw_end?;
        Some(self.committed_next().map_or(end, |next| end.max(next)))
    }

    /// Offsets that are not committed.
    pub fn lag_records(&self) -> Option<i64> {
        Some(self.raw_end()? - self.committed_next()?)
    }

    /// Age in seconds of the oldest record that is not committed, by its timestamp where it was
    /// read, else since this process has seen it; 0 where there is none.
    pub fn lag_seconds(&self, now_ms: i64) -> Option<f64> {
        let oldest_ms = self.figures.as_ref()?.oldest_ms;
        if oldest_ms.is_none() && self.lag_records()? == 0 {
            return Some(0.0);
        }
        let read = oldest_ms.map_or(0.0, |oldest_ms| (now_ms - oldest_ms).max(0) as f64 / 1000.0);
        Some(read.max(self.waited.as_secs_f64()))
    }
}

impl Board {
    /// A board for so many workers, none of which has said anything yet.
    pub fn new(workers: usize) -> Board {
        let (views, measured) = (Mutex::default(), Mutex::default());
        Board { views, measured, records: Mutex::default(), held_up: Mutex::default(), workers }
    }

    /// Says why no worker is started yet, or that nothing is in the way any more.
    pub fn hold_up(&self, why: Option<String>) {
        *self.held_up.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// Counts records of a committed transaction.
    pub fn count(&self, route: &str, records: u64) {
        // Numbers that only grow.
        let mut counts = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.get_mut(route) {
            Some(count) => *count += records,
            None => drop(counts.insert(route.to_owned(), records)),
        }
    }

    /// Records of a route in transactions that this process committed.
    pub fn records(&self, route: &str) -> u64 {
        let counts = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(route).copied().unwrap_or(0)
    }

    /// All that was heard.
    pub fn heard(&self) -> Heard {
        let (told, now) = (self.told(), Instant::now());
        let waits_for = self.waits(&told, now);
        let workers = (told.into_iter())
            .map(|(id, (view, told))| (id, view, now.saturating_duration_since(told)))
            .collect();
        Heard { workers, partitions: self.partitions(), waits_for }
    }

    /// Takes what a worker says.
    pub fn set(&self, worker: &WorkerId, view: WorkerView) {
        // Views are plain values, replaced whole.
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        views.insert(worker.clone(), (view, Instant::now()));
    }

    /// Takes what was measured of a worker.
    pub fn set_figures(&self, worker: &WorkerId, figures: Figures) {
        let now = Instant::now();
        // Replaced whole; arrivals of partitions that left go with them.
        let mut all = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        let measured = all.entry(worker.clone()).or_default();
        let mut before = std::mem::take(&mut measured.arrivals);
        for partition in &figures.partitions {
            let mut arrivals = before.remove(&partition.partition).unwrap_or_default();
            // Where nothing is known to be committed, nothing is known to wait.
            if let (Some(end), 0..) = (partition.raw_end, partition.committed_next) {
                arrivals.note(now, end, partition.committed_next);
            }
            measured.arrivals.insert(partition.partition, arrivals);
        }
        measured.figures = figures;
    }

    /// All partitions of this process, with what was measured of them.
    pub fn partitions(&self) -> Vec<Seen> {
        let (views, now) = (self.views(), Instant::now());
        let all = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        let mut partitions = Vec::new();
        for (worker, view) in views {
            let measured = all.get(&worker);
            for view in view.partitions {
                let number = view.partition;
                let figures = measured.and_then(|measured| {
                    measured.figures.partitions.iter().find(|of| of.partition == number).cloned()
                });
                let waited = measured.and_then(|measured| measured.arrivals.get(&number));
                let waited = waited.map_or(Duration::ZERO, |arrivals| arrivals.age(now));
                partitions.push(Seen { route: worker.0.clone(), view, figures, waited });
            }
        }
        partitions
    }

    /// What each worker's clients last said of themselves.
    pub fn clients(&self) -> Vec<(WorkerId, ClientFigures)> {
        let all = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(worker, of)| (worker.clone(), of.figures.client.clone())).collect()
    }

    /// All views.
    pub fn views(&self) -> BTreeMap<WorkerId, WorkerView> {
        self.told().into_iter().map(|(worker, (view, _))| (worker, view)).collect()
    }

    /// When each worker last said something.
    pub fn last_told(&self) -> Vec<(WorkerId, Instant)> {
        self.told().into_iter().map(|(worker, (_, told))| (worker, told)).collect()
    }

    fn told(&self) -> BTreeMap<WorkerId, (WorkerView, Instant)> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the process waits for; empty when it is ready. A worker that has joined and has no
    /// partitions is ready; one that has not joined is not.
    pub fn waits_for(&self) -> Vec<String> {
        self.waits(&self.told(), Instant::now())
    }

    fn waits(
        &self,
        views: &BTreeMap<WorkerId, (WorkerView, Instant)>,
        now: Instant,
    ) -> Vec<String> {
        let held_up = self.held_up.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut waits = Vec::from_iter(held_up);
        if views.len() < self.workers {
            waits.push(format!("{} of {} workers started", views.len(), self.workers));
        }
        for ((route, worker), (view, told)) in views {
            let age = now.saturating_duration_since(*told);
            if age > STANDS_AFTER {
                waits.push(format!("{route}/{worker}: has not moved for {} s", age.as_secs()));
            }
            if !view.producing {
                waits.push(format!("{route}/{worker}: transactional producer not initialised"));
            }
            if !view.joined {
                waits.push(format!("{route}/{worker}: not a member of the group yet"));
            }
            if let Some(why) = &view.hindered {
                waits.push(format!("{route}/{worker}: {why}"));
            }
            for partition in &view.partitions {
                if partition.state != "running" {
                    let number = partition.partition;
                    let why = match (&partition.refusal, &partition.waits_for) {
                        (Some(refusal), _) => format!(" ({refusal})"),
                        (None, Some(cause)) => format!(" (waits: {cause})"),
                        (None, None) => String::new(),
                    };
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
            hindered: None,
            partitions: (states.iter())
                .map(|state| PartitionView {
                    partition: 0,
                    state,
                    committed_next: 0,
                    refusal: None,
                    waits_for: None,
                    restoring: None,
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
        let later = Instant::now() + STANDS_AFTER * 2;
        assert!(board.waits(&board.told(), later)[0].contains("has not moved for 3"));
    }

    #[test]
    fn before_a_worker_starts_it_says_what_is_in_the_way() {
        let board = Board::new(1);
        board.hold_up(Some("the cluster cannot be reached".to_owned()));
        let waits = ["the cluster cannot be reached", "0 of 1 workers started"];
        assert_eq!(board.heard().waits_for, waits);
        board.hold_up(None);
        assert_eq!(board.waits_for(), waits[1..]);
    }
}
