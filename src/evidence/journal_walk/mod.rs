//! The journal of one partition, entry by entry: its chain, its ranges, its running sums, its rows.
//! Must not be in here: clean records.

mod checks;
mod named;
mod tests;

pub(in crate::evidence) use checks::is_adoption;
use named::NamedByGroup;

use super::finding::{Finding, Findings};
use super::route::RouteUnderProof;
use crate::gate::RawRecord;
use crate::journal::entry::EntryHash;
use crate::journal::{Assembler, ChainHead, Entry, EntryError, pb};
use crate::kafka::witnesses::Committed;

/// An entry with its place in the journal.
#[derive(Clone, Debug)]
pub struct ReadEntry {
    /// The entry.
    pub entry: Entry,
    /// Offset of its first part.
    pub offset: i64,
    /// When the broker took it, in milliseconds.
    pub appended_ms: Option<i64>,
    /// One past the highest offset that the entries before it cover, where that is known.
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
    /// One past the highest offset that the entries cover.
    covered_to: Option<i64>,
    noted: Vec<ChainHead>,
    committed: Option<NamedByGroup>,
    /// The journal topic's present id, where the cluster tells it.
    topic_id: Option<String>,
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
            covered_to: None,
            noted,
            committed: None,
            topic_id: None,
            cut_allowed: false,
        }
    }

    /// Whether the journal's retention is limited, so that its start may be gone.
    pub fn cut_allowed(self, cut_allowed: bool) -> JournalWalk {
        JournalWalk { cut_allowed, ..self }
    }

    /// What the group had committed before the journal's end was captured, and the id that the
    /// journal topic has now.
    pub fn held_against(
        self,
        group: &str,
        committed: Option<&Committed>,
        topic_id: Option<String>,
    ) -> JournalWalk {
        let committed = committed.map(|committed| NamedByGroup::new(group, committed));
        JournalWalk { committed, topic_id, ..self }
    }

    /// One past the highest offset that the entries cover.
    pub fn covered_to(&self) -> Option<i64> {
        self.covered_to
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
        self.check_committed(findings);
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
        self.check_range(&entry, offset, findings);
        let decided_before = self.covered_to.or((entry.number == 1).then_some(entry.header.from));
        self.cover(&entry);
        if let Some(named) = &mut self.committed {
            named.meet(&entry);
        }
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
