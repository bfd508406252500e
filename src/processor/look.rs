//! What the logs hold where a takeover knows their last records to be.
//! Must not be in here: what is concluded from it (`takeover`, `tails`).

use super::restore::Halt;
use super::route::Route;
use super::tails::{Beyond, Noted, Standing, Tail, noted_ends};
use crate::journal::{ChainHead, Position};
use crate::kafka::broker::TopicIds;
use crate::kafka::witnesses::{Committed, Log, Watermarks, WitnessError, Witnesses};

/// The logs of a partition, as they were asked for.
#[derive(Clone)]
pub(super) struct Logs {
    pub ids: TopicIds,
    pub raw: Watermarks,
    pub journal: Watermarks,
    pub clean: Watermarks,
    pub quarantine: Watermarks,
}

/// What the logs hold where their last known records were.
pub(super) struct Known {
    pub raw: Standing,
    /// The last part of the last entry.
    pub journal: Standing,
    /// Clean and quarantine.
    pub tails: [Tail; 2],
}

/// Looks whether the last record known of each log still stands, and what nobody noted behind it.
pub(super) fn look<W: Witnesses>(
    route: &Route,
    witnesses: &mut W,
    partition: i32,
    logs: &Logs,
    committed: Option<&Committed>,
    last: Option<&Position>,
) -> Result<Known, Halt> {
    let head = last.map_or(ChainHead::EMPTY, Position::head);
    let (clean, quarantine) = noted_ends(committed, &head).unzip();
    let mut tail = |log, topic: &str, topic_id: &str, noted: Option<Noted>, bounds| {
        let mut tail = Tail::new(log, (topic, topic_id), noted, bounds);
        if let Some(offset) = tail.last_noted() {
            tail.last = standing(log, partition, bounds, offset, witnesses)?;
        }
        look_beyond(&mut tail, partition, witnesses)?;
        Ok::<Tail, Halt>(tail)
    };
    let (clean_id, quarantine_id) = (&route.clean_topic_id, &route.quarantine_topic_id);
    let tails = [
        tail(Log::Clean, &route.clean_topic, clean_id, clean, logs.clean)?,
        tail(Log::Quarantine, &route.quarantine_topic, quarantine_id, quarantine, logs.quarantine)?,
    ];
    let mut stands = |log, bounds, offset: Option<i64>| match offset {
        Some(offset) => standing(log, partition, bounds, offset, witnesses),
        None => Ok(Standing::Unknown),
    };
    let raw = stands(Log::Raw, logs.raw, last.map(|last| last.header.last_raw_offset))?;
    let journal = stands(Log::Journal, logs.journal, last.map(|last| last.journal_next - 1))?;
    Ok(Known { raw, journal, tails })
}

/// Finds the first record of a gate behind what is accounted for.
fn look_beyond<W: Witnesses>(
    tail: &mut Tail,
    partition: i32,
    witnesses: &mut W,
) -> Result<(), Halt> {
    let Some(mut next) = tail.unnoted_from() else { return Ok(()) };
    let (log, high) = (tail.log, tail.bounds.high);
    while next < high && tail.beyond.is_none() {
        let before = next;
        let beyond = &mut tail.beyond;
        next = witnesses.read_routes(log, partition, next, high, &mut |offset, route| {
            if let (None, Some(route)) = (&beyond, route) {
                *beyond = Some(Beyond { offset, route: route.to_owned() });
            }
        })?;
        if next == before {
            return Err(Halt::Waits(format!(
                "{}/{partition}: nothing committed beyond offset {before} yet, its end is {high}; a transaction is pending, or hangs",
                tail.topic
            )));
        }
    }
    Ok(())
}

/// Looks what stands at an offset.
pub(super) fn standing<W: Witnesses>(
    log: Log,
    partition: i32,
    marks: Watermarks,
    offset: i64,
    witnesses: &mut W,
) -> Result<Standing, WitnessError> {
    if offset >= marks.high {
        return Ok(Standing::Gone);
    }
    if offset < marks.low.max(0) {
        return Ok(Standing::Unknown);
    }
    let hash = witnesses.record_hash(log, partition, offset)?;
    Ok(hash.map_or(Standing::Gone, Standing::Found))
}
