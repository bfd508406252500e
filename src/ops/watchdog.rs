//! Whether a worker still moves. Some calls of the Kafka client have been seen not to come back
//! although they were given a time: `rd_kafka_send_offsets_to_transaction`, while the group's
//! coordinator died. Nothing of the process can end such a call but its end.
//! Must not be in here: the process's end, or a clock: one that was stopped for a while has not
//! been standing.

use super::board::{Board, WorkerId};
use std::collections::BTreeMap;
use std::time::Instant;

/// Counts looks at which a worker had told nothing new.
#[derive(Default)]
pub struct Watchdog {
    seen: BTreeMap<WorkerId, (Instant, u64)>,
}

impl Watchdog {
    /// Looks once; `looks_max` says for a route how many looks in a row may show no change. Gives
    /// a worker that has shown none for longer.
    pub fn look(&mut self, board: &Board, looks_max: impl Fn(&str) -> u64) -> Option<WorkerId> {
        for (worker, told) in board.last_told() {
            let looks = match self.seen.get(&worker) {
                Some((then, looks)) if *then == told => looks + 1,
                _ => 0,
            };
            self.seen.insert(worker.clone(), (told, looks));
            if looks > looks_max(&worker.0) {
                return Some(worker);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::observer::WorkerView;

    #[test]
    fn only_a_worker_that_tells_nothing_for_long_stands() {
        let (board, mut watchdog) = (Board::new(2), Watchdog::default());
        let workers = [("lab".to_owned(), 0), ("lab".to_owned(), 1)];
        let tell = |nth: usize| board.set(&workers[nth], WorkerView::default());
        (0..2).for_each(tell);
        for _ in 0..4 {
            assert_eq!(watchdog.look(&board, |_| 3), None);
            tell(0);
        }
        assert_eq!(watchdog.look(&board, |_| 3).as_ref(), Some(&workers[1]));
        tell(1);
        assert_eq!(watchdog.look(&board, |_| 3), None, "it moves again");
    }
}
