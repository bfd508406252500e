//! The journal walk, without a broker.
//! Must not be in here: reading.
#![cfg(test)]

use super::*;
use crate::gate::RecordTimestamp;
use crate::journal::entry::{EntryContext, begin_header, encode};
use crate::journal::packed::Rows;
use crate::journal::{LogEnd, OffsetMetadata};
use crate::settings::sample_route;

fn route() -> RouteUnderProof {
    RouteUnderProof::new("g", &sample_route())
}

/// Entries of these ranges with so many rejected records each; a skipped range with none.
struct Made {
    entries: Vec<(ChainHead, Vec<u8>)>,
    total: u64,
    context: EntryContext,
}

impl Made {
    fn new() -> Made {
        let route = route();
        let context = EntryContext {
            route: route.label.clone(),
            raw_topic_id: "raw-id".into(),
            journal_topic_id: "journal-id".into(),
            raw_partitions: 1,
            recipe_fingerprint: route.recipe.fingerprint(),
        };
        let mut made = Made { entries: Vec::new(), total: 0, context };
        let begin = begin_header(&made.context, 0);
        made.push(begin);
        made
    }

    fn push(&mut self, header: pb::EntryHeader) {
        let last = self.entries.last().map_or(ChainHead::EMPTY, |(head, _)| *head);
        let mut made = encode(last.number + 1, last.hash, header, Rows::default());
        let head = ChainHead { number: made.number, hash: made.hash };
        self.entries.push((head, made.parts.remove(0)));
    }

    fn range(mut self, from: i64, to: i64, records: u64) -> Made {
        let counts = |count: u64| pb::Counts {
            records: count,
            quarantined: [("json".to_owned(), count)].into_iter().filter(|(_, n)| *n > 0).collect(),
            ..pb::Counts::default()
        };
        self.total += records;
        let header = pb::EntryHeader {
            kind: pb::EntryKind::Range.into(),
            from,
            to,
            decided_to: to,
            counts: Some(counts(records)),
            total_counts: Some(counts(self.total)),
            ..begin_header(&self.context, from)
        };
        self.push(header);
        self
    }

    /// What the group has committed with entry `nth` (from 0).
    fn committed(&self, nth: usize, offset: i64) -> Committed {
        let end = || LogEnd::based("c", 0).after(0);
        let id = "journal-id".to_owned();
        let metadata = OffsetMetadata::new(id, &self.entries[nth].0, end(), end());
        Committed { offset, metadata: metadata.to_string() }
    }

    fn walk(&self, committed: Option<&Committed>) -> Findings {
        walk(&self.entries, committed, "journal-id")
    }
}

fn walk(entries: &[(ChainHead, Vec<u8>)], committed: Option<&Committed>, id: &str) -> Findings {
    let mut walk = JournalWalk::new(&route(), 0, 0, Vec::new()).held_against(
        "g.route",
        committed,
        Some(id.to_owned()),
    );
    let mut findings = Findings::default();
    for (offset, (_, bytes)) in (0..).zip(entries) {
        let record = RawRecord {
            partition: 0,
            offset,
            timestamp: RecordTimestamp::Absent,
            key: None,
            payload: Some(bytes),
            headers: &[],
        };
        walk.push(&record, &mut findings);
    }
    walk.finish(&mut findings);
    findings
}

fn kinds(findings: &Findings) -> Vec<&'static str> {
    findings.counts.keys().copied().collect()
}

#[test]
fn a_whole_journal_has_no_finding_though_the_gate_goes_on() {
    let made = Made::new().range(0, 10, 3).range(10, 20, 2);
    for nth in 0..3 {
        let findings = made.walk(Some(&made.committed(nth, [0, 10, 20][nth])));
        assert!(findings.is_empty(), "{findings}");
    }
}

#[test]
fn an_offset_beyond_the_journal_is_named() {
    let made = Made::new().range(0, 10, 3);
    let moved = Committed { offset: 15, metadata: String::new() };
    let findings = made.walk(Some(&moved));
    assert_eq!(kinds(&findings), ["offset-ahead"], "{findings}");
    assert!(findings.to_string().contains("offset 15, but the journal ends at offset 10"));
    assert_eq!(kinds(&walk(&[], Some(&moved), "journal-id")), ["offset-ahead"]);
    let rewound = Committed { offset: 4, metadata: String::new() };
    assert!(made.walk(Some(&rewound)).is_empty());
}

#[test]
fn a_rewritten_journal_is_seen_though_more_was_appended() {
    let made = Made::new().range(0, 10, 3);
    let committed = made.committed(1, 10);
    let rewritten = Made::new().range(0, 10, 2).range(10, 12, 1);
    let findings = rewritten.walk(Some(&committed));
    assert_eq!(kinds(&findings), ["journal-tail"], "{findings}");
    assert!(findings.to_string().contains("names entry 2, whose hash"), "{findings}");
    let findings = walk(&made.entries, Some(&committed), "another-id");
    // Both entries, and the committed offset.
    assert_eq!((kinds(&findings), findings.count("journal-topic")), (vec!["journal-topic"], 3));
}

#[test]
fn a_hole_between_ranges_is_named() {
    let findings = Made::new().range(0, 10, 3).range(14, 20, 2).walk(None);
    assert_eq!(kinds(&findings), ["uncovered"], "{findings}");
    assert!(findings.to_string().contains("[10, 14)"), "{findings}");
    let findings = Made::new().range(0, 10, 3).range(4, 8, 2).range(8, 14, 0).walk(None);
    assert_eq!(kinds(&findings), ["journal-counts"], "decided twice: {findings}");
}
