//! The entry of an act: a person lets one quarantined late event through.
//! Must not be in here: whether that may be done.

use super::entry::{EncodedEntry, EntryContext, context_header, counts_of, encode, pb_counts};
use super::packed::{Rows, pack_firsts};
use super::{Position, pb};
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
        }),
        ..followed_by(context, last)
    };
    let rows = Rows { firsts: pack_firsts(&[*event], event.offset), ..Rows::default() };
    encode(last.number + 1, last.hash, header, rows)
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
        ..context_header(context)
    }
}
