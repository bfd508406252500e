//! The sums of the entries' counts: what was decided for the first time, and apart from it what
//! was read again.
//! Must not be in here: what other topics hold.

use crate::evidence::journal_walk::ReadEntry;
use crate::gate::Counts;
use serde::{Serialize, Serializer};

/// Sums over the entries of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sums {
    /// Entries.
    pub entries: u64,
    /// Numbers of the first and last of them.
    pub numbers: Option<(u64, u64)>,
    /// The raw offsets that they cover.
    pub offsets: Option<(i64, i64)>,
    /// What was decided for the first time.
    #[serde(serialize_with = "counts")]
    pub decided: Counts,
    /// Entries that read offsets again.
    pub replay_entries: u64,
    /// The raw offsets that they cover.
    pub replay_offsets: Option<(i64, i64)>,
    /// What was read again.
    #[serde(serialize_with = "counts")]
    pub replayed: Counts,
}

/// Sums as they grow.
#[derive(Debug, Default)]
pub struct Tally {
    seen: bool,
    sums: Sums,
}

impl Tally {
    /// Whether no entry was seen, of the range or not.
    pub fn is_empty(&self) -> bool {
        !self.seen
    }

    /// Adds an entry.
    pub fn add(&mut self, read: &ReadEntry, counts: &Counts, replayed: &Counts, in_range: bool) {
        self.seen = true;
        if !in_range {
            return;
        }
        let (header, number, sums) = (&read.entry.header, read.entry.number, &mut self.sums);
        let widened = |span: Option<(i64, i64)>| match span {
            None => Some((header.from, header.to)),
            Some((from, to)) => Some((from.min(header.from), to.max(header.to))),
        };
        sums.entries += 1;
        sums.numbers = Some((sums.numbers.map_or(number, |(first, _)| first), number));
        sums.offsets = widened(sums.offsets);
        sums.decided.merge(counts);
        if replayed.records > 0 {
            sums.replay_entries += 1;
            sums.replay_offsets = widened(sums.replay_offsets);
            sums.replayed.merge(replayed);
        }
    }

    /// The sums.
    pub fn finish(self) -> Sums {
        self.sums
    }
}

/// Counts as a JSON object.
pub fn counts<S: Serializer>(counts: &Counts, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Written<'a> {
        records: u64,
        events: u64,
        first: u64,
        correction: u64,
        duplicate: u64,
        conflict: u64,
        replayed: u64,
        admitted: u64,
        quarantined: &'a std::collections::BTreeMap<std::borrow::Cow<'static, str>, u64>,
    }
    Written {
        records: counts.records,
        events: counts.events(),
        first: counts.first,
        correction: counts.correction,
        duplicate: counts.duplicate,
        conflict: counts.conflict,
        replayed: counts.replayed,
        admitted: counts.admitted,
        quarantined: &counts.quarantined,
    }
    .serialize(serializer)
}
