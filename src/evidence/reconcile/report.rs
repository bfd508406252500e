//! What `reconcile` says: the counts, what the topics hold beside them, and what is wrong.
//! Must not be in here: how it was counted.

use super::clean_walk::OutputCounts;
use super::raw_walk::Recount;
use super::tally::Sums;
use crate::evidence::finding::Findings;
use crate::evidence::table::Table;
use crate::gate::Counts;
use serde::Serialize;
use std::fmt;

/// One partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PartitionReport {
    /// Its number.
    pub partition: i32,
    /// What the entries count.
    #[serde(flatten)]
    pub sums: Sums,
    /// The raw topic counted again.
    pub raw: Recount,
    /// The clean topic.
    pub clean: OutputCounts,
    /// The quarantine topic.
    pub quarantine: OutputCounts,
    /// The committed source offset.
    pub committed: Option<i64>,
    /// One past the highest raw offset that the entries cover.
    pub covered_to: Option<i64>,
    /// The raw log's start.
    pub raw_start: i64,
    /// Below it every raw transaction has ended.
    pub raw_stable: i64,
    /// The raw log's end.
    pub raw_end: i64,
}

impl PartitionReport {
    /// Offsets, markers among them, that are not decided yet: from where the group stands, or
    /// from where the journal ends, if that is less.
    pub fn lag(&self) -> Option<i64> {
        let decided = self.covered_to.unwrap_or(self.raw_start);
        self.committed.map(|committed| (self.raw_end - committed.min(decided)).max(0))
    }
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReconcileReport {
    /// Route.
    pub route: String,
    /// The raw offsets that were asked for.
    pub range: Option<(i64, i64)>,
    /// By partition.
    pub partitions: Vec<PartitionReport>,
    /// What is wrong.
    pub findings: Findings,
}

impl ReconcileReport {
    /// Whether everything adds up.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// What was decided for the first time, over all partitions.
    pub fn decided(&self) -> Counts {
        let mut sum = Counts::default();
        self.partitions.iter().for_each(|partition| sum.merge(&partition.sums.decided));
        sum
    }

    fn counts_table(&self) -> Table {
        let mut table = Table::new(&[
            "partition",
            "entries",
            "offsets",
            "records",
            "events",
            "first",
            "correction",
            "duplicate",
            "conflict",
            "replayed",
            "quarantined",
            "admitted",
        ]);
        let mut row = |name: &dyn fmt::Display, entries: u64, offsets, counts: &Counts| {
            table.row(&[
                name,
                &entries,
                &span(offsets),
                &counts.records,
                &counts.events(),
                &counts.first,
                &counts.correction,
                &counts.duplicate,
                &counts.conflict,
                &counts.replayed,
                &counts.quarantined_total(),
                &counts.admitted,
            ]);
        };
        for p in &self.partitions {
            row(&p.partition, p.sums.entries, p.sums.offsets, &p.sums.decided);
            if p.sums.replay_entries > 0 {
                let name = format!("{} read again", p.partition);
                row(&name, p.sums.replay_entries, p.sums.replay_offsets, &p.sums.replayed);
            }
        }
        let entries = self.partitions.iter().map(|p| p.sums.entries).sum();
        row(&"all", entries, None, &self.decided());
        table
    }

    fn topics_table(&self) -> Table {
        let mut table = Table::new(&[
            "partition",
            "topic",
            "expected",
            "found",
            "not retained",
            "missing",
            "without entry",
            "unproven",
            "newer",
        ]);
        for p in &self.partitions {
            for (topic, counts) in [("clean", &p.clean), ("quarantine", &p.quarantine)] {
                table.row(&[
                    &p.partition,
                    &topic,
                    &counts.expected,
                    &counts.found,
                    &counts.no_longer_retained,
                    &counts.missing,
                    &counts.without_entry,
                    &counts.unproven,
                    &counts.newer,
                ]);
            }
        }
        table
    }

    fn raw_table(&self) -> Table {
        let mut table = Table::new(&[
            "partition",
            "raw records counted again",
            "events",
            "not retained",
            "not recounted",
            "committed",
            "raw end",
            "lag",
        ]);
        let or_none = |number: Option<i64>| number.map_or("none".into(), |n| n.to_string());
        for p in &self.partitions {
            table.row(&[
                &p.partition,
                &p.raw.recounted,
                &p.raw.events,
                &p.raw.no_longer_retained,
                &p.raw.not_recounted,
                &or_none(p.committed),
                &p.raw_end,
                &or_none(p.lag()),
            ]);
        }
        table
    }
}

/// What became of the events, so that it adds up: what a person let through was quarantined
/// before.
fn sum_line(decided: &Counts) -> String {
    let admitted = match decided.admitted {
        0 => String::new(),
        admitted => format!(" ({admitted} admitted of those)"),
    };
    format!(
        "{} let through, {} absorbed, {} quarantined{admitted}",
        decided.first + decided.correction,
        decided.absorbed(),
        decided.quarantined_total(),
    )
}

fn span(offsets: Option<(i64, i64)>) -> String {
    offsets.map_or(String::new(), |(from, to)| format!("[{from}, {to})"))
}

impl fmt::Display for ReconcileReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((from, to)) = self.range {
            writeln!(f, "whole entries that touch raw offsets [{from}, {to})")?;
        }
        write!(f, "{}\n{}\n{}", self.counts_table(), self.topics_table(), self.raw_table())?;
        let decided = self.decided();
        if !decided.quarantined.is_empty() {
            writeln!(f)?;
        }
        for (reason, count) in &decided.quarantined {
            writeln!(f, "quarantined {reason}: {count}")?;
        }
        for p in self.partitions.iter().filter(|p| p.raw_stable < p.raw_end) {
            writeln!(
                f,
                "partition {}: a transaction is open on the raw topic at offset {}; what follows \
                 waits for its end",
                p.partition, p.raw_stable
            )?;
        }
        write!(f, "{}", self.findings)?;
        let wrong: u64 = self.findings.counts.values().sum();
        writeln!(
            f,
            "reconcile: route {}: {} records with {} events: {}; {wrong} wrong",
            self.route,
            decided.records,
            decided.events(),
            sum_line(&decided),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_adds_up_with_admitted_events() {
        let quarantined = [("late".into(), 10)].into();
        let decided =
            Counts { records: 16, first: 6, admitted: 2, quarantined, ..Counts::default() };
        assert_eq!(decided.events(), 16);
        let line = sum_line(&decided);
        assert_eq!(line, "6 let through, 0 absorbed, 10 quarantined (2 admitted of those)");
    }

    #[test]
    fn the_lag_begins_where_the_journal_ends() {
        let report = |committed, covered_to| PartitionReport {
            committed,
            covered_to,
            raw_start: 5,
            raw_end: 100,
            ..PartitionReport::default()
        };
        assert_eq!(report(Some(90), Some(40)).lag(), Some(60));
        assert_eq!(report(Some(30), Some(40)).lag(), Some(70));
        assert_eq!(report(Some(90), None).lag(), Some(95));
        assert_eq!(report(None, None).lag(), None);
    }
}
