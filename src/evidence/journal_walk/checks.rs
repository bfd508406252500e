//! What an entry's header says, held against the route, its rows and the entries before it.
//! Must not be in here: the chain of hashes.

use super::{Finding, Findings, JournalWalk};
use crate::gate::Counts;
use crate::journal::entry::counts_of;
use crate::journal::packed::{ABSORBED_BYTES, FIRST_BYTES};
use crate::journal::{Entry, pb};

/// Whether a person went on here although the logs contradicted each other.
pub(in crate::evidence) fn is_adoption(entry: &Entry) -> bool {
    entry.header.kind == i32::from(pb::EntryKind::Adopt)
}

impl JournalWalk {
    pub(super) fn wrong(
        &self,
        findings: &mut Findings,
        kind: &'static str,
        offset: i64,
        what: String,
    ) {
        let (topic, partition) = (self.topic.clone(), self.partition);
        findings.add(kind, || Finding { kind, topic, partition, offset: Some(offset), what });
    }

    /// Takes the entry's range to those that are covered.
    pub(super) fn cover(&mut self, entry: &Entry) {
        let header = &entry.header;
        let to = match self.covered_to {
            // Offsets may mean other records from here on.
            _ if is_adoption(entry) => header.to,
            Some(to) => to.max(header.to),
            // The first entry that is there may be a replay of what deleted entries decided.
            None if entry.number > 1 => header.to.max(header.decided_to),
            None => header.to,
        };
        self.covered_to = Some(to);
    }

    /// Ranges follow each other without a hole; only a replay begins below, and decides nothing
    /// for the first time there.
    pub(super) fn check_range(&self, entry: &Entry, offset: i64, findings: &mut Findings) {
        let (header, number) = (&entry.header, entry.number);
        let Some(covered) = self.covered_to.filter(|_| !is_adoption(entry)) else { return };
        if header.from > covered {
            let what = format!(
                "raw offsets [{covered}, {}) are in no entry: entry {number} begins behind them, \
                 and what stands there was never decided",
                header.from
            );
            self.wrong(findings, "uncovered", offset, what);
        }
        let skipped_before = self.last.as_ref().map_or(&[][..], |last| &last.skipped);
        let was_skipped = (skipped_before.iter())
            .any(|skipped| skipped.from < header.to && header.from < skipped.to);
        let new = counts_of(header.counts.as_ref()).records;
        if header.to <= covered && new > 0 && !was_skipped {
            let what = format!(
                "entry {number} counts {new} records of [{}, {}) as decided for the first time, \
                 but entries before it cover them",
                header.from, header.to
            );
            self.wrong(findings, "journal-counts", offset, what);
        }
    }

    /// Whether the entry is of this route and recipe, its counts go with its rows, and its totals
    /// are the running sums.
    pub(super) fn check_header(&self, entry: &Entry, offset: i64, findings: &mut Findings) {
        let header = &entry.header;
        let number = entry.number;
        if header.route != self.label {
            let what = format!("entry {number} is not of route {}", self.label);
            self.wrong(findings, "journal-other-route", offset, what);
        }
        if header.recipe_fingerprint != self.fingerprint {
            let what = format!(
                "entry {number} was written by another recipe, so its keys cannot be derived again"
            );
            self.wrong(findings, "journal-other-recipe", offset, what);
        }
        if let Some(present) = &self.topic_id
            && header.journal_topic_id != *present
        {
            let what = format!(
                "entry {number} was written to a journal topic of another id: this topic was made \
                 anew and filled by hand"
            );
            self.wrong(findings, "journal-topic", offset, what);
        }
        let counts = counts_of(header.counts.as_ref());
        let replayed = counts_of(header.replay_counts.as_ref());
        let rows = |bytes: &[u8], width: usize| (bytes.len() / width) as u64;
        let pairs = [
            ("new", rows(&entry.rows.firsts, FIRST_BYTES), {
                counts.first + replayed.first + counts.admitted + replayed.admitted
            }),
            ("correction", rows(&entry.rows.corrections, FIRST_BYTES), {
                counts.correction + replayed.correction
            }),
            ("absorbed", rows(&entry.rows.absorbed, ABSORBED_BYTES), {
                counts.duplicate + replayed.duplicate
            }),
        ];
        for (name, rows, counted) in pairs.iter().filter(|(_, rows, counted)| rows != counted) {
            let what = format!("entry {number} counts {counted} {name} events and holds {rows}");
            self.wrong(findings, "journal-counts", offset, what);
        }
        self.check_totals(entry, &counts, &replayed, offset, findings);
    }

    fn check_totals(
        &self,
        entry: &Entry,
        counts: &Counts,
        replayed: &Counts,
        offset: i64,
        findings: &mut Findings,
    ) {
        let before = match &self.last {
            Some(last) => last.clone(),
            None if entry.number == 1 => pb::EntryHeader::default(),
            None => return,
        };
        let sums = [
            (before.total_counts.as_ref(), counts, entry.header.total_counts.as_ref()),
            (
                before.total_replay_counts.as_ref(),
                replayed,
                entry.header.total_replay_counts.as_ref(),
            ),
        ];
        for (before, now, total) in sums {
            let mut sum = counts_of(before);
            sum.merge(now);
            if sum != counts_of(total) {
                let what = format!(
                    "the totals of entry {} are not those of the entry before plus its own counts",
                    entry.number
                );
                self.wrong(findings, "journal-totals", offset, what);
            }
        }
    }
}
