//! `lookup`: whether one event was seen, when, and what became of it.
//! Must not be in here: whether the topics agree (`verify`).

use super::clean::Claims;
use super::cursor::{EvidenceError, Source};
use super::ends::Ends;
use super::finding::Findings;
use super::journal_walk::{JournalWalk, ReadEntry};
use super::quarantined::Quarantined;
use super::route::RouteUnderProof;
use super::rows::{Kind, let_through};
use super::source_header::SourcePosition;
use crate::gate::{RawRecord, SightingKey};
use crate::identity::{ContentDigest, EventKey};
use crate::journal::packed::{unpack_absorbed, unpack_firsts};
use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// How many deliveries of one event are told one by one.
const TOLD_MAX: usize = 50;
/// Verdicts with a clean record.
const LET_THROUGH: [&str; 3] = ["first", "correction", "admitted"];

/// What became of one delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Delivery {
    /// `first`, `correction`, `admitted`, `duplicate`, `conflict`, or a reason of quarantine.
    pub verdict: String,
    /// Raw position; of a duplicate the range of its entry is known only.
    pub raw: Option<SourcePosition>,
    #[serde(skip)]
    itemized: bool,
    /// Raw partition and range of the entry that decided it.
    pub range: Option<(i32, i64, i64)>,
    /// Journal partition and offset of that entry, or the quarantine's.
    pub place: (i32, i64),
    /// When the broker took it.
    pub at: Option<String>,
    /// Content digest, where it is told.
    pub digest: Option<String>,
    /// Clean partition and offset, where it was let through and is still there.
    pub clean: Option<(i32, i64)>,
    /// Why there is no clean record of what was let through.
    pub no_clean: Option<&'static str>,
}

/// What is known of one key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// 64 hex digits.
    pub key: String,
    /// Deliveries: those let through, absorbed, in conflict, and quarantined. A person's act is
    /// none: what it let through was quarantined before.
    pub loads: u64,
    /// How many by verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// The first of them, in the order of the topics.
    pub deliveries: Vec<Delivery>,
    #[serde(skip)]
    bytes: Option<EventKey>,
    /// What a person let through and whose quarantine record was not met.
    #[serde(skip)]
    admitted: Vec<SourcePosition>,
    /// Sighting keys of its corrections.
    #[serde(skip)]
    corrections: Vec<EventKey>,
}

impl Seen {
    fn new(key: EventKey) -> Seen {
        Seen { key: key.to_string(), bytes: Some(key), ..Seen::default() }
    }

    fn add(&mut self, delivery: Delivery) {
        match (&*delivery.verdict, delivery.raw) {
            ("admitted", Some(raw)) => self.admitted.push(raw),
            _ => self.loads += 1,
        }
        *self.verdicts.entry(delivery.verdict.clone()).or_default() += 1;
        if self.deliveries.len() < TOLD_MAX {
            self.deliveries.push(delivery);
        }
    }

    /// All that is known of it, acts among it.
    fn known(&self) -> u64 {
        self.verdicts.values().sum()
    }

    fn is(&self, key: &EventKey) -> bool {
        self.bytes.as_ref() == Some(key)
    }
}

/// All keys that were asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LookupReport {
    /// Route.
    pub route: String,
    /// By key, in the order asked.
    pub events: Vec<Seen>,
    /// Journal partitions whose first entries are gone, with the number of the first that is
    /// there: an event that was seen before is not known.
    pub cut: Vec<(i32, u64)>,
    /// What is wrong with the journal that was read.
    pub findings: Findings,
}

/// Looks keys up.
///
/// # Errors
/// [`EvidenceError`] where the topics could not be read to their captured ends.
pub fn lookup(
    source: &mut Source<'_>,
    route: &RouteUnderProof,
    keys: &[EventKey],
) -> Result<LookupReport, EvidenceError> {
    let partitions = source.ask(
        || format!("partitions of {}", route.journal),
        |logs| logs.partitions(&route.journal),
    )?;
    let mut report = LookupReport {
        route: route.name.clone(),
        events: keys.iter().map(|key| Seen::new(*key)).collect(),
        cut: Vec::new(),
        findings: Findings::default(),
    };
    for partition in 0..partitions {
        let ends = Ends::capture(source, route, partition)?;
        read_journal(source, route, &ends, partition, &mut report)?;
        read_clean(source, route, &ends, partition, &mut report)?;
        read_quarantine(source, route, &ends, partition, &mut report)?;
    }
    for seen in &mut report.events {
        // Its delivery is known by the act alone: the quarantine record is no longer there.
        seen.loads += seen.admitted.len() as u64;
    }
    Ok(report)
}

fn read_journal(
    source: &mut Source<'_>,
    route: &RouteUnderProof,
    ends: &Ends,
    partition: i32,
    report: &mut LookupReport,
) -> Result<(), EvidenceError> {
    let (low, until) = ends.journal;
    let mut walk = JournalWalk::new(route, partition, low, Vec::new()).cut_allowed(true);
    let mut cursor = source.open(&route.journal, partition, low, until)?;
    let (events, findings) = (&mut report.events, &mut report.findings);
    source.read_all(&mut cursor, &mut |record| {
        if let Some(read) = walk.push(record, findings) {
            events.iter_mut().for_each(|seen| note_entry(seen, route, partition, &read));
        }
    })?;
    walk.finish(&mut report.findings);
    if walk.is_cut() {
        report.cut.push((partition, walk.state().0.unwrap_or(0)));
    }
    Ok(())
}

fn note_entry(seen: &mut Seen, route: &RouteUnderProof, partition: i32, read: &ReadEntry) {
    let header = &read.entry.header;
    let itemized = route.is_itemized();
    let delivery = |verdict: &str, at: Option<(i64, u32, ContentDigest)>| Delivery {
        verdict: verdict.to_owned(),
        raw: at.map(|(offset, item, _)| SourcePosition { partition, offset, item }),
        itemized,
        range: Some((partition, header.from, header.to)),
        place: (partition, read.offset),
        at: time(read.appended_ms),
        digest: at.map(|(.., digest)| digest.to_string()),
        clean: None,
        no_clean: None,
    };
    for row in let_through(&read.entry) {
        if !seen.is(&row.key) {
            continue;
        }
        if row.kind == Kind::Correction {
            seen.corrections
                .push(SightingKey::of_event(row.key, None).of_correction(&row.digest).key);
        }
        seen.add(delivery(row.kind.as_str(), Some((row.offset, row.item, row.digest))));
    }
    for row in unpack_firsts(&read.entry.rows.conflicts, read.entry.base()) {
        if seen.is(&row.key.key) {
            seen.add(delivery("conflict", Some((row.offset, row.item, row.digest))));
        }
    }
    for row in unpack_absorbed(&read.entry.rows.absorbed) {
        if seen.is(&row.key) || seen.corrections.contains(&row.key) {
            seen.add(delivery("duplicate", None));
        }
    }
}

/// Finds the clean records of what was let through on a partition.
fn read_clean(
    source: &mut Source<'_>,
    route: &RouteUnderProof,
    ends: &Ends,
    partition: i32,
    report: &mut LookupReport,
) -> Result<(), EvidenceError> {
    let here = |seen: &Seen| {
        let mut deliveries = seen.deliveries.iter();
        deliveries.any(|one| one.place.0 == partition && one.raw.is_some())
    };
    if !report.events.iter().any(here) {
        return Ok(());
    }
    let mut cursor = source.open(&route.clean, partition, ends.clean.low, ends.clean.until)?;
    let events = &mut report.events;
    source.read_all(&mut cursor, &mut |record: &RawRecord<'_>| {
        let Ok(claims) = Claims::read(record, route) else { return };
        let of_key = events.iter_mut().filter(|seen| seen.is(&claims.key));
        let digest = || Some(claims.digest.to_string());
        of_key.flat_map(|seen| &mut seen.deliveries).for_each(|one| {
            if one.raw == Some(claims.source) && one.clean.is_none() && one.digest == digest() {
                one.clean = Some((partition, record.offset));
            }
        });
    })?;
    let why = match ends.clean.low {
        0 => "missing from the clean topic: run `oncegate verify`",
        _ => "no longer retained in the clean topic",
    };
    for one in report.events.iter_mut().flat_map(|seen| &mut seen.deliveries) {
        let let_through = LET_THROUGH.contains(&one.verdict.as_str());
        if let_through && one.place.0 == partition && one.clean.is_none() {
            one.no_clean = Some(why);
        }
    }
    Ok(())
}

/// Finds events of these keys that were quarantined.
fn read_quarantine(
    source: &mut Source<'_>,
    route: &RouteUnderProof,
    ends: &Ends,
    partition: i32,
    report: &mut LookupReport,
) -> Result<(), EvidenceError> {
    let (low, until) = (ends.quarantine.low, ends.quarantine.until);
    let mut cursor = source.open(&route.quarantine, partition, low, until)?;
    let events = &mut report.events;
    source.read_all(&mut cursor, &mut |record: &RawRecord<'_>| {
        let Ok(read) = Quarantined::read(record, route) else { return };
        for seen in events.iter_mut().filter(|seen| read.key.is_some_and(|key| seen.is(&key))) {
            seen.admitted.retain(|raw| *raw != read.source);
            // The journal has told of it already, where it keeps conflicts.
            let told = |one: &Delivery| one.raw == Some(read.source) && one.verdict == "conflict";
            if &*read.reason == "conflict" && seen.deliveries.iter().any(told) {
                continue;
            }
            seen.add(Delivery {
                verdict: format!("quarantined: {}", read.reason),
                raw: Some(read.source),
                itemized: read.itemized,
                range: None,
                place: (partition, record.offset),
                at: time(record.timestamp.ms()),
                digest: None,
                clean: None,
                no_clean: None,
            });
        }
    })
}

fn time(ms: Option<i64>) -> Option<String> {
    let time: DateTime<Utc> = DateTime::from_timestamp_millis(ms?)?;
    Some(time.to_rfc3339_opts(SecondsFormat::Millis, true))
}

impl fmt::Display for LookupReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for seen in &self.events {
            writeln!(f, "key {}", seen.key)?;
            if seen.known() == 0 {
                writeln!(f, "  never seen")?;
            } else {
                let deliveries = seen.verdicts.iter().filter(|(name, _)| *name != "admitted");
                let verdicts = deliveries.map(|(name, count)| format!("{count} {name}"));
                let verdicts = verdicts.collect::<Vec<_>>().join(", ");
                let times = if seen.loads == 1 { "time" } else { "times" };
                write!(f, "  seen {} {times}: {verdicts}", seen.loads)?;
                match seen.verdicts.contains_key("admitted") {
                    true => writeln!(f, "; let through by a person")?,
                    false => writeln!(f)?,
                }
            }
            seen.deliveries.iter().try_for_each(|one| writeln!(f, "  {one}"))?;
            let rest = seen.known().saturating_sub(seen.deliveries.len() as u64);
            if rest > 0 {
                writeln!(f, "  and {rest} more")?;
            }
        }
        for (partition, first) in &self.cut {
            match first {
                0 => writeln!(f, "journal partition {partition}: all entries were deleted")?,
                _ => writeln!(
                    f,
                    "journal partition {partition}: entries before {first} are no longer there; \
                     what was seen before is not known"
                )?,
            }
        }
        write!(f, "{}", self.findings)
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.verdict)?;
        if let Some(at) = &self.at {
            write!(f, " at {at}")?;
        }
        match (&self.raw, &self.range) {
            (Some(raw), _) => write!(f, ", raw {}", raw.shown(self.itemized))?,
            (None, Some((partition, from, to))) => {
                write!(f, ", raw {partition} within [{from}, {to})")?;
            }
            (None, None) => {}
        }
        match (self.clean, self.no_clean) {
            (Some((partition, offset)), _) => write!(f, ", clean {partition}/{offset}"),
            (None, Some(why)) => write!(f, ", {why}"),
            (None, None) => Ok(()),
        }
    }
}
