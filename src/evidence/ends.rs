//! The ends to which a partition's logs are read, captured so that they belong together although
//! the gate may go on writing.
//!
//! Every clean or quarantine record below the stable end that was asked for first has its journal
//! entry below the journal's end that is asked for after; and once the journal is stable up to
//! that end, every output of its entries lies below the ends that are asked for last. So an output
//! below the first end must have an entry, and an entry must have its outputs; what lies between
//! the two ends and has no entry is newer than the capture.
//! Must not be in here: reading records.

use super::cursor::{EvidenceError, Source};
use super::route::RouteUnderProof;
use crate::kafka::logs::LogBounds;
use crate::kafka::witnesses::Committed;
use std::time::{Duration, Instant};

/// Between two looks whether the journal is stable.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Where an output's partition is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputEnds {
    /// First offset.
    pub low: i64,
    /// Records below must have an entry.
    pub judged: i64,
    /// Where reading ends.
    pub until: i64,
}

/// The captured ends of one partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// What the group had committed.
    pub committed: Option<Committed>,
    /// First offset of the journal, and where reading it ends.
    pub journal: (i64, i64),
    /// Clean.
    pub clean: OutputEnds,
    /// Quarantine.
    pub quarantine: OutputEnds,
    /// Raw.
    pub raw: LogBounds,
}

impl Ends {
    /// Captures them.
    ///
    /// # Errors
    /// [`EvidenceError`], also where a transaction stays open on the journal for too long.
    pub fn capture(
        source: &mut Source<'_>,
        route: &RouteUnderProof,
        partition: i32,
    ) -> Result<Ends, EvidenceError> {
        let committed = source.ask(
            || format!("committed offset of group {} on {}/{partition}", route.group, route.raw),
            |logs| logs.committed(&route.raw, partition),
        )?;
        let clean = bounds(source, &route.clean, partition)?;
        let quarantine = bounds(source, &route.quarantine, partition)?;
        let journal = bounds(source, &route.journal, partition)?;
        wait_stable(source, &route.journal, partition, journal)?;
        let output = |first: LogBounds, last: LogBounds| OutputEnds {
            low: last.low,
            judged: first.stable,
            until: last.high,
        };
        Ok(Ends {
            committed,
            journal: (journal.low, journal.high),
            clean: output(clean, bounds(source, &route.clean, partition)?),
            quarantine: output(quarantine, bounds(source, &route.quarantine, partition)?),
            raw: bounds(source, &route.raw, partition)?,
        })
    }
}

/// The id that a topic has now, where the cluster tells it.
///
/// # Errors
/// [`EvidenceError`].
pub fn topic_id(source: &mut Source<'_>, topic: &str) -> Result<Option<String>, EvidenceError> {
    source.ask(|| format!("id of {topic}"), |logs| logs.topic_id(topic))
}

/// Where a partition begins and ends now.
///
/// # Errors
/// [`EvidenceError`].
pub fn bounds(
    source: &mut Source<'_>,
    topic: &str,
    partition: i32,
) -> Result<LogBounds, EvidenceError> {
    source.ask(
        || format!("begin and end of {topic}/{partition}"),
        |logs| logs.bounds(topic, partition),
    )
}

/// Waits until every transaction below the journal's captured end has ended.
fn wait_stable(
    source: &mut Source<'_>,
    topic: &str,
    partition: i32,
    captured: LogBounds,
) -> Result<(), EvidenceError> {
    let (mut seen, began) = (captured, Instant::now());
    while seen.stable < captured.high {
        if began.elapsed() >= source.timeout() {
            return Err(EvidenceError::Stalled {
                topic: topic.to_owned(),
                partition,
                at: seen.stable,
                until: captured.high,
                waited_s: began.elapsed().as_secs(),
                trouble: String::new(),
            });
        }
        std::thread::sleep(LOOK_AGAIN);
        seen = bounds(source, topic, partition)?;
    }
    Ok(())
}
