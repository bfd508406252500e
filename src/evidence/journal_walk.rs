//! The journal of one partition, entry by entry: its chain, its running sums, its rows.
//! Must not be in here: clean records.

use super::finding::{Finding, Findings};
use super::route::RouteUnderProof;
use crate::gate::{Counts, RawRecord};
use crate::journal::entry::{EntryHash, counts_of};
use crate::journal::packed::{ABSORBED_BYTES, FIRST_BYTES};
use crate::journal::{Assembler, ChainHead, Entry, EntryError, pb};

/// An entry with its place in the journal.
#[derive(Clone, Debug)]
pub struct ReadEntry {
    /// The entry.
    pub entry: Entry,
    /// Offset of its first part.
    pub offset: i64,
    /// When the broker took it, in milliseconds.
    pub appended_ms: Option<i64>,
    /// One past the highest offset decided before it, where that is known.
    pub decided_before: Option<i64>,
}

/// Follows the journal of a partition and notes what is wrong with it.
pub struct JournalWalk {
    topic: String,
    label: String,
    fingerprint: [u8; 32],
    partition: i32,
    low: i64,
    assembler: Assembler,
    /// Offset of the first part of the entry that is being assembled.
    open_at: i64,
    head: Option<ChainHead>,
    first: Option<u64>,
    last: Option<pb::EntryHeader>,
    noted: Vec<ChainHead>,
    cut_allowed: bool,
}

impl JournalWalk {
    /// The journal of a partition whose log begins at `low`; `noted` are heads that were noted
    /// elsewhere.
    pub fn new(
        route: &RouteUnderProof,
        partition: i32,
        low: i64,
        noted: Vec<ChainHead>,
    ) -> JournalWalk {
        JournalWalk {
            topic: route.journal.clone(),
            label: route.label.clone(),
            fingerprint: route.recipe.fingerprint(),
            partition,
            low,
            assembler: Assembler::default(),
            open_at: low,
            head: None,
            first: None,
            last: None,
            noted,
            cut_allowed: false,
        }
    }

    /// Whether the journal's retention is limited, so that its start may be gone.
    pub fn cut_allowed(self, cut_allowed: bool) -> JournalWalk {
        JournalWalk { cut_allowed, ..self }
    }

    /// Number of the first entry, head, and what the last entry said.
    pub fn state(&self) -> (Option<u64>, Option<ChainHead>, Option<&pb::EntryHeader>) {
        (self.first, self.head, self.last.as_ref())
    }

    /// Whether entries before the first one are no longer there.
    pub fn is_cut(&self) -> bool {
        self.first.map_or(self.low > 0, |first| first > 1)
    }

    /// Takes the next record; gives the entry that it completes, if it belongs to the chain.
    pub fn push(&mut self, record: &RawRecord<'_>, findings: &mut Findings) -> Option<ReadEntry> {
        if !self.assembler.is_open() {
            self.open_at = record.offset;
        }
        match self.assembler.push(record.payload.unwrap_or_default()) {
            Ok(None) => None,
            Ok(Some(entry)) => self.follow(entry, record, findings),
            // The log may begin between two parts.
            Err(EntryError::PartOutOfPlace { part, .. })
                if self.head.is_none() && self.low > 0 && part > 0 =>
            {
                None
            }
            Err(error) => {
                self.wrong(findings, "journal-record", record.offset, error.to_string());
                None
            }
        }
    }

    /// After the last record: an entry that is not whole, and heads that were not met.
    pub fn finish(&mut self, findings: &mut Findings) {
        if self.assembler.is_open() {
            let what = "the last entry is not whole: its last parts are missing".to_owned();
            self.wrong(findings, "journal-record", self.open_at, what);
        }
        if self.head.is_none() && self.low > 0 && !self.cut_allowed {
            let what = format!(
                "no entry is there, but the log begins at offset {}: all were deleted, and \
                 nothing that was let through can be proven",
                self.low
            );
            self.wrong(findings, "journal-start", self.low, what);
        }
        let last = self.head.map_or(0, |head| head.number);
        for noted in std::mem::take(&mut self.noted) {
            let what = match noted.number > last {
                true => format!(
                    "entry {} was noted as the head, but the journal ends at entry {last}: its \
                     tail was lost or taken off",
                    noted.number
                ),
                false => format!(
                    "entry {} was noted as the head, but is no longer in the journal, so nothing \
                     ties the chain to it",
                    noted.number
                ),
            };
            self.wrong(findings, "head", self.open_at, what);
        }
    }

    fn wrong(&self, findings: &mut Findings, kind: &'static str, offset: i64, what: String) {
        let (topic, partition) = (self.topic.clone(), self.partition);
        findings.add(kind, || Finding { kind, topic, partition, offset: Some(offset), what });
    }

    fn follow(
        &mut self,
        entry: Entry,
        record: &RawRecord<'_>,
        findings: &mut Findings,
    ) -> Option<ReadEntry> {
        let offset = self.open_at;
        let before = match self.head {
            Some(head) => head,
            None => self.begin(&entry, offset, findings),
        };
        if let Err(error) = before.follow(&entry) {
            self.wrong(findings, "chain", offset, broken(&error, &entry, before));
            // An entry that repeats a number was put in; one that leaves some out goes on.
            if entry.number <= before.number {
                return None;
            }
        }
        self.check_noted(&entry, offset, findings);
        self.check_header(&entry, offset, findings);
        let decided_before = self.last.as_ref().map(|last| last.decided_to);
        let decided_before = decided_before.or((entry.number == 1).then_some(entry.header.from));
        self.head = Some(ChainHead { number: entry.number, hash: entry.hash });
        self.last = Some(entry.header.clone());
        Some(ReadEntry { appended_ms: record.timestamp.ms(), entry, offset, decided_before })
    }

    /// The head before the first entry that is there.
    fn begin(&mut self, entry: &Entry, offset: i64, findings: &mut Findings) -> ChainHead {
        self.first = Some(entry.number);
        if entry.number > 1 {
            let what = format!(
                "the first entry that is there is entry {}: {} (the log begins at offset {}). \
                 What was let through before it cannot be proven",
                entry.number,
                match self.low {
                    0 => "those before it were taken out",
                    _ => "those before it were deleted",
                },
                self.low
            );
            if self.low == 0 || !self.cut_allowed {
                self.wrong(findings, "journal-start", offset, what);
            }
            return ChainHead { number: entry.number - 1, hash: entry.previous_hash };
        }
        ChainHead::EMPTY
    }

    fn check_noted(&mut self, entry: &Entry, offset: i64, findings: &mut Findings) {
        let is_this = |noted: &ChainHead| noted.number == entry.number;
        let other = |hash: &EntryHash| *hash != entry.hash;
        if self.noted.iter().any(|noted| is_this(noted) && other(&noted.hash)) {
            let what = format!(
                "entry {} is not the one that was noted as the head: its hash is another",
                entry.number
            );
            self.wrong(findings, "head", offset, what);
        }
        self.noted.retain(|noted| !is_this(noted));
    }

    /// Whether the entry is of this route and recipe, its counts go with its rows, and its totals
    /// are the running sums.
    fn check_header(&self, entry: &Entry, offset: i64, findings: &mut Findings) {
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

fn broken(error: &EntryError, entry: &Entry, before: ChainHead) -> String {
    match error {
        EntryError::NumberOutOfPlace { .. } if entry.number <= before.number => format!(
            "entry {} stands behind entry {}: it was put in by hand, or the one of its number \
             before it was",
            entry.number, before.number
        ),
        EntryError::NumberOutOfPlace { .. } => format!(
            "entry {} follows entry {}: {} between them {} missing",
            entry.number,
            before.number,
            entry.number - before.number - 1,
            if entry.number - before.number == 2 { "is" } else { "are" },
        ),
        _ => format!(
            "entry {} does not continue the chain: its hash of entry {} is another, so one of the \
             two was changed or put in",
            entry.number, before.number
        ),
    }
}
