//! What went wrong lately, and how much that slows a worker down.
//! Must not be in here: the cluster, tasks, or a decision about a single record's verdict.

use super::worker::WorkerExit;
use crate::gate::{Reason, Refused, Target};
use crate::kafka::broker::{DeliveryCause, DeliveryError};

/// First pause after a transaction that was not committed.
const BACKOFF_MS_MIN: u64 = 100;
/// Longest pause.
const BACKOFF_MS_MAX: u64 = 10_000;
/// Producers that may die in a row before the worker gives up.
const PRODUCERS_DEAD_MAX: u32 = 5;
/// Aborts in a row after which something is in the way.
const ABORTS_HINDER: u32 = 3;
/// Refusals of a batch before it is halved: the first may be the cluster's and pass.
const REFUSALS_BEFORE_HALVING: u32 = 2;

/// What went wrong since the last commit.
#[derive(Debug, Default)]
pub struct Setbacks {
    backoff_until_ms: u64,
    aborts_in_row: u32,
    /// Why the last transaction was aborted, where that was said.
    last_abort: Option<String>,
    producers_dead_in_row: u32,
    refusals: u32,
    /// Where a record that the broker refuses is searched.
    search: Option<Search>,
    /// The record that was found.
    refused: Option<(i32, Refused)>,
}

/// The search for a record that the broker refuses: in batches of one partition alone, since a
/// batch of another that is committed tells nothing.
#[derive(Clone, Copy, Debug)]
struct Search {
    partition: i32,
    records_max: usize,
}

impl Search {
    /// With twice as large batches; `None` once they are as large as any.
    fn lifted(self, bound: usize) -> Option<Search> {
        let records_max = self.records_max.saturating_mul(2);
        (records_max < bound).then_some(Search { records_max, ..self })
    }
}

impl Setbacks {
    /// Whether nothing should be sent yet.
    pub fn backing_off(&self, now_ms: u64) -> bool {
        now_ms < self.backoff_until_ms
    }

    /// How many records a batch may have.
    pub fn records_max(&self, bound: usize) -> usize {
        self.search.map_or(bound, |search| search.records_max.min(bound))
    }

    /// The partition in which a record that the broker refuses is searched.
    pub fn searched(&self) -> Option<i32> {
        self.search.map(|search| search.partition)
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

    /// Why, for those who ask what is in the way.
    pub fn aborted_because(&mut self, why: String) {
        self.last_abort = Some(why);
    }

    /// What is in the way where transaction after transaction is aborted.
    pub fn hindered(&self) -> Option<String> {
        self.last_abort.clone().filter(|_| self.aborts_in_row >= ABORTS_HINDER)
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
        error: &DeliveryError,
        records: usize,
        alone: Option<(i32, i64)>,
    ) {
        if alone.is_some() && error.target == Target::Journal {
            // Not the record's fault, and no smaller entry can be made.
            self.aborted(now_ms);
            return self.aborted_because(error.to_string());
        }
        // No reason to wait longer each time: the search ends after some halvings.
        self.backoff_until_ms = now_ms + BACKOFF_MS_MIN;
        self.refusals += 1;
        match (alone, self.refusals >= REFUSALS_BEFORE_HALVING) {
            (_, false) => {
                let records_max = records.max(1);
                self.search = Some(Search { partition: error.partition, records_max });
            }
            (None, true) => {
                let records_max = (records / 2).max(1);
                self.search = Some(Search { partition: error.partition, records_max });
            }
            (Some((partition, offset)), true) => {
                let again = self.refused(partition).is_some_and(|refused| refused.offset == offset);
                let reason = match error.cause {
                    DeliveryCause::TooLarge => Reason::TooLarge,
                    DeliveryCause::Timestamp => Reason::RecordTimestamp,
                    DeliveryCause::Invalid | DeliveryCause::Other => Reason::Refused,
                };
                self.refused = Some((partition, Refused { offset, reason, cut: again }));
            }
        }
    }

    /// A transaction over these partitions was committed: where a record is searched in one of
    /// them, the bound is lifted step by step.
    pub fn committed(&mut self, bound: usize, partitions: &[i32]) {
        *self = match self.search {
            Some(search) if !partitions.contains(&search.partition) => Setbacks {
                search: self.search,
                refused: self.refused,
                refusals: self.refusals,
                ..Setbacks::default()
            },
            search => {
                Setbacks { search: search.and_then(|of| of.lifted(bound)), ..Setbacks::default() }
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_record_is_found_by_halving() {
        let mut setbacks = Setbacks::default();
        refuse(&mut setbacks, 8, None);
        assert_eq!(setbacks.records_max(8), 8, "the first refusal may pass");
        assert_eq!(setbacks.searched(), Some(3));
        refuse(&mut setbacks, 8, None);
        assert_eq!((setbacks.records_max(8), setbacks.searched()), (4, Some(3)));
        refuse(&mut setbacks, 2, None);
        assert_eq!(setbacks.records_max(8), 1);
        assert_eq!(setbacks.refused(3), None);
        refuse(&mut setbacks, 1, Some((3, 70)));
        let refused = Refused { offset: 70, reason: Reason::TooLarge, cut: false };
        assert_eq!(setbacks.refused(3), Some(refused));
        assert_eq!(setbacks.refused(2), None);
        refuse(&mut setbacks, 1, Some((3, 70)));
        assert_eq!(setbacks.refused(3), Some(Refused { cut: true, ..refused }));
        setbacks.committed(8, &[2]);
        assert_eq!(setbacks.refused(3), Some(Refused { cut: true, ..refused }), "of another");
        assert_eq!((setbacks.records_max(8), setbacks.searched()), (1, Some(3)));
        setbacks.committed(8, &[3]);
        assert_eq!(setbacks.refused(3), None);
        assert_eq!(setbacks.records_max(8), 2);
        setbacks.committed(8, &[3]);
        setbacks.committed(8, &[3]);
        assert_eq!((setbacks.records_max(8), setbacks.searched()), (8, None));
    }

    fn refuse(setbacks: &mut Setbacks, records: usize, alone: Option<(i32, i64)>) {
        setbacks.record_refused(0, &refusal(Target::Clean), records, alone);
    }

    fn refusal(target: Target) -> DeliveryError {
        let cause = DeliveryCause::TooLarge;
        DeliveryError { target, partition: 3, cause, message: "too large".into() }
    }

    #[test]
    fn a_journal_that_takes_nothing_is_no_fault_of_a_record() {
        let mut setbacks = Setbacks::default();
        for _ in 0..=ABORTS_HINDER {
            setbacks.record_refused(0, &refusal(Target::Journal), 1, Some((3, 70)));
        }
        assert_eq!(setbacks.refused(3), None);
        assert!(setbacks.hindered().is_some_and(|why| why.contains("too large")));
    }

    #[test]
    fn producers_that_die_in_a_row_end_the_worker() {
        let mut setbacks = Setbacks::default();
        for _ in 1..PRODUCERS_DEAD_MAX {
            assert_eq!(setbacks.producer_died("fenced"), Ok(()));
        }
        assert!(setbacks.producer_died("fenced").is_err());
        setbacks.committed(1, &[]);
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

    #[test]
    fn aborts_in_a_row_are_told_until_one_is_committed() {
        let mut setbacks = Setbacks::default();
        for nth in 1..=ABORTS_HINDER {
            assert_eq!(setbacks.hindered(), None, "{nth}");
            setbacks.aborted(0);
            setbacks.aborted_because("no right to write".into());
        }
        assert_eq!(setbacks.hindered().as_deref(), Some("no right to write"));
        setbacks.committed(1, &[]);
        assert_eq!(setbacks.hindered(), None);
    }
}
