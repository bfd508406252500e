//! What a route did over the last minutes: records per second and lag, every few seconds.
//! Must not be in here: a clock, or what reads the counters.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Between two samples.
pub const SAMPLE_EVERY_SECONDS: u64 = 5;
/// How long samples are kept.
pub const KEEP_SECONDS: u64 = 600;
/// Where the clock jumps or samples come too often, memory still has a bound.
const SAMPLES_MAX: usize = (KEEP_SECONDS / SAMPLE_EVERY_SECONDS) as usize + 1;

/// A route at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When it was taken, in seconds since 1970.
    pub at: u64,
    /// Records decided in committed transactions, per second since the sample before.
    pub records_per_second: f64,
    /// Records that are not committed yet, over the partitions whose ends are known.
    pub lag_records: Option<i64>,
}

/// What is read of a route at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The clock of the machine, in seconds since 1970; it may be set back.
    pub at: u64,
    /// Milliseconds since the start of the process, by a clock that nobody sets.
    pub elapsed_ms: u64,
    /// Records decided in committed transactions since the start of the process.
    pub records: u64,
    /// As in a sample.
    pub lag_records: Option<i64>,
}

/// The samples of one route.
#[derive(Clone, Debug, Default)]
pub struct History {
    last: Option<Reading>,
    samples: VecDeque<Sample>,
}

impl History {
    /// Takes a reading; the first one only begins the count.
    pub fn take(&mut self, reading: Reading) {
        let before = self.last.replace(reading);
        let Some(before) = before.filter(|before| before.elapsed_ms < reading.elapsed_ms) else {
            return;
        };
        let records = reading.records.saturating_sub(before.records);
        let seconds = (reading.elapsed_ms - before.elapsed_ms) as f64 / 1000.0;
        let rate = (records as f64 / seconds * 10.0).round() / 10.0;
        let lag_records = reading.lag_records;
        self.samples.push_back(Sample { at: reading.at, records_per_second: rate, lag_records });
        let is_kept = |sample: &Sample| {
            sample.at <= reading.at && reading.at.saturating_sub(sample.at) <= KEEP_SECONDS
        };
        self.samples.retain(is_kept);
        while self.samples.len() > SAMPLES_MAX {
            self.samples.pop_front();
        }
    }

    /// The samples, oldest first.
    pub fn samples(&self) -> Vec<Sample> {
        self.samples.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(second: u64, records: u64) -> Reading {
        Reading { at: 1_000 + second, elapsed_ms: second * 1000, records, lag_records: Some(3) }
    }

    #[test]
    fn a_rate_is_what_came_since_the_sample_before() {
        let mut history = History::default();
        history.take(reading(0, 700));
        assert!(history.samples().is_empty(), "one reading is no rate");
        history.take(reading(5, 1_200));
        history.take(reading(15, 1_201));
        let rates: Vec<f64> = history.samples().iter().map(|s| s.records_per_second).collect();
        assert_eq!(rates, [100.0, 0.1]);
        history.take(reading(15, 9_000));
        assert_eq!(history.samples().len(), 2, "nothing is divided by no time");
    }

    #[test]
    fn ten_minutes_are_kept() {
        let mut history = History::default();
        (0..1_000).for_each(|nth| history.take(reading(nth * SAMPLE_EVERY_SECONDS, nth)));
        let samples = history.samples();
        assert_eq!(samples.len(), 121);
        assert_eq!(samples[120].at - samples[0].at, KEEP_SECONDS);
        history.take(reading(1_000_000, 0));
        assert_eq!(history.samples().len(), 1, "the machine slept");
    }

    #[test]
    fn a_clock_that_is_set_back_leaves_no_samples_of_the_future() {
        let mut history = History::default();
        history.take(reading(0, 0));
        history.take(reading(5, 0));
        history.take(Reading { at: 900, ..reading(10, 50) });
        let samples = history.samples();
        assert_eq!(samples.iter().map(|sample| sample.at).collect::<Vec<_>>(), [900]);
        assert_eq!(samples[0].records_per_second, 10.0);
    }

    #[test]
    fn memory_has_a_bound_whatever_the_clock_does() {
        let mut history = History::default();
        for nth in 0..10_000 {
            history.take(Reading { at: 1_000, elapsed_ms: nth, records: 0, lag_records: None });
        }
        assert_eq!(history.samples().len(), SAMPLES_MAX);
    }
}
