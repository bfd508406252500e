//! What went wrong lately, and how much that slows a worker down.
//! Must not be in here: the cluster, tasks, or a decision about a single record's verdict.

use super::worker::WorkerExit;
use crate::gate::{Reason, Refused};
use crate::kafka::broker::DeliveryCause;

/// First pause after a transaction that was not committed.
const BACKOFF_MS_MIN: u64 = 100;
/// Longest pause.
const BACKOFF_MS_MAX: u64 = 10_000;
/// Producers that may die in a row before the worker gives up.
const PRODUCERS_DEAD_MAX: u32 = 5;
/// Refusals of a batch before it is halved: the first may be the cluster's and pass.
const REFUSALS_BEFORE_HALVING: u32 = 2;

/// What went wrong since the last commit.
#[derive(Debug, Default)]
pub struct Setbacks {
    backoff_until_ms: u64,
    aborts_in_row: u32,
    producers_dead_in_row: u32,
    refusals: u32,
    /// A batch is bounded so, while a record that the broker refuses is searched.
    records_max: Option<usize>,
    /// The record that was found.
    refused: Option<(i32, Refused)>,
}

impl Setbacks {
    /// Whether nothing should be sent yet.
    pub fn backing_off(&self, now_ms: u64) -> bool {
        now_ms < self.backoff_until_ms
    }

    /// How many records a batch may have.
    pub fn records_max(&self, bound: usize) -> usize {
        self.records_max.map_or(bound, |records_max| records_max.min(bound))
    }

    /// The record of this partition that has to be quarantined because the broker refuses it.
    pub fn refused(&self, partition: i32) -> Option<Refused> {
        self.refused.filter(|(of, _)| *of == partition).map(|(_, refused)| refused)
    }

    /// A transaction was aborted.
    pub fn aborted(&mut self, now_ms: u64) {
        let pause_ms = BACKOFF_MS_MIN << self.aborts_in_row.min(7);
        self.aborts_in_row += 1;
        self.backoff_until_ms = now_ms + pause_ms.min(BACKOFF_MS_MAX);
    }

    /// A producer died with an unknown outcome.
    ///
    /// # Errors
    /// [`WorkerExit::ProducersDied`] after several in a row.
    pub fn producer_died(&mut self, why: &str) -> Result<(), WorkerExit> {
        self.producers_dead_in_row += 1;
        if self.producers_dead_in_row >= PRODUCERS_DEAD_MAX {
            return Err(WorkerExit::ProducersDied(self.producers_dead_in_row, why.to_owned()));
        }
        Ok(())
    }

    /// The broker refused a record of a batch; `alone` is partition and offset where the batch
    /// had but one record.
    pub fn record_refused(
        &mut self,
        now_ms: u64,
        cause: DeliveryCause,
        records: usize,
        alone: Option<(i32, i64)>,
    ) {
        // No reason to wait longer each time: the search ends after some halvings.
        self.backoff_until_ms = now_ms + BACKOFF_MS_MIN;
        self.refusals += 1;
        match (alone, self.refusals >= REFUSALS_BEFORE_HALVING) {
            (_, false) => {}
            (None, true) => self.records_max = Some((records / 2).max(1)),
            (Some((partition, offset)), true) => {
                let again = self.refused(partition).is_some_and(|refused| refused.offset == offset);
                let reason = match cause {
                    DeliveryCause::TooLarge => Reason::TooLarge,
                    DeliveryCause::Timestamp => Reason::RecordTimestamp,
                    DeliveryCause::Invalid | DeliveryCause::Other => Reason::Refused,
                };
                self.refused = Some((partition, Refused { offset, reason, cut: again }));
            }
        }
    }

    /// A transaction was committed: the bound is lifted step by step.
    pub fn committed(&mut self, bound: usize) {
        let records_max = self.records_max.map(|records_max| records_max.saturating_mul(2));
        *self = Setbacks {
            records_max: records_max.filter(|records_max| *records_max < bound),
            ..Setbacks::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_record_is_found_by_halving() {
        let mut setbacks = Setbacks::default();
        let refuse = |setbacks: &mut Setbacks, records, alone| {
            setbacks.record_refused(0, DeliveryCause::TooLarge, records, alone);
        };
        refuse(&mut setbacks, 8, None);
        assert_eq!(setbacks.records_max(8), 8, "the first refusal may pass");
        refuse(&mut setbacks, 8, None);
        assert_eq!(setbacks.records_max(8), 4);
        refuse(&mut setbacks, 2, None);
        assert_eq!(setbacks.records_max(8), 1);
        assert_eq!(setbacks.refused(3), None);
        refuse(&mut setbacks, 1, Some((3, 70)));
        let refused = Refused { offset: 70, reason: Reason::TooLarge, cut: false };
        assert_eq!(setbacks.refused(3), Some(refused));
        assert_eq!(setbacks.refused(2), None);
        refuse(&mut setbacks, 1, Some((3, 70)));
        assert_eq!(setbacks.refused(3), Some(Refused { cut: true, ..refused }));
        setbacks.committed(8);
        assert_eq!(setbacks.refused(3), None);
        assert_eq!(setbacks.records_max(8), 2);
        setbacks.committed(8);
        setbacks.committed(8);
        assert_eq!(setbacks.records_max(8), 8);
    }

    #[test]
    fn producers_that_die_in_a_row_end_the_worker() {
        let mut setbacks = Setbacks::default();
        for _ in 1..PRODUCERS_DEAD_MAX {
            assert_eq!(setbacks.producer_died("fenced"), Ok(()));
        }
        assert!(setbacks.producer_died("fenced").is_err());
        setbacks.committed(1);
        assert_eq!(setbacks.producer_died("fenced"), Ok(()));
    }

    #[test]
    fn pauses_grow_and_are_bounded() {
        let mut setbacks = Setbacks::default();
        setbacks.aborted(0);
        assert!(setbacks.backing_off(BACKOFF_MS_MIN - 1));
        assert!(!setbacks.backing_off(BACKOFF_MS_MIN));
        (0..50).for_each(|_| setbacks.aborted(0));
        assert!(!setbacks.backing_off(BACKOFF_MS_MAX));
    }
}
