//! `verify`: keys and digests follow from the clean payloads, no key stands twice, the chain is
//! whole, clean and journal hold the same events in the same order.
//!
//! Rows of both topics are sorted by event on disk, so that memory does not grow with the history.
//! Must not be in here: counts by range, quarantine, or the raw topic's records (`reconcile`).

mod join;
mod report;
mod row;
mod tests;

pub use join::{Bounds, Join, Matched};
pub use report::{PartitionReport, VerifyReport};
pub use row::{ROW_BYTES, Row, Witness};

use super::clean::{Claims, CleanFault, Recheck};
use super::cursor::{EvidenceError, Source};
use super::ends::{Ends, topic_id};
use super::finding::{Finding, Findings};
use super::journal_walk::JournalWalk;
use super::route::RouteUnderProof;
use super::rows::{Kind, let_through};
use super::sorter::Sorter;
use crate::gate::RawRecord;
use crate::journal::ChainHead;
use std::path::PathBuf;

/// Partition, clean offset, rank.
const ORDER_BYTES: usize = 20;
/// Entries and records read in one step.
const ENTRIES: usize = 64;
const RECORDS: usize = 20_000;

/// How to verify.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// Heads noted elsewhere, by partition.
    pub heads: Vec<(i32, ChainHead)>,
    /// Where rows are sorted.
    pub temp_dir: PathBuf,
    /// The journal's retention is limited: entries before its start are no fault.
    pub cut_allowed: bool,
}

/// Verifies a route.
///
/// # Errors
/// [`EvidenceError`] where the topics could not be read to their captured ends.
pub fn verify(
    source: &mut Source<'_>,
    route: &RouteUnderProof,
    options: &VerifyOptions,
) -> Result<VerifyReport, EvidenceError> {
    let partitions = source.ask(
        || format!("partitions of {}", route.journal),
        |logs| logs.partitions(&route.journal),
    )?;
    let mut collecting = Collecting {
        route,
        options,
        recheck: Recheck::new(route),
        rows: Sorter::new(&options.temp_dir),
        findings: Findings::default(),
        journal_id: topic_id(source, &route.journal)?,
    };
    let beyond = options.heads.iter().find(|(partition, _)| *partition >= partitions);
    if let Some((partition, _)) = beyond {
        return Err(EvidenceError::Unfit(format!(
            "--head names partition {partition}, {} has {partitions}",
            route.journal
        )));
    }
    let (mut reports, mut bounds) = (Vec::new(), Vec::new());
    for partition in 0..partitions {
        let ends = Ends::capture(source, route, partition)?;
        let (report, unproven_below) = collecting.journal(source, &ends, partition)?;
        bounds.push(Bounds {
            clean_low: ends.clean.low,
            clean_judged: ends.clean.judged,
            unproven_below,
        });
        let report = PartitionReport { clean_start: ends.clean.low, ..report };
        reports.push(collecting.clean(source, &ends, report)?);
    }
    let Collecting { rows, mut findings, .. } = collecting;
    let matched = join_rows(route, options, rows, &bounds, &mut findings)?;
    for (report, matched) in reports.iter_mut().zip(matched) {
        report.events = matched;
    }
    Ok(VerifyReport { route: route.name.clone(), partitions: reports, findings })
}

struct Collecting<'a> {
    route: &'a RouteUnderProof,
    options: &'a VerifyOptions,
    recheck: Recheck,
    rows: Sorter<ROW_BYTES>,
    findings: Findings,
    journal_id: Option<String>,
}

impl Collecting<'_> {
    /// Reads a journal partition. Gives also where the first entry begins, if those before it are
    /// gone.
    fn journal(
        &mut self,
        source: &mut Source<'_>,
        ends: &Ends,
        partition: i32,
    ) -> Result<(PartitionReport, Option<i64>), EvidenceError> {
        let (low, until) = ends.journal;
        let of_partition =
            |(number, head): &(i32, ChainHead)| (*number == partition).then_some(*head);
        let noted = self.options.heads.iter().filter_map(of_partition).collect();
        let mut walk = JournalWalk::new(self.route, partition, low, noted)
            .held_against(&self.route.group, ends.committed.as_ref(), self.journal_id.clone())
            .cut_allowed(self.options.cut_allowed);
        let mut cursor = source.open(&self.route.journal, partition, low, until)?;
        let (mut rank, mut begins_at, mut failed) = (0, None, None);
        while !cursor.is_done() {
            let mut show = |record: &RawRecord<'_>| {
                let Some(read) = walk.push(record, &mut self.findings) else { return };
                begins_at.get_or_insert(read.entry.header.from);
                for event in let_through(&read.entry) {
                    let row = Row {
                        key: event.key,
                        digest: event.digest,
                        source: super::SourcePosition {
                            partition,
                            offset: event.offset,
                            item: event.item,
                        },
                        witness: Witness::Journal { kind: event.kind, rank },
                        place: read.offset,
                        entry: match event.kind {
                            Kind::Admitted => read.entry.number,
                            _ => 0,
                        },
                    };
                    rank += 1;
                    failed = self.rows.push(row.to_bytes()).err().or(failed.take());
                }
            };
            source.step(&mut cursor, ENTRIES, &mut show)?;
            if let Some(error) = failed {
                return Err(error.into());
            }
        }
        walk.finish(&mut self.findings);
        let (first, head, last) = walk.state();
        let report = PartitionReport {
            partition,
            first_entry: first,
            head: head.map(|head| (head.number, hex::encode(head.hash))),
            decided_to: last.map_or(0, |last| last.to),
            ..PartitionReport::default()
        };
        Ok((report, walk.is_cut().then_some(begins_at.unwrap_or(i64::MAX))))
    }

    /// Reads a clean partition.
    fn clean(
        &mut self,
        source: &mut Source<'_>,
        ends: &Ends,
        mut report: PartitionReport,
    ) -> Result<PartitionReport, EvidenceError> {
        let (low, until) = (ends.clean.low, ends.clean.until);
        let mut cursor = source.open(&self.route.clean, report.partition, low, until)?;
        let mut failed = None;
        while !cursor.is_done() {
            let mut show = |record: &RawRecord<'_>| {
                report.clean_records += 1;
                let row = match self.clean_row(record) {
                    Ok(row) => row,
                    Err(fault) => return self.fault(record, &fault),
                };
                failed = self.rows.push(row.to_bytes()).err().or(failed.take());
            };
            source.step(&mut cursor, RECORDS, &mut show)?;
            if let Some(error) = failed {
                return Err(error.into());
            }
        }
        Ok(report)
    }

    fn clean_row(&mut self, record: &RawRecord<'_>) -> Result<Row, CleanFault> {
        let claims = Claims::read(record, self.route)?;
        if let Err(fault) = self.recheck.check(record.payload, &claims) {
            self.fault(record, &fault);
        }
        Ok(Row {
            key: claims.key,
            digest: claims.digest,
            source: claims.source,
            witness: Witness::Clean { kind: claims.kind },
            place: record.offset,
            entry: claims.entry,
        })
    }

    fn fault(&mut self, record: &RawRecord<'_>, fault: &CleanFault) {
        let (kind, route) = (fault.kind(), self.route);
        self.findings.add(kind, || Finding {
            kind,
            topic: route.clean.clone(),
            partition: record.partition,
            offset: Some(record.offset),
            what: fault.what(route),
        });
    }
}

/// Sorts and joins the rows, then looks at the order of the clean records.
fn join_rows(
    route: &RouteUnderProof,
    options: &VerifyOptions,
    rows: Sorter<ROW_BYTES>,
    bounds: &[Bounds],
    findings: &mut Findings,
) -> Result<Vec<Matched>, EvidenceError> {
    let mut order = Sorter::<ORDER_BYTES>::new(&options.temp_dir);
    let mut join = Join::new(route, bounds, findings);
    for row in rows.finish()? {
        if let Some(met) = join.push(&Row::from_bytes(&row?)) {
            order.push(order_row(met))?;
        }
    }
    let (met, matched) = join.finish();
    if let Some(met) = met {
        order.push(order_row(met))?;
    }
    let mut before: Option<(i32, u64)> = None;
    for row in order.finish()? {
        let (partition, offset, rank) = read_order_row(&row?);
        if before.is_some_and(|(last, highest)| last == partition && rank < highest) {
            findings.add("out-of-order", || Finding {
                kind: "out-of-order",
                topic: route.clean.clone(),
                partition,
                offset: Some(offset),
                what: "it stands behind a record that the journal let through later".to_owned(),
            });
            continue;
        }
        before = Some((partition, rank));
    }
    Ok(matched)
}

fn order_row((partition, offset, rank): (i32, i64, u64)) -> [u8; ORDER_BYTES] {
    let mut row = [0; ORDER_BYTES];
    row[..4].copy_from_slice(&partition.to_be_bytes());
    row[4..12].copy_from_slice(&offset.to_be_bytes());
    row[12..].copy_from_slice(&rank.to_be_bytes());
    row
}

fn read_order_row(row: &[u8; ORDER_BYTES]) -> (i32, i64, u64) {
    let (mut partition, mut offset, mut rank) = ([0; 4], [0; 8], [0; 8]);
    partition.copy_from_slice(&row[..4]);
    offset.copy_from_slice(&row[4..12]);
    rank.copy_from_slice(&row[12..]);
    (i32::from_be_bytes(partition), i64::from_be_bytes(offset), u64::from_be_bytes(rank))
}
