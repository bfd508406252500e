//! The cases of `make bench-peers`: the usual one, and those that differ from it in one thing.
//! Must not be in here: how a case is run.

use std::fmt::Write;

use crate::bench::load::Load;
use crate::bench::report::{Summary, verdict};

/// Workers or threads in the usual case.
const WORKERS: usize = 2;
const AGAIN_SHARE: f64 = 0.1;
/// What a laboratory result has by itself.
const USUAL_BYTES: usize = 390;
/// Large records are fewer, so that a topic of them does not fill the disk, but not fewer than it
/// takes to measure.
const LARGE_RECORDS_MIN: usize = 200_000;
/// Nine in ten is the most that the generator repeats.
const DUPLICATES_PERCENT_MAX: u32 = 90;

/// One case.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// What it is, for tables.
    pub label: String,
    /// What the raw topic holds.
    pub load: Load,
    /// Workers of the bare pipe and of oncegate, threads of Kafka Streams.
    pub workers: usize,
}

/// In what the cases differ.
#[derive(Clone, Copy)]
pub struct Axes<'a> {
    /// By number of workers.
    pub workers: &'a [usize],
    /// By bytes of a record.
    pub bytes: &'a [usize],
    /// By duplicates in a hundred.
    pub duplicates_percent: &'a [u32],
}

/// The usual case first, then one for each value of each axis.
pub fn of(records: usize, axes: Axes<'_>) -> Vec<Case> {
    let usual = Case {
        label: format!("usual: {WORKERS} workers, {USUAL_BYTES} bytes, 10 % duplicates"),
        load: Load { records, again_share: AGAIN_SHARE, bytes: None },
        workers: WORKERS,
    };
    let mut cases = vec![usual.clone()];
    for workers in axes.workers {
        cases.push(Case {
            label: format!("workers: {workers}"),
            workers: *workers,
            ..usual.clone()
        });
    }
    for bytes in axes.bytes {
        let as_many_bytes = records * USUAL_BYTES / (*bytes).max(1);
        let records = records.min(as_many_bytes.max(LARGE_RECORDS_MIN));
        let load = Load { records, bytes: Some(*bytes), ..usual.load };
        cases.push(Case { label: format!("bytes: {bytes}"), load, ..usual.clone() });
    }
    for percent in axes.duplicates_percent {
        let percent = *percent.min(&DUPLICATES_PERCENT_MAX);
        let load = Load { again_share: f64::from(percent) / 100.0, ..usual.load };
        cases.push(Case { label: format!("duplicates: {percent} %"), load, ..usual.clone() });
    }
    cases
}

/// A line a case.
pub fn table(done: &[(&Case, Vec<Summary>)]) -> String {
    done.iter().fold(String::new(), |mut text, (case, summaries)| {
        // Writing to a `String` does not fail.
        let _ = writeln!(text, "{}: {}", case.label, verdict(summaries));
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_case_comes_first_and_each_other_differs_in_one_thing() {
        let axes = Axes { workers: &[1], bytes: &[200, 6_000], duplicates_percent: &[90] };
        let cases = of(1_000_000, axes);
        assert_eq!(cases.len(), 5);
        assert_eq!((cases[1].workers, cases[1].load), (1, cases[0].load));
        assert_eq!(cases[2].load.records, 1_000_000);
        assert_eq!(cases[3].load.records, 200_000);
        assert_eq!(cases[4].load.again_share, 0.9);
    }
}
