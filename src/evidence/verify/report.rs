//! What `verify` says: a row for each partition, the heads to note elsewhere, and what is wrong.
//! Must not be in here: how it was found.

use super::join::Matched;
use crate::evidence::finding::Findings;
use serde::Serialize;
use std::fmt;

/// One partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PartitionReport {
    /// Its number.
    pub partition: i32,
    /// Number of the first entry that is there.
    pub first_entry: Option<u64>,
    /// Number and hash of the last entry.
    pub head: Option<(u64, String)>,
    /// One past the last raw offset that is decided.
    pub decided_to: i64,
    /// Where the clean log begins.
    pub clean_start: i64,
    /// Clean records read.
    pub clean_records: u64,
    /// Journal and clean held against each other.
    pub events: Matched,
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// Route.
    pub route: String,
    /// By partition.
    pub partitions: Vec<PartitionReport>,
    /// What is wrong.
    pub findings: Findings,
}

impl VerifyReport {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

impl fmt::Display for VerifyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = crate::evidence::table::Table::new(&[
            "partition",
            "entries",
            "clean",
            "let through",
            "in clean",
            "not retained",
            "missing",
            "without entry",
            "unproven",
            "newer",
        ]);
        for p in &self.partitions {
            let entries = match (p.first_entry, &p.head) {
                (Some(first), Some((last, _))) => format!("{first}-{last}"),
                _ => "none".to_owned(),
            };
            let events = &p.events;
            table.row(&[
                &p.partition,
                &entries,
                &p.clean_records,
                &events.let_through,
                &events.in_clean,
                &events.no_longer_retained,
                &events.missing,
                &events.without_entry,
                &events.unproven,
                &events.newer,
            ]);
        }
        write!(f, "{table}")?;
        for p in &self.partitions {
            if let Some((number, hash)) = &p.head {
                writeln!(f, "head {}:{number}:{hash}", p.partition)?;
            }
        }
        write!(f, "{}", self.findings)?;
        let wrong: u64 = self.findings.counts.values().sum();
        writeln!(f, "verify: route {}: {wrong} wrong", self.route)
    }
}
