//! Deliveries of one event, sorted together: duplicates and conflicts with their lags, and events
//! that stand on two partitions.
//! Must not be in here: where rows come from.

use super::row::Row;
use super::spread::Spread;
use crate::evidence::source_header::SourcePosition;
use crate::identity::{ContentDigest, EventKey};
use serde::Serialize;

/// How many events on two partitions are named.
const NAMED_MAX: usize = 20;

/// Lags by their upper bound in milliseconds, and what each is called.
const STEPS: [(i64, &str); 6] = [
    (1_000, "under 1s"),
    (60_000, "under 1m"),
    (3_600_000, "under 1h"),
    (86_400_000, "under 1d"),
    (7 * 86_400_000, "under 7d"),
    (30 * 86_400_000, "under 30d"),
];
const MORE: &str = "30d and more";

/// Repeated deliveries by their lag.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lags {
    /// By time between arrivals: name and count, shortest first.
    pub by_time: Vec<(&'static str, u64)>,
    /// Events of the partition between two deliveries.
    pub events_between: Spread,
}

impl Lags {
    fn new() -> Lags {
        let names = STEPS.iter().map(|(_, name)| *name).chain([MORE]);
        Lags { by_time: names.map(|name| (name, 0)).collect(), ..Lags::default() }
    }

    fn add(&mut self, before: &Row, now: &Row) {
        let lag_ms = now.arrival_ms.saturating_sub(before.arrival_ms);
        let step = STEPS.iter().position(|(bound, _)| lag_ms < *bound).unwrap_or(STEPS.len());
        self.by_time[step].1 += 1;
        self.events_between.add(now.nth.saturating_sub(before.nth + 1));
    }
}

/// What deliveries of the same events say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Repeats {
    /// Events, each counted once on each of its partitions.
    pub distinct: u64,
    /// Deliveries with the content of the first.
    pub duplicates: u64,
    /// Deliveries with other content than the first.
    pub conflicts: u64,
    /// Lags of duplicates since the delivery before.
    pub duplicate_lags: Lags,
    /// Lags of conflicts since the delivery before.
    pub conflict_lags: Lags,
    /// How far repeated deliveries lie behind the clock, in microseconds: a shorter window would
    /// quarantine them as late.
    pub behind_micros: Spread,
    /// Events that stand on more than one partition.
    pub on_two_partitions: u64,
    /// Two positions of each of the first of them.
    pub two_partitions: Vec<(SourcePosition, SourcePosition)>,
    #[serde(skip)]
    at: Option<Group>,
}

/// Deliveries of one event on one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    key: EventKey,
    /// The first delivery of the key on any partition.
    home: SourcePosition,
    told: bool,
    partition: i32,
    digest: ContentDigest,
    last: Row,
}

impl Default for Repeats {
    fn default() -> Repeats {
        Repeats {
            distinct: 0,
            duplicates: 0,
            conflicts: 0,
            duplicate_lags: Lags::new(),
            conflict_lags: Lags::new(),
            behind_micros: Spread::default(),
            on_two_partitions: 0,
            two_partitions: Vec::new(),
            at: None,
        }
    }
}

impl Repeats {
    /// Takes the next sorted row.
    pub fn push(&mut self, row: &Row) {
        let position =
            SourcePosition { partition: row.partition, offset: row.offset, item: row.item };
        let group = self.at.take().filter(|group| group.key == row.key);
        self.at = Some(match group {
            Some(group) if group.partition == row.partition => self.again(group, row),
            Some(mut group) => {
                self.distinct += 1;
                if !group.told {
                    group.told = true;
                    self.on_two_partitions += 1;
                    if self.two_partitions.len() < NAMED_MAX {
                        self.two_partitions.push((group.home, position));
                    }
                }
                Group { partition: row.partition, digest: row.digest, last: *row, ..group }
            }
            None => {
                self.distinct += 1;
                Group {
                    key: row.key,
                    home: position,
                    told: false,
                    partition: row.partition,
                    digest: row.digest,
                    last: *row,
                }
            }
        });
    }

    fn again(&mut self, group: Group, row: &Row) -> Group {
        let lags = match group.digest == row.digest {
            true => {
                self.duplicates += 1;
                &mut self.duplicate_lags
            }
            false => {
                self.conflicts += 1;
                &mut self.conflict_lags
            }
        };
        lags.add(&group.last, row);
        if let Ok(behind) = u64::try_from(row.behind_micros) {
            self.behind_micros.add(behind);
        }
        Group { last: *row, ..group }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(key: u8, partition: i32, offset: i64, digest: u8, arrival_ms: i64) -> Row {
        Row {
            key: EventKey::new([key; 32]),
            partition,
            offset,
            item: 0,
            digest: ContentDigest::new([digest; 16]),
            arrival_ms,
            nth: offset as u64 + 1,
            behind_micros: offset,
        }
    }

    #[test]
    fn repeats_are_counted_by_kind_and_lag() {
        let mut repeats = Repeats::default();
        let day = 86_400_000;
        for row in [
            row(1, 0, 0, 7, 0),
            row(1, 0, 5, 7, 500),
            row(1, 0, 9, 8, 500 + 2 * day),
            row(1, 0, 12, 7, 500 + 60 * day),
            row(2, 0, 1, 7, 0),
            row(2, 3, 4, 7, 0),
            row(2, 3, 6, 7, 90_000),
        ] {
            repeats.push(&row);
        }
        assert_eq!((repeats.distinct, repeats.duplicates, repeats.conflicts), (3, 3, 1));
        let counts = |lags: &Lags| lags.by_time.iter().map(|(_, n)| *n).collect::<Vec<_>>();
        assert_eq!(counts(&repeats.duplicate_lags), [1, 0, 1, 0, 0, 0, 1]);
        assert_eq!(counts(&repeats.conflict_lags), [0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(repeats.duplicate_lags.events_between.max(), 4);
        assert_eq!(repeats.on_two_partitions, 1);
        let (one, other) = repeats.two_partitions[0];
        assert_eq!(
            (one.shown(false).to_string(), other.shown(false).to_string()),
            ("0/1".into(), "3/4".into())
        );
        assert_eq!(repeats.behind_micros.max(), 12);
    }
}
