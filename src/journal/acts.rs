//! The entries of acts: a person lets one quarantined late event through, goes on behind records
//! that nobody decided, or goes on although the logs contradict each other.
//! Must not be in here: whether that may be done.

use super::entry::{
    EncodedEntry, EntryContext, begin_header, context_header, counts_of, encode, pb_counts,
};
use super::packed::{Rows, pack_firsts};
use super::{ChainHead, Position, pb};
use crate::gate::{Counts, FirstSighting};

/// The entry by which a person lets one quarantined late event through, after the entry that
/// `last` describes: an empty range at the current position, and the event's sighting, which a
/// store never forgets. Neither clock nor horizon moves.
///
/// `event` is the quarantined delivery: its key and own time, content digest, raw offset and item.
pub fn encode_admit(
    context: &EntryContext,
    last: &Position,
    event: &FirstSighting,
    (by, reason): (&str, &str),
) -> EncodedEntry {
    let admitted = Counts { admitted: 1, ..Counts::default() };
    let mut total = counts_of(last.header.total_counts.as_ref());
    total.merge(&admitted);
    let header = pb::EntryHeader {
        kind: pb::EntryKind::Admit.into(),
        from: last.header.to,
        counts: Some(pb_counts(&admitted)),
        replay_counts: Some(pb::Counts::default()),
        total_counts: Some(pb_counts(&total)),
        clock_micros_before: last.header.clock_micros,
        horizon_micros_before: last.header.horizon_micros,
        act: Some(pb::Act {
            by: by.to_owned(),
            reason: reason.to_owned(),
            offset: event.offset,
            item: event.item,
            ..pb::Act::default()
        }),
        ..followed_by(context, last)
    };
    let rows = Rows { firsts: pack_firsts(&[*event], event.offset), ..Rows::default() };
    encode(last.number + 1, last.hash, header, rows)
}

/// The entry by which a person goes on at `to`, after the entry that `last` describes: the range
/// between stays undecided. `kind` is [`pb::EntryKind::Skip`] or [`pb::EntryKind::Gap`]. Neither
/// clock nor horizon moves, nothing is counted.
pub fn encode_undecided(
    context: &EntryContext,
    last: &Position,
    kind: pb::EntryKind,
    to: i64,
    (by, reason): (&str, &str),
) -> EncodedEntry {
    let from = last.header.to;
    let mut skipped = last.header.skipped.clone();
    // What an earlier pass decided stays decided.
    let undecided = pb::OffsetRange { from: from.max(last.header.decided_to), to };
    match skipped.last_mut().filter(|before| before.to == undecided.from) {
        _ if undecided.from >= undecided.to => {}
        Some(before) => before.to = to,
        None => skipped.push(undecided),
    }
    let header = pb::EntryHeader {
        kind: kind.into(),
        from,
        to,
        decided_to: last.header.decided_to.max(to),
        skipped,
        counts: Some(pb::Counts::default()),
        replay_counts: Some(pb::Counts::default()),
        total_counts: last.header.total_counts.clone(),
        clock_micros_before: last.header.clock_micros,
        horizon_micros_before: last.header.horizon_micros,
        act: Some(pb::Act { by: by.to_owned(), reason: reason.to_owned(), ..pb::Act::default() }),
        ..followed_by(context, last)
    };
    encode(last.number + 1, last.hash, header, Rows::default())
}

/// A refusal that a person overrules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overruled<'a> {
    /// Its cause.
    pub cause: &'a str,
    /// What it said.
    pub finding: &'a str,
}

/// The entry by which a person goes on at raw offset `at` although the logs contradict each other,
/// after the entry that `last` describes, or as the first of a journal that has none. The
/// sightings stay, and so do clock and horizon. What lies below `at` counts as undecided, and the
/// raw record before it is no witness.
pub fn encode_adopt(
    context: &EntryContext,
    last: Option<&Position>,
    at: i64,
    overruled: Overruled<'_>,
    (by, reason): (&str, &str),
) -> EncodedEntry {
    let before = match last {
        Some(last) => followed_by(context, last),
        None => begin_header(context, at),
    };
    let total_counts = match last {
        Some(last) => last.header.total_counts.clone(),
        None => Some(pb::Counts::default()),
    };
    let header = pb::EntryHeader {
        kind: pb::EntryKind::Adopt.into(),
        from: at,
        to: at,
        decided_to: at,
        skipped: (at > 0).then_some(pb::OffsetRange { from: 0, to: at }).into_iter().collect(),
        counts: Some(pb::Counts::default()),
        replay_counts: Some(pb::Counts::default()),
        total_counts,
        clock_micros_before: before.clock_micros,
        horizon_micros_before: before.horizon_micros,
        last_raw_offset: -1,
        last_raw_hash: Vec::new(),
        epoch: before.epoch + 1,
        act: Some(pb::Act {
            by: by.to_owned(),
            reason: reason.to_owned(),
            cause: overruled.cause.to_owned(),
            finding: overruled.finding.to_owned(),
            ..pb::Act::default()
        }),
        ..before
    };
    let head = last.map_or(ChainHead::EMPTY, Position::head);
    encode(head.number + 1, head.hash, header, Rows::default())
}

/// What an entry without a range takes over from the one before.
fn followed_by(context: &EntryContext, last: &Position) -> pb::EntryHeader {
    pb::EntryHeader {
        to: last.header.to,
        decided_to: last.header.decided_to,
        skipped: last.header.skipped.clone(),
        total_replay_counts: last.header.total_replay_counts.clone(),
        clock_micros: last.header.clock_micros,
        horizon_micros: last.header.horizon_micros,
        last_raw_offset: last.header.last_raw_offset,
        last_raw_hash: last.header.last_raw_hash.clone(),
        epoch: last.header.epoch,
        ..context_header(context)
    }
}
