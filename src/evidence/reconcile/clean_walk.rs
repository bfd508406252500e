//! Clean records and journal rows of one partition, walked side by side: both stand in one order.
//! Must not be in here: where they come from; what needs a look at other partitions (`verify`).

use crate::evidence::finding::{Finding, Findings};
use crate::evidence::rows::LetThrough;
use crate::evidence::source_header::SourcePosition;
use crate::identity::{ContentDigest, EventKey};
use serde::Serialize;
use std::collections::VecDeque;

/// How far a record that stands in the wrong place is looked for.
const LOOK_AHEAD: usize = 10_000;
/// How often; a topic that is another one altogether is told without.
const LOOKS_MAX: usize = 1_000;

/// A clean record, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanSeen {
    /// Clean offset.
    pub place: i64,
    /// Event key.
    pub key: EventKey,
    /// Content digest.
    pub digest: ContentDigest,
    /// Raw position.
    pub source: SourcePosition,
}

/// How it came out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OutputCounts {
    /// Records that the journal says were written.
    pub expected: u64,
    /// Of these, found.
    pub found: u64,
    /// Of these, below the log's start.
    pub no_longer_retained: u64,
    /// Of these, not there though they should be.
    pub missing: u64,
    /// Records that the journal does not speak of.
    pub without_entry: u64,
    /// Records from before the first entry that is there.
    pub unproven: u64,
    /// Records that came after the ends were captured.
    pub newer: u64,
}

/// Which log is walked, and between which bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkBounds {
    /// The output's topic.
    pub topic: String,
    /// The raw topic.
    pub raw: String,
    /// Whether an event is one item of its record.
    pub itemized: bool,
    /// Partition.
    pub partition: i32,
    /// First offset of the output's log.
    pub low: i64,
    /// Records from here on may be newer than the journal's captured end.
    pub judged: i64,
}

/// The walk over one partition.
pub struct CleanWalk {
    bounds: WalkBounds,
    /// Rows, and whether they are of the range that is asked for.
    expected: VecDeque<(LetThrough, bool)>,
    seen: VecDeque<CleanSeen>,
    counts: OutputCounts,
    met: bool,
    looks: usize,
    unproven_below: Option<i64>,
}

impl CleanWalk {
    /// A walk that has not begun.
    pub fn new(bounds: WalkBounds) -> CleanWalk {
        let (expected, seen, counts) = (VecDeque::new(), VecDeque::new(), OutputCounts::default());
        CleanWalk { bounds, expected, seen, counts, met: false, looks: 0, unproven_below: None }
    }

    /// Entries before this raw offset are gone.
    pub fn unproven_below(&mut self, offset: i64) {
        self.unproven_below = Some(offset);
    }

    /// The journal says that this was let through.
    pub fn due(&mut self, row: LetThrough, in_range: bool) {
        self.expected.push_back((row, in_range));
    }

    /// The clean topic holds this.
    pub fn see(&mut self, record: CleanSeen) {
        self.seen.push_back(record);
    }

    /// Whether records are needed to go on.
    pub fn is_hungry(&self) -> bool {
        !self.expected.is_empty() && self.seen.is_empty()
    }

    /// Whether records wait for rows.
    pub fn is_full(&self) -> bool {
        self.expected.is_empty() && !self.seen.is_empty()
    }

    /// Walks on as far as what is known allows.
    pub fn advance(&mut self, journal_done: bool, clean_done: bool, findings: &mut Findings) {
        loop {
            match (self.expected.front().copied(), self.seen.front().copied()) {
                (Some((row, in_range)), Some(record)) => {
                    self.compare(row, in_range, record, findings);
                }
                (Some((row, in_range)), None) if clean_done => {
                    self.not_found(row, in_range, findings);
                }
                (None, Some(record)) if journal_done => self.unexpected(record, findings),
                _ => return,
            }
        }
    }

    /// The outcome.
    pub fn finish(self) -> OutputCounts {
        self.counts
    }

    fn compare(
        &mut self,
        row: LetThrough,
        in_range: bool,
        record: CleanSeen,
        findings: &mut Findings,
    ) {
        if is_of(&row, &record) {
            self.met = true;
            self.expected.pop_front();
            self.seen.pop_front();
            self.counts.expected += u64::from(in_range);
            self.counts.found += u64::from(in_range);
            return;
        }
        let (at_row, at_record) =
            ((row.offset, row.item), (record.source.offset, record.source.item));
        if at_record > at_row {
            return self.not_found(row, in_range, findings);
        }
        let stands_later = self.looks < LOOKS_MAX && {
            self.looks += 1;
            self.expected.iter().take(LOOK_AHEAD).any(|(row, _)| is_of(row, &record))
        };
        match stands_later {
            true => self.not_found(row, in_range, findings),
            false => self.unexpected(record, findings),
        }
    }

    fn not_found(&mut self, row: LetThrough, in_range: bool, findings: &mut Findings) {
        self.expected.pop_front();
        self.counts.expected += u64::from(in_range);
        if !self.met && self.bounds.low > 0 {
            self.counts.no_longer_retained += u64::from(in_range);
            return;
        }
        self.counts.missing += u64::from(in_range);
        let bounds = &self.bounds;
        findings.add("missing", || Finding {
            kind: "missing",
            topic: bounds.topic.clone(),
            partition: bounds.partition,
            offset: None,
            what: format!(
                "raw {}/{} was let through ({}) and does not stand where it should",
                bounds.raw,
                SourcePosition { partition: bounds.partition, offset: row.offset, item: row.item }
                    .shown(bounds.itemized),
                row.kind.as_str()
            ),
        });
    }

    fn unexpected(&mut self, record: CleanSeen, findings: &mut Findings) {
        self.seen.pop_front();
        let before_first = self.unproven_below.is_some_and(|below| record.source.offset < below);
        if before_first && !self.met {
            self.counts.unproven += 1;
            return;
        }
        if record.place >= self.bounds.judged {
            self.counts.newer += 1;
            return;
        }
        self.counts.without_entry += 1;
        let bounds = &self.bounds;
        findings.add("without-entry", || Finding {
            kind: "without-entry",
            topic: bounds.topic.clone(),
            partition: bounds.partition,
            offset: Some(record.place),
            what: format!(
                "the journal lets nothing through here from raw {}/{}: the record was put in by \
                 hand, stands out of order, or its headers were changed",
                bounds.raw,
                record.source.shown(bounds.itemized)
            ),
        });
    }
}

fn is_of(row: &LetThrough, record: &CleanSeen) -> bool {
    row.offset == record.source.offset
        && row.item == record.source.item
        && row.key == record.key
        && row.digest == record.digest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::rows::Kind;

    fn row(offset: i64) -> LetThrough {
        let key = EventKey::new([offset as u8; 32]);
        LetThrough { kind: Kind::First, key, digest: ContentDigest::new([1; 16]), offset, item: 0 }
    }

    fn seen(place: i64, offset: i64) -> CleanSeen {
        let LetThrough { key, digest, .. } = row(offset);
        let source = SourcePosition { partition: 2, offset, item: 0 };
        CleanSeen { place, key, digest, source }
    }

    fn walk(low: i64, rows: &[i64], records: &[(i64, i64)]) -> (OutputCounts, Findings) {
        let mut walk = CleanWalk::new(WalkBounds {
            topic: "clean".into(),
            raw: "raw".into(),
            itemized: false,
            partition: 2,
            low,
            judged: 1_000,
        });
        rows.iter().for_each(|offset| walk.due(row(*offset), true));
        records.iter().for_each(|(place, offset)| walk.see(seen(*place, *offset)));
        let mut findings = Findings::default();
        walk.advance(true, true, &mut findings);
        (walk.finish(), findings)
    }

    #[test]
    fn what_goes_together_is_found() {
        let (counts, findings) = walk(0, &[1, 4, 9], &[(0, 1), (1, 4), (3, 9)]);
        let expected = OutputCounts { expected: 3, found: 3, ..OutputCounts::default() };
        assert_eq!(counts, expected);
        assert!(findings.is_empty());
    }

    #[test]
    fn a_hole_and_an_inserted_record_are_named() {
        let (counts, findings) = walk(0, &[1, 4, 9], &[(0, 1), (3, 9), (4, 7)]);
        assert_eq!((counts.found, counts.missing, counts.without_entry), (2, 1, 1));
        assert!(findings.named[0].what.contains("raw raw/2/4 "), "{findings}");
        assert_eq!(findings.named[1].offset, Some(4));
        let (counts, _) = walk(0, &[1, 4], &[(0, 1), (1, 4), (2, 4)]);
        assert_eq!((counts.found, counts.without_entry), (2, 1));
    }

    #[test]
    fn what_lies_below_the_start_is_not_missing() {
        let (counts, findings) = walk(5, &[1, 4, 9], &[(5, 9)]);
        assert_eq!((counts.found, counts.no_longer_retained, counts.missing), (1, 2, 0));
        assert!(findings.is_empty());
        let (counts, _) = walk(5, &[1, 4, 9, 11], &[(5, 4), (7, 11)]);
        assert_eq!((counts.found, counts.no_longer_retained, counts.missing), (2, 1, 1));
        let (counts, _) = walk(9, &[1, 4], &[]);
        assert_eq!((counts.no_longer_retained, counts.missing), (2, 0));
    }

    #[test]
    fn an_admitted_event_may_step_back_and_newer_records_are_no_fault() {
        let rows = [10, 11, 3, 12];
        let (counts, findings) = walk(0, &rows, &[(0, 10), (1, 11), (2, 3), (3, 12), (1_000, 13)]);
        assert_eq!((counts.found, counts.newer), (4, 1));
        assert!(findings.is_empty());
        // The record before the step back is missing: nothing else is.
        let (counts, _) = walk(0, &rows, &[(0, 10), (2, 3), (3, 12)]);
        assert_eq!((counts.found, counts.missing, counts.without_entry), (3, 1, 0));
    }
}
