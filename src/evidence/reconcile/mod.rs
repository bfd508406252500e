//! `reconcile`: every record and event that was read is in exactly one count of the journal, and
//! raw, clean and quarantine hold what the counts say.
//!
//! One pass over each log, partition by partition; what waits for its counterpart in another log
//! is bounded. Must not be in here: keys and digests derived again, or the chain (`verify`).

mod clean_walk;
mod quarantine_walk;
mod raw_walk;
mod report;
mod tally;

pub use clean_walk::{CleanSeen, CleanWalk, OutputCounts, WalkBounds};
pub use quarantine_walk::{EntryQuarantined, QuarantineWalk};
pub use raw_walk::{RawWalk, Recount};
pub use report::{PartitionReport, ReconcileReport};
pub use tally::{Sums, Tally};

use super::clean::Claims;
use super::cursor::{Cursor, EvidenceError, Source};
use super::ends::{Ends, topic_id};
use super::finding::{Finding, Findings};
use super::journal_walk::JournalWalk;
use super::quarantined::Quarantined;
use super::route::RouteUnderProof;
use super::rows::let_through;
use crate::gate::{Counts, RawRecord};
use crate::identity::{Deriver, Granularity};
use crate::journal::entry::counts_of;

/// Entries and records read in one step.
const ENTRIES: usize = 8;
const RECORDS: usize = 10_000;

/// Raw offsets of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetRange {
    /// Partition.
    pub partition: i32,
    /// First offset.
    pub from: i64,
    /// One past the last.
    pub to: i64,
}

/// Which part of the history is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReconcileOptions {
    /// Whole entries that touch this range, of one partition; without it everything.
    pub range: Option<OffsetRange>,
    /// The journal's retention is limited: entries before its start are no fault.
    pub cut_allowed: bool,
}

/// Reconciles a route.
///
/// # Errors
/// [`EvidenceError`] where the topics could not be read to their captured ends.
pub fn reconcile(
    source: &mut Source<'_>,
    route: &RouteUnderProof,
    options: &ReconcileOptions,
) -> Result<ReconcileReport, EvidenceError> {
    let partitions = source.ask(
        || format!("partitions of {}", route.journal),
        |logs| logs.partitions(&route.journal),
    )?;
    let chosen = match options.range {
        Some(range) if range.partition >= partitions => {
            return Err(EvidenceError::Unfit(format!(
                "--partition {}: {} has {partitions}",
                range.partition, route.journal
            )));
        }
        Some(range) => range.partition..range.partition + 1,
        None => 0..partitions,
    };
    let journal_id = topic_id(source, &route.journal)?;
    let (mut reports, mut findings) = (Vec::new(), Findings::default());
    for partition in chosen {
        let ends = Ends::capture(source, route, partition)?;
        let mut walks = Walks::open(source, route, options, partition, &ends, journal_id.clone())?;
        walks.run(source)?;
        let (report, found) = walks.finish(&ends);
        reports.push(report);
        findings.merge(found);
    }
    let range = options.range;
    Ok(ReconcileReport {
        route: route.name.clone(),
        range: range.map(|range| (range.from, range.to)),
        partitions: reports,
        findings,
    })
}

/// The walks over the logs of one partition.
struct Walks<'a> {
    route: &'a RouteUnderProof,
    options: &'a ReconcileOptions,
    partition: i32,
    findings: Findings,
    tally: Tally,
    journal: JournalWalk,
    clean: CleanWalk,
    quarantine: QuarantineWalk,
    raw: RawWalk,
    deriver: Deriver,
    journal_log: Cursor,
    clean_log: Cursor,
    quarantine_log: Cursor,
    /// Opened where the first range begins.
    raw_log: Option<Cursor>,
    raw_until: i64,
}

impl<'a> Walks<'a> {
    fn open(
        source: &mut Source<'_>,
        route: &'a RouteUnderProof,
        options: &'a ReconcileOptions,
        partition: i32,
        ends: &Ends,
        journal_id: Option<String>,
    ) -> Result<Walks<'a>, EvidenceError> {
        let bounds = |topic: &str, ends: &super::OutputEnds| WalkBounds {
            topic: topic.to_owned(),
            raw: route.raw.clone(),
            itemized: route.is_itemized(),
            partition,
            low: ends.low,
            judged: ends.judged,
        };
        let (journal_low, journal_until) = ends.journal;
        let mut open = |topic: &str, from, until| source.open(topic, partition, from, until);
        Ok(Walks {
            findings: Findings::default(),
            tally: Tally::default(),
            journal: JournalWalk::new(route, partition, journal_low, Vec::new())
                .held_against(&route.group, ends.committed.as_ref(), journal_id)
                .cut_allowed(options.cut_allowed),
            clean: CleanWalk::new(bounds(&route.clean, &ends.clean)),
            quarantine: QuarantineWalk::new(bounds(&route.quarantine, &ends.quarantine)),
            raw: RawWalk::new(route.raw.clone(), partition, ends.raw.low),
            deriver: Deriver::new(route.recipe.clone()),
            journal_log: open(&route.journal, journal_low, journal_until)?,
            clean_log: open(&route.clean, ends.clean.low, ends.clean.until)?,
            quarantine_log: open(&route.quarantine, ends.quarantine.low, ends.quarantine.until)?,
            raw_log: None,
            raw_until: ends.raw.high,
            route,
            options,
            partition,
        })
    }

    /// Reads whichever log the walks wait for; the journal only when none does, so that little
    /// waits.
    fn run(&mut self, source: &mut Source<'_>) -> Result<(), EvidenceError> {
        loop {
            let journal_done = self.journal_log.is_done();
            self.clean.advance(journal_done, self.clean_log.is_done(), &mut self.findings);
            let quarantine_done = self.quarantine_log.is_done();
            self.quarantine.advance(journal_done, quarantine_done, &mut self.findings);
            self.raw.advance();
            let wants = |hungry: bool, log: &Cursor| (hungry || journal_done) && !log.is_done();
            if wants(self.clean.is_hungry(), &self.clean_log) {
                self.read_clean(source)?;
            } else if wants(self.quarantine.is_hungry(), &self.quarantine_log) {
                self.read_quarantine(source)?;
            } else if self.raw.is_hungry() {
                self.read_raw(source)?;
            } else if !journal_done {
                self.read_journal(source)?;
            } else {
                self.journal.finish(&mut self.findings);
                return Ok(());
            }
        }
    }

    fn read_journal(&mut self, source: &mut Source<'_>) -> Result<(), EvidenceError> {
        let Walks { journal, tally, clean, quarantine, raw, findings, .. } = self;
        let (range, granularity) = (self.options.range, self.route.recipe.granularity());
        let (topic, partition) = (&self.route.journal, self.partition);
        let mut show = |record: &RawRecord<'_>| {
            let Some(read) = journal.push(record, findings) else { return };
            let header = &read.entry.header;
            if tally.is_empty() && read.entry.number > 1 {
                clean.unproven_below(header.from);
                quarantine.unproven_below(header.from);
            }
            let in_range = range.is_none_or(|range| touches(&range, header.from, header.to));
            let counts = counts_of(header.counts.as_ref());
            let replayed = counts_of(header.replay_counts.as_ref());
            for event in let_through(&read.entry) {
                clean.due(event, in_range);
            }
            quarantine.due(EntryQuarantined {
                number: read.entry.number,
                range: (header.from, header.to),
                reasons: reasons(&counts, &replayed),
                in_range,
            });
            let one_each = granularity == Granularity::Record;
            for counts in [&counts, &replayed] {
                if one_each && counts.events() != counts.records {
                    findings.add("journal-counts", || Finding {
                        kind: "journal-counts",
                        topic: topic.clone(),
                        partition,
                        offset: Some(read.offset),
                        what: format!(
                            "entry {} counts {} records and {} events, though each record is one",
                            read.entry.number,
                            counts.records,
                            counts.events()
                        ),
                    });
                }
            }
            tally.add(&read, &counts, &replayed, in_range);
            if in_range {
                raw.due(&read);
            }
        };
        source.step(&mut self.journal_log, ENTRIES, &mut show)
    }

    fn read_clean(&mut self, source: &mut Source<'_>) -> Result<(), EvidenceError> {
        let Walks { clean, findings, route, .. } = self;
        let mut show = |record: &RawRecord<'_>| match Claims::read(record, route) {
            Ok(claims) => clean.see(CleanSeen {
                place: record.offset,
                key: claims.key,
                digest: claims.digest,
                source: claims.source,
            }),
            Err(fault) => findings.add(fault.kind(), || Finding {
                kind: fault.kind(),
                topic: route.clean.clone(),
                partition: record.partition,
                offset: Some(record.offset),
                what: fault.what(route),
            }),
        };
        source.step(&mut self.clean_log, RECORDS, &mut show)
    }

    fn read_quarantine(&mut self, source: &mut Source<'_>) -> Result<(), EvidenceError> {
        let Walks { quarantine, findings, route, .. } = self;
        let mut show = |record: &RawRecord<'_>| match Quarantined::read(record, route) {
            Ok(read) => quarantine.see(record.offset, read),
            Err(header) => findings.add("quarantine-not-of-oncegate", || Finding {
                kind: "quarantine-not-of-oncegate",
                topic: route.quarantine.clone(),
                partition: record.partition,
                offset: Some(record.offset),
                what: format!(
                    "its header `{header}` is missing, or names another route or raw partition"
                ),
            }),
        };
        source.step(&mut self.quarantine_log, RECORDS, &mut show)
    }

    fn read_raw(&mut self, source: &mut Source<'_>) -> Result<(), EvidenceError> {
        if self.raw_log.is_none() {
            let from = self.raw.wants_from().unwrap_or(0);
            let (topic, until) = (&self.route.raw, self.raw_until);
            self.raw_log = Some(source.open(topic, self.partition, from, until)?);
        }
        let Walks { raw, deriver, raw_log: Some(log), .. } = self else {
            return Ok(());
        };
        if log.is_done() {
            raw.passed(i64::MAX);
            return Ok(());
        }
        let one_each = deriver.recipe().granularity() == Granularity::Record;
        let mut show = |record: &RawRecord<'_>| {
            let events = match record.payload {
                Some(payload) if !one_each => {
                    deriver.derive(payload).map_or(1, |events| events.len() as u64)
                }
                _ => 1,
            };
            raw.see(record.offset, events);
        };
        source.step(log, RECORDS, &mut show)?;
        raw.passed(log.next());
        Ok(())
    }

    fn finish(mut self, ends: &Ends) -> (PartitionReport, Findings) {
        let report = PartitionReport {
            partition: self.partition,
            sums: self.tally.finish(),
            raw: self.raw.finish(&mut self.findings),
            clean: self.clean.finish(),
            quarantine: self.quarantine.finish(),
            committed: ends.committed.as_ref().map(|committed| committed.offset),
            covered_to: self.journal.covered_to(),
            raw_start: ends.raw.low,
            raw_stable: ends.raw.stable,
            raw_end: ends.raw.high,
        };
        (report, self.findings)
    }
}

/// Whether an entry's range, or its empty place, touches the range that is asked for.
fn touches(range: &OffsetRange, from: i64, to: i64) -> bool {
    from < range.to && (to > range.from || (from == to && from >= range.from))
}

fn reasons(
    counts: &Counts,
    replayed: &Counts,
) -> std::collections::BTreeMap<std::borrow::Cow<'static, str>, u64> {
    let mut sum = counts.quarantined.clone();
    for (reason, count) in &replayed.quarantined {
        *sum.entry(reason.clone()).or_default() += count;
    }
    sum.retain(|_, count| *count > 0);
    sum
}
