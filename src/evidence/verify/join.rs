//! The rows of journal and clean, sorted by event, held against each other.
//! Must not be in here: where rows come from; the order of clean records (`order`).

use super::row::{Row, Witness};
use crate::evidence::finding::{Finding, Findings};
use crate::evidence::route::RouteUnderProof;
use crate::evidence::rows::Kind;
use crate::evidence::source_header::SourcePosition;
use crate::identity::{ContentDigest, EventKey};
use std::collections::BTreeMap;

/// How many rows without a clean record are kept with their places, by partition.
const UNMATCHED_KEPT: usize = 20;

/// What has to be known of a partition before its rows are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// First offset of the clean log.
    pub clean_low: i64,
    /// Clean records from here on may be newer than the journal's captured end.
    pub clean_judged: i64,
    /// Where the first entry that is there begins, if entries before it are gone.
    pub unproven_below: Option<i64>,
}

/// How the rows of a partition came out.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Matched {
    /// Events that the journal says were let through.
    pub let_through: u64,
    /// Of these, with a clean record.
    pub in_clean: u64,
    /// Of these, below the clean log's start.
    pub no_longer_retained: u64,
    /// Of these, with no clean record though it should be there.
    pub missing: u64,
    /// Clean records that no entry speaks of.
    pub without_entry: u64,
    /// Clean records from before the first entry that is there.
    pub unproven: u64,
    /// Clean records that came after the ends were captured.
    pub newer: u64,
    #[serde(skip)]
    rank_min: Option<u64>,
    #[serde(skip)]
    unmatched: BTreeMap<u64, (SourcePosition, Kind)>,
}

/// All rows of one raw position with one key and digest.
#[derive(Default)]
struct Places {
    rows: u64,
    row: Option<(Kind, u64, i64)>,
    clean: u64,
    clean_first: Option<i64>,
    /// Why it was let through, and by which act: as the journal says, and as clean says.
    said: [Option<(Kind, u64)>; 2],
}

/// Where an event was let through first.
struct Home {
    source: SourcePosition,
    clean: Option<i64>,
}

/// Takes sorted rows.
pub struct Join<'a> {
    route: &'a RouteUnderProof,
    bounds: &'a [Bounds],
    partitions: Vec<Matched>,
    findings: &'a mut Findings,
    at: Option<(EventKey, ContentDigest, SourcePosition)>,
    places: Places,
    /// Of the key at hand.
    home: Option<Home>,
    on_two: bool,
    /// First or admitted row of the key at hand, by partition.
    based: Option<SourcePosition>,
    /// Clean record of key, digest and partition at hand.
    clean_before: Option<i64>,
}

impl<'a> Join<'a> {
    /// For partitions with these bounds.
    pub fn new(
        route: &'a RouteUnderProof,
        bounds: &'a [Bounds],
        findings: &'a mut Findings,
    ) -> Join<'a> {
        Join {
            route,
            bounds,
            partitions: vec![Matched::default(); bounds.len()],
            findings,
            at: None,
            places: Places::default(),
            home: None,
            on_two: false,
            based: None,
            clean_before: None,
        }
    }

    /// Takes the next row. Gives partition, clean offset and rank where a clean record meets the
    /// row of its event.
    pub fn push(&mut self, row: &Row) -> Option<(i32, i64, u64)> {
        let met = match self.at {
            Some(at) if at == (row.key, row.digest, row.source) => None,
            before => {
                let met = self.close_places();
                let key = before.map(|(key, ..)| key);
                if key != Some(row.key) {
                    (self.home, self.on_two, self.based) = (None, false, None);
                }
                let same = before.is_some_and(|(key, digest, source)| {
                    let partition = source.partition == row.source.partition;
                    key == row.key && digest == row.digest && partition
                });
                if !same {
                    self.clean_before = None;
                }
                self.at = Some((row.key, row.digest, row.source));
                met
            }
        };
        match row.witness {
            Witness::Journal { kind, rank } => {
                self.places.rows += 1;
                self.places.said[0].get_or_insert((kind, row.entry));
                self.places.row.get_or_insert((kind, rank, row.place));
                self.check_based(row, kind);
            }
            Witness::Clean { kind } => {
                self.places.said[1].get_or_insert((kind, row.entry));
                self.places.clean += 1;
                self.places.clean_first.get_or_insert(row.place);
                self.check_twice(row);
            }
        }
        met
    }

    /// After the last row: as [`Join::push`], and the outcome of each partition.
    pub fn finish(mut self) -> (Option<(i32, i64, u64)>, Vec<Matched>) {
        let met = self.close_places();
        for partition in 0..self.partitions.len() {
            self.close_partition(partition);
        }
        (met, self.partitions)
    }

    fn finding(&mut self, kind: &'static str, topic: &str, place: (i32, i64), what: String) {
        let (partition, offset) = (place.0, Some(place.1));
        let topic = topic.to_owned();
        self.findings.add(kind, || Finding { kind, topic, partition, offset, what });
    }

    /// A key has one first or admitted row in a partition.
    fn check_based(&mut self, row: &Row, kind: Kind) {
        if kind == Kind::Correction {
            return;
        }
        if let Some(before) = self.based.filter(|at| at.partition == row.source.partition) {
            let what = format!(
                "an entry lets raw {} through, whose key {} was let through as raw {} already",
                self.route.place(row.source),
                row.key,
                self.route.place(before)
            );
            let place = (row.source.partition, row.place);
            self.finding("twice-in-journal", &self.route.journal, place, what);
        }
        self.based = Some(row.source);
    }

    fn check_twice(&mut self, row: &Row) {
        if let Some(before) = self.clean_before {
            let what = format!(
                "key {} stands twice: at offset {before} and at offset {}, from raw {}",
                row.key,
                row.place,
                self.route.place(row.source)
            );
            let place = (row.source.partition, row.place.max(before));
            self.finding("twice", &self.route.clean, place, what);
        }
        self.clean_before = Some(row.place);
    }

    fn close_places(&mut self) -> Option<(i32, i64, u64)> {
        let places = std::mem::take(&mut self.places);
        let (key, _, source) = self.at?;
        let number = usize::try_from(source.partition).ok()?;
        let partition = self.partitions.get_mut(number)?;
        partition.let_through += places.rows;
        if places.row.is_some() {
            self.check_home(key, source, places.clean_first);
            self.check_kind(source, &places);
        }
        let partition = &mut self.partitions[number];
        match (places.row, places.clean_first) {
            (Some((_, rank, _)), Some(clean)) => {
                partition.in_clean += places.rows;
                partition.rank_min = Some(partition.rank_min.map_or(rank, |min| min.min(rank)));
                Some((source.partition, clean, rank))
            }
            (Some((kind, rank, _)), None) => {
                partition.missing += places.rows;
                partition.unmatched.insert(rank, (source, kind));
                if partition.unmatched.len() > UNMATCHED_KEPT {
                    partition.unmatched.pop_first();
                }
                None
            }
            (None, Some(clean)) => {
                self.without_entry(key, source, clean);
                None
            }
            (None, None) => None,
        }
    }

    /// Only a correction says that it corrects, and only an admitted event that it was admitted.
    fn check_kind(&mut self, source: SourcePosition, places: &Places) {
        let ([Some(journal), Some(by_headers)], Some(clean)) = (places.said, places.clean_first)
        else {
            return;
        };
        if journal != by_headers {
            let of = |(kind, entry): (Kind, u64)| match kind {
                Kind::Admitted => format!("admitted by entry {entry}"),
                kind => kind.as_str().to_owned(),
            };
            let what = format!(
                "its headers `oncegate-corrects` and `oncegate-admitted` say: {}; the journal: {}",
                of(by_headers),
                of(journal)
            );
            self.finding("other-verdict", &self.route.clean, (source.partition, clean), what);
        }
    }

    /// An event is let through on one partition only.
    fn check_home(&mut self, key: EventKey, source: SourcePosition, clean: Option<i64>) {
        let Some(home) = &self.home else {
            self.home = Some(Home { source, clean });
            return;
        };
        if home.source.partition == source.partition || self.on_two {
            return;
        }
        self.on_two = true;
        let place = |source: SourcePosition, clean: Option<i64>| match clean {
            Some(offset) => format!(
                "raw {} (clean {}/{}/{offset})",
                self.route.place(source),
                self.route.clean,
                source.partition
            ),
            None => format!("raw {}", self.route.place(source)),
        };
        let what = format!(
            "{} and {} are one event (key {key}) on two partitions. Its producers sent it to \
             both, and a route by source trusts them not to: mend them, or set `partitioning = \
             \"by-key\"`",
            place(home.source, home.clean),
            place(source, clean)
        );
        let (topic, at) = match clean {
            Some(offset) => (&self.route.clean, offset),
            None => (&self.route.raw, source.offset),
        };
        self.finding("two-partitions", topic, (source.partition, at), what);
    }

    fn without_entry(&mut self, key: EventKey, source: SourcePosition, clean: i64) {
        let bounds = self.bounds[source.partition as usize];
        let partition = &mut self.partitions[source.partition as usize];
        if bounds.unproven_below.is_some_and(|below| source.offset < below) {
            partition.unproven += 1;
            return;
        }
        if clean >= bounds.clean_judged {
            partition.newer += 1;
            return;
        }
        partition.without_entry += 1;
        let what = format!(
            "no entry of the journal lets raw {} through with key {key} and this content: the \
             record was put in by hand, or its headers were changed",
            self.route.place(source)
        );
        self.finding("without-entry", &self.route.clean, (source.partition, clean), what);
    }

    /// Rows without a clean record before the first that has one lie below the log's start, if
    /// the log does not begin at 0.
    fn close_partition(&mut self, number: usize) {
        let (low, partition) = (self.bounds[number].clean_low, &mut self.partitions[number]);
        if low > 0 {
            // No row below the lowest rank that was met has a clean record.
            let below = partition.rank_min.unwrap_or(partition.let_through);
            let gone = below.min(partition.missing);
            partition.no_longer_retained = gone;
            partition.missing -= gone;
        }
        let (missing, gone) = (partition.missing, partition.no_longer_retained);
        let route = self.route;
        let named = (std::mem::take(&mut partition.unmatched).into_iter())
            .filter(|(rank, _)| low == 0 || *rank >= gone)
            .map(|(_, (source, kind))| Finding {
                kind: "missing",
                topic: route.clean.clone(),
                partition: source.partition,
                offset: None,
                what: format!(
                    "raw {} was let through ({}) and has no clean record, though the log begins \
                     at offset {low}",
                    route.place(source),
                    kind.as_str()
                ),
            });
        self.findings.add_counted("missing", missing, named.collect());
    }
}
