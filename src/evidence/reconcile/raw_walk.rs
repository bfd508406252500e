//! The raw topic counted again, range by range, against what the entries counted.
//! Must not be in here: where records come from.

use crate::evidence::finding::{Finding, Findings};
use crate::evidence::journal_walk::{ReadEntry, is_adoption};
use crate::journal::entry::counts_of;
use serde::Serialize;
use std::collections::VecDeque;

/// How the recount came out, in records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recount {
    /// Counted again.
    pub recounted: u64,
    /// Events among them.
    pub events: u64,
    /// No longer in the raw topic.
    pub no_longer_retained: u64,
    /// Of ranges that cannot be counted one by one: decided after they had been skipped, or before
    /// a person adopted the partition, when the raw log may have been another.
    pub not_recounted: u64,
}

/// Offsets that an entry decided for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RawRange {
    number: u64,
    from: i64,
    to: i64,
    records: u64,
    events: u64,
    /// It lies before the first entry: no record may stand there.
    uncovered: bool,
}

/// The recount of one partition.
pub struct RawWalk {
    topic: String,
    partition: i32,
    low: i64,
    ranges: VecDeque<RawRange>,
    /// Records, by offset and count of events, that no range has claimed yet: at most what one
    /// step of reading gave.
    seen: VecDeque<(i64, u64)>,
    /// Everything below was seen.
    seen_to: i64,
    /// What lies below was read before a person adopted the partition, and is not read again.
    blind_below: i64,
    /// What is wrong, unless an adoption follows.
    differences: Findings,
    recount: Recount,
}

impl RawWalk {
    /// Of a partition whose log begins at `low`.
    pub fn new(topic: String, partition: i32, low: i64) -> RawWalk {
        RawWalk {
            topic,
            partition,
            low,
            ranges: VecDeque::new(),
            seen: VecDeque::new(),
            seen_to: low,
            blind_below: i64::MIN,
            differences: Findings::default(),
            recount: Recount::default(),
        }
    }

    /// An entry of the range that is asked for.
    pub fn due(&mut self, read: &ReadEntry) {
        if is_adoption(&read.entry) {
            self.adopted();
        }
        let header = &read.entry.header;
        let counts = counts_of(header.counts.as_ref());
        let replayed = counts_of(header.replay_counts.as_ref());
        let touches = |skipped: &crate::journal::pb::OffsetRange| {
            skipped.from < header.to && header.from < skipped.to
        };
        let decided = match read.decided_before {
            Some(decided) => decided,
            // The journal is cut here, and a replay leaves open what was decided before.
            None if replayed.records > 0 => header.to,
            None => header.from,
        };
        if read.entry.number == 1 {
            self.due_before(header);
        }
        let range = RawRange {
            number: read.entry.number,
            from: header.from.max(decided),
            to: header.to,
            records: counts.records,
            events: counts.events(),
            uncovered: false,
        };
        if range.from < self.blind_below
            || range.from >= range.to
            || header.skipped.iter().any(touches)
        {
            self.recount.not_recounted += counts.records;
        } else if range.from < self.low {
            self.recount.no_longer_retained += counts.records;
        } else {
            self.ranges.push_back(range);
        }
    }

    /// What was compared, and what waits to be, may have been of another log.
    fn adopted(&mut self) {
        self.differences = Findings::default();
        let waiting: u64 = self.ranges.drain(..).map(|range| range.records).sum();
        self.recount.not_recounted += waiting + std::mem::take(&mut self.recount.recounted);
        self.recount.events = 0;
        self.seen.clear();
        self.blind_below = self.seen_to;
    }

    /// What the log still holds below the first entry, and that no range says was skipped.
    fn due_before(&mut self, header: &crate::journal::pb::EntryHeader) {
        let mut from = self.low;
        let end = crate::journal::pb::OffsetRange { from: header.from, to: header.from };
        for skipped in header.skipped.iter().chain([&end]) {
            let to = skipped.from.min(header.from);
            if from < to {
                let (records, events) = (0, 0);
                self.ranges.push_back(RawRange {
                    number: 1,
                    from,
                    to,
                    records,
                    events,
                    uncovered: true,
                });
            }
            from = from.max(skipped.to);
        }
    }

    /// Where reading has to begin: the first range that waits.
    pub fn wants_from(&self) -> Option<i64> {
        self.ranges.front().map(|range| range.from)
    }

    /// Whether records are needed to go on.
    pub fn is_hungry(&self) -> bool {
        self.ranges.front().is_some_and(|range| range.to > self.seen_to)
    }

    /// A record with so many events.
    pub fn see(&mut self, offset: i64, events: u64) {
        self.seen.push_back((offset, events));
    }

    /// Everything below this offset was seen.
    pub fn passed(&mut self, offset: i64) {
        self.seen_to = self.seen_to.max(offset);
    }

    /// Compares the ranges that were seen whole.
    pub fn advance(&mut self) {
        while let Some(range) = self.ranges.pop_front_if(|range| range.to <= self.seen_to) {
            let (mut records, mut events) = (0, 0);
            while let Some((offset, of_record)) =
                self.seen.pop_front_if(|(offset, _)| *offset < range.to)
            {
                if offset >= range.from {
                    records += 1;
                    events += of_record;
                }
            }
            self.recount.recounted += records;
            self.recount.events += events;
            if (records, events) == (range.records, range.events) {
                continue;
            }
            if range.uncovered {
                self.differences.add("uncovered", || Finding {
                    kind: "uncovered",
                    topic: self.topic.clone(),
                    partition: self.partition,
                    offset: Some(range.from),
                    what: format!(
                        "raw offsets [{}, {}) hold {records} records and lie before the first \
                         entry: they were never decided",
                        range.from, range.to
                    ),
                });
                continue;
            }
            self.differences.add("raw", || Finding {
                kind: "raw",
                topic: self.topic.clone(),
                partition: self.partition,
                offset: Some(range.from),
                what: format!(
                    "entry {} counts {} records with {} events in [{}, {}), the topic holds \
                     {records} with {events}",
                    range.number, range.records, range.events, range.from, range.to
                ),
            });
        }
    }

    /// The outcome; ranges that still wait could not be counted.
    pub fn finish(mut self, findings: &mut Findings) -> Recount {
        findings.merge(self.differences);
        let waiting: u64 = self.ranges.iter().map(|range| range.records).sum();
        self.recount.not_recounted += waiting;
        self.recount
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Entry, pb};

    fn entry(number: u64, range: (i64, i64), records: u64, before: i64) -> ReadEntry {
        let counts = pb::Counts { records, first: records, ..pb::Counts::default() };
        let header = pb::EntryHeader {
            from: range.0,
            to: range.1,
            counts: Some(counts),
            ..pb::EntryHeader::default()
        };
        let entry = Entry {
            number,
            hash: [0; 32],
            previous_hash: [0; 32],
            header,
            rows: Default::default(),
        };
        ReadEntry { entry, offset: 0, appended_ms: None, decided_before: Some(before) }
    }

    #[test]
    fn gaps_are_no_difference_and_missing_records_are() {
        let mut walk = RawWalk::new("raw".into(), 0, 0);
        walk.due(&entry(1, (0, 10), 3, 0));
        walk.due(&entry(2, (10, 20), 2, 10));
        let mut findings = Findings::default();
        for offset in [1, 5, 9, 12] {
            walk.see(offset, 1);
        }
        walk.passed(20);
        walk.advance();
        assert_eq!(walk.finish(&mut findings).recounted, 4);
        assert_eq!((findings.count("raw"), findings.named[0].offset), (1, Some(10)));
    }

    #[test]
    fn what_lies_before_the_first_entry_is_uncovered_or_skipped() {
        for (low, skipped, found) in [(2, None, 1), (8, None, 0), (2, Some((0, 8)), 0)] {
            let mut first = entry(1, (10, 12), 1, 10);
            let skip = |(from, to)| crate::journal::pb::OffsetRange { from, to };
            first.entry.header.skipped = skipped.map(skip).into_iter().collect();
            let (mut walk, mut findings) =
                (RawWalk::new("raw".into(), 0, low), Findings::default());
            walk.due(&first);
            for offset in [3, 5, 11].into_iter().filter(|offset| *offset >= low) {
                walk.see(offset, 1);
            }
            walk.passed(12);
            walk.advance();
            walk.finish(&mut findings);
            assert_eq!(findings.count("uncovered"), found, "{findings}");
            assert_eq!(findings.count("raw"), 0, "{findings}");
        }
    }

    #[test]
    fn what_was_counted_before_an_adoption_was_of_another_log() {
        let mut walk = RawWalk::new("raw".into(), 0, 0);
        walk.due(&entry(1, (0, 10), 3, 0));
        walk.see(1, 1);
        walk.passed(10);
        walk.advance();
        let mut adoption = entry(2, (10, 10), 0, 10);
        adoption.entry.header.kind = pb::EntryKind::Adopt.into();
        walk.due(&adoption);
        walk.due(&entry(3, (10, 12), 2, 10));
        walk.see(10, 1);
        walk.passed(12);
        walk.advance();
        let mut findings = Findings::default();
        let recount = walk.finish(&mut findings);
        assert_eq!((recount.recounted, recount.not_recounted), (1, 1));
        assert_eq!((findings.count("raw"), findings.named[0].offset), (1, Some(10)));
    }

    #[test]
    fn a_replay_is_counted_for_what_it_decides_first_only() {
        let mut walk = RawWalk::new("raw".into(), 0, 4);
        walk.due(&entry(1, (0, 10), 3, 0));
        walk.due(&entry(2, (2, 15), 2, 10));
        assert_eq!(walk.wants_from(), Some(10));
        let mut findings = Findings::default();
        for offset in [4, 9, 11, 14, 16] {
            walk.see(offset, 1);
        }
        walk.passed(17);
        walk.advance();
        assert!(!walk.is_hungry());
        // What was read beyond the ranges that were known is not lost.
        walk.due(&entry(3, (15, 17), 1, 15));
        walk.advance();
        let recount = walk.finish(&mut findings);
        assert_eq!((recount.recounted, recount.no_longer_retained), (3, 3));
        assert!(findings.is_empty(), "{findings}");
    }
}
