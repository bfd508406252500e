//! Quarantine records of one partition against the counts of its entries, in their order.
//! Must not be in here: where they come from.

use super::clean_walk::{OutputCounts, WalkBounds};
use crate::evidence::finding::{Finding, Findings};
use crate::evidence::quarantined::Quarantined;
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

type Reasons = BTreeMap<Cow<'static, str>, u64>;

/// What one entry says it quarantined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryQuarantined {
    /// Number of the entry.
    pub number: u64,
    /// Its source range.
    pub range: (i64, i64),
    /// Events by reason.
    pub reasons: Reasons,
    /// Whether it is of the range that is asked for.
    pub in_range: bool,
}

/// The walk over one partition.
pub struct QuarantineWalk {
    bounds: WalkBounds,
    expected: VecDeque<EntryQuarantined>,
    seen: VecDeque<(i64, Quarantined)>,
    /// Taken for the first of `expected`: how many, by reason, and the last position.
    taken: u64,
    taken_reasons: Reasons,
    last: Option<(i64, u32)>,
    met: bool,
    counts: OutputCounts,
    unproven_below: Option<i64>,
}

impl QuarantineWalk {
    /// A walk that has not begun.
    pub fn new(bounds: WalkBounds) -> QuarantineWalk {
        QuarantineWalk {
            bounds,
            expected: VecDeque::new(),
            seen: VecDeque::new(),
            taken: 0,
            taken_reasons: Reasons::new(),
            last: None,
            met: false,
            counts: OutputCounts::default(),
            unproven_below: None,
        }
    }

    /// Entries before this raw offset are gone.
    pub fn unproven_below(&mut self, offset: i64) {
        self.unproven_below = Some(offset);
    }

    /// An entry, if it quarantined anything.
    pub fn due(&mut self, entry: EntryQuarantined) {
        if !entry.reasons.is_empty() {
            self.expected.push_back(entry);
        }
    }

    /// The quarantine topic holds this at this offset.
    pub fn see(&mut self, place: i64, record: Quarantined) {
        self.seen.push_back((place, record));
    }

    /// Whether records are needed to go on.
    pub fn is_hungry(&self) -> bool {
        !self.expected.is_empty() && self.seen.is_empty()
    }

    /// Walks on as far as what is known allows.
    pub fn advance(&mut self, journal_done: bool, records_done: bool, findings: &mut Findings) {
        loop {
            match (self.expected.front(), self.seen.front()) {
                (Some(entry), _) if self.taken == total(entry) => self.close(findings),
                (Some(entry), Some((_, record))) => {
                    let at = (record.source.offset, record.source.item);
                    let (from, to) = entry.range;
                    let inside = (from..to).contains(&at.0);
                    if inside && self.last.is_none_or(|last| at > last) {
                        self.take();
                    } else if at.0 >= to || self.is_of_later_entry(at.0) {
                        self.close(findings);
                    } else {
                        self.unexpected(findings);
                    }
                }
                (Some(_), None) if records_done => self.close(findings),
                (None, Some(_)) if journal_done => self.unexpected(findings),
                _ => return,
            }
        }
    }

    /// The outcome.
    pub fn finish(self) -> OutputCounts {
        self.counts
    }

    fn is_of_later_entry(&self, offset: i64) -> bool {
        let mut later = self.expected.iter().skip(1);
        later.any(|entry| (entry.range.0..entry.range.1).contains(&offset))
    }

    fn take(&mut self) {
        if let Some((_, record)) = self.seen.pop_front() {
            self.last = Some((record.source.offset, record.source.item));
            self.taken += 1;
            *self.taken_reasons.entry(Cow::Owned(record.reason.into())).or_default() += 1;
        }
    }

    /// Ends the first entry: all its records were taken, or no more of them can come.
    fn close(&mut self, findings: &mut Findings) {
        let Some(entry) = self.expected.pop_front() else { return };
        let (taken, reasons) = (self.taken, std::mem::take(&mut self.taken_reasons));
        (self.taken, self.last) = (0, None);
        let (due, lacking) = (total(&entry), total(&entry) - taken);
        let gone = !self.met && self.bounds.low > 0;
        self.met |= taken > 0;
        if entry.in_range {
            self.counts.expected += due;
            self.counts.found += taken;
            match gone {
                true => self.counts.no_longer_retained += lacking,
                false => self.counts.missing += lacking,
            }
        }
        let differs =
            if gone { !is_part(&reasons, &entry.reasons) } else { reasons != entry.reasons };
        if !differs {
            return;
        }
        let bounds = &self.bounds;
        findings.add("quarantine", || Finding {
            kind: "quarantine",
            topic: bounds.topic.clone(),
            partition: bounds.partition,
            offset: None,
            what: format!(
                "entry {} quarantined {} of raw {}/{} [{}, {}), the topic holds {}",
                entry.number,
                text(&entry.reasons),
                bounds.raw,
                bounds.partition,
                entry.range.0,
                entry.range.1,
                text(&reasons),
            ),
        });
    }

    fn unexpected(&mut self, findings: &mut Findings) {
        let Some((place, record)) = self.seen.pop_front() else { return };
        if self.unproven_below.is_some_and(|below| record.source.offset < below) && !self.met {
            self.counts.unproven += 1;
            return;
        }
        if place >= self.bounds.judged {
            self.counts.newer += 1;
            return;
        }
        self.counts.without_entry += 1;
        let bounds = &self.bounds;
        findings.add("quarantine-without-entry", || Finding {
            kind: "quarantine-without-entry",
            topic: bounds.topic.clone(),
            partition: bounds.partition,
            offset: Some(place),
            what: format!(
                "the journal quarantines nothing more here, but this record names raw {}/{}",
                bounds.raw,
                record.source.shown(record.itemized)
            ),
        });
    }
}

fn total(entry: &EntryQuarantined) -> u64 {
    entry.reasons.values().sum()
}

fn is_part(some: &Reasons, all: &Reasons) -> bool {
    some.iter().all(|(reason, count)| all.get(reason).is_some_and(|all| count <= all))
}

fn text(reasons: &Reasons) -> String {
    if reasons.is_empty() {
        return "none".to_owned();
    }
    let each = reasons.iter().map(|(reason, count)| format!("{count} {reason}"));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::source_header::SourcePosition;

    fn entry(number: u64, range: (i64, i64), reasons: &[(&'static str, u64)]) -> EntryQuarantined {
        let reasons = reasons.iter().map(|(name, count)| (Cow::Borrowed(*name), *count)).collect();
        EntryQuarantined { number, range, reasons, in_range: true }
    }

    fn walk(
        low: i64,
        entries: &[EntryQuarantined],
        records: &[(i64, &str)],
    ) -> (OutputCounts, Findings) {
        let mut walk = QuarantineWalk::new(WalkBounds {
            topic: "quarantine".into(),
            raw: "raw".into(),
            itemized: false,
            partition: 0,
            low,
            judged: 1_000,
        });
        entries.iter().for_each(|entry| walk.due(entry.clone()));
        for (place, (offset, reason)) in (low..).zip(records) {
            let source = SourcePosition { partition: 0, offset: *offset, item: 0 };
            let reason = (*reason).into();
            walk.see(place, Quarantined { source, itemized: false, reason, key: None });
        }
        let mut findings = Findings::default();
        walk.advance(true, true, &mut findings);
        (walk.finish(), findings)
    }

    #[test]
    fn entries_and_replays_find_their_records() {
        let entries = [
            entry(1, (0, 10), &[("json", 2), ("late", 1)]),
            entry(2, (10, 20), &[]),
            entry(3, (0, 10), &[("json", 2)]),
            entry(4, (20, 30), &[("gtin", 1)]),
        ];
        let records =
            [(1, "json"), (2, "late"), (9, "json"), (1, "json"), (9, "json"), (25, "gtin")];
        let (counts, findings) = walk(0, &entries, &records);
        assert_eq!((counts.expected, counts.found), (6, 6));
        assert!(findings.is_empty(), "{findings}");
    }

    #[test]
    fn what_differs_is_named() {
        let entries = [entry(1, (0, 10), &[("json", 2)]), entry(2, (10, 20), &[("late", 1)])];
        let (counts, findings) = walk(0, &entries, &[(1, "json"), (15, "late")]);
        assert_eq!((counts.missing, counts.found), (1, 2));
        assert!(findings.named[0].what.contains("entry 1"), "{findings}");
        let all = [(1, "json"), (2, "json"), (15, "late"), (16, "json")];
        let (counts, findings) = walk(0, &entries, &all);
        assert_eq!((counts.without_entry, findings.named[0].offset), (1, Some(3)));
        let (_, findings) = walk(0, &entries, &[(1, "json"), (2, "gtin"), (15, "late")]);
        assert!(findings.named[0].what.contains("1 gtin, 1 json"), "{findings}");
    }

    #[test]
    fn what_lies_below_the_start_is_not_missing() {
        let entries = [
            entry(1, (0, 10), &[("json", 2)]),
            entry(2, (10, 20), &[("late", 2)]),
            entry(3, (20, 30), &[("json", 1)]),
        ];
        let (counts, findings) = walk(3, &entries, &[(15, "late"), (20, "json")]);
        assert_eq!((counts.no_longer_retained, counts.missing), (3, 0));
        assert!(findings.is_empty(), "{findings}");
    }
}
