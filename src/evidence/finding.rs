//! What an evidence command found to be wrong, by kind, with the first few of each named.
//! Must not be in here: how anything is found, or printing.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Every kind of finding, as `docs/evidence.md` explains them.
pub const KINDS: [&str; 27] = [
    "changed",
    "twice",
    "twice-in-journal",
    "two-partitions",
    "missing",
    "without-entry",
    "out-of-order",
    "not-of-oncegate",
    "other-route",
    "other-source",
    "other-verdict",
    "chain",
    "journal-record",
    "head",
    "journal-tail",
    "journal-topic",
    "journal-start",
    "journal-counts",
    "journal-totals",
    "journal-other-route",
    "journal-other-recipe",
    "uncovered",
    "offset-ahead",
    "raw",
    "quarantine",
    "quarantine-without-entry",
    "quarantine-not-of-oncegate",
];
/// How many findings of one kind are kept with their places.
const KEPT_OF_A_KIND: usize = 20;

/// One thing that is wrong, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A word for it that does not change.
    pub kind: &'static str,
    /// The topic that it is about.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The offset, where there is one.
    pub offset: Option<i64>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}/{}", self.kind, self.topic, self.partition)?;
        if let Some(offset) = self.offset {
            write!(f, "/{offset}")?;
        }
        write!(f, ": {}", self.what)
    }
}

/// All that was found: counted, and the first few of each kind kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// How many of each kind.
    pub counts: BTreeMap<&'static str, u64>,
    /// The first few of each kind.
    pub named: Vec<Finding>,
}

impl Findings {
    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Adds one; the place is made only where it is kept.
    pub fn add(&mut self, kind: &'static str, make: impl FnOnce() -> Finding) {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        if *count <= KEPT_OF_A_KIND as u64 {
            self.named.push(make());
        }
    }

    /// Adds some of one kind of which only `named` have places.
    pub fn add_counted(&mut self, kind: &'static str, count: u64, named: Vec<Finding>) {
        if count > 0 {
            *self.counts.entry(kind).or_default() += count;
            self.named.extend(named.into_iter().take(KEPT_OF_A_KIND));
        }
    }

    /// How many of a kind.
    pub fn count(&self, kind: &str) -> u64 {
        self.counts.get(kind).copied().unwrap_or(0)
    }

    /// Adds another's findings to these.
    pub fn merge(&mut self, other: Findings) {
        for (kind, count) in other.counts {
            *self.counts.entry(kind).or_default() += count;
        }
        self.named.extend(other.named);
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, count) in &self.counts {
            let named: Vec<&Finding> =
                self.named.iter().filter(|finding| finding.kind == *kind).collect();
            named.iter().try_for_each(|finding| writeln!(f, "{finding}"))?;
            let rest = count.saturating_sub(named.len() as u64);
            if rest > 0 {
                writeln!(f, "{kind}: and {rest} more")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted_and_few_are_kept() {
        let mut findings = Findings::default();
        for offset in 0..100 {
            findings.add("twice", || Finding {
                kind: "twice",
                topic: "clean".into(),
                partition: 1,
                offset: Some(offset),
                what: "again".into(),
            });
        }
        assert_eq!((findings.count("twice"), findings.named.len()), (100, KEPT_OF_A_KIND));
        let text = findings.to_string();
        assert!(text.starts_with("twice: clean/1/0: again\n"), "{text}");
        assert!(text.ends_with("twice: and 80 more\n"), "{text}");
    }
}
