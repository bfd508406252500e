//! The part of a batch that one partition gives: verdicts and all their effects, as a value.
//! Must not be in here: sending, storing, or any state that outlives the batch.

use super::collected::Collected;
use super::counts::Counts;
use super::lookups::{CorrectionLookups, Lookups};
use super::reason::Reason;
use super::sighting::{Sighting, SightingKey};
use super::size::NameLengths;
use super::verdict::{ConflictPolicy, Verdict};
use super::window::{Window, WindowState};
use crate::identity::ContentDigest;
use std::ops::Range;

/// A number that a task gets each time its partition is assigned. A part is sent only while its
/// incarnation is in force: the broker fences membership, not ownership.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub u64);

/// What a partition has decided so far; a batch turns it into the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Clock and horizon.
    pub window: WindowState,
    /// One past the highest offset ever decided. A replay does not lower it.
    pub decided_to: i64,
    /// Ranges `[from, to)` below `decided_to` that were skipped undecided, in order.
    pub skipped: Vec<(i64, i64)>,
}

impl Progress {
    /// Whether an earlier pass decided the record at this offset.
    pub fn decided(&self, offset: i64) -> bool {
        offset < self.decided_to
            && !self.skipped.iter().any(|(from, to)| (*from..*to).contains(&offset))
    }
}

/// The rules of a route that decide verdicts.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// The window.
    pub window: Window,
    /// What becomes of a known key with other content.
    pub conflict: ConflictPolicy,
    /// The largest clean record, headers and framing included, in bytes before compression.
    pub clean_bytes_max: usize,
    /// Lengths of the names that the headers of clean records hold.
    pub names: NameLengths,
    /// Whether clean records keep the raw timestamp, which then must be one that Kafka can keep.
    pub keep_timestamp: bool,
}

/// The verdict on one event, with the sighting that it rests on (as it is after the verdict).
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// What becomes of the event.
    pub verdict: Verdict,
    /// Where something is remembered of the key: of the first delivery, or, for a duplicate of a
    /// correction, of that correction.
    pub sighting: Option<Sighting>,
}

impl Outcome {
    pub(super) fn rejected(reason: Reason) -> Outcome {
        Outcome { verdict: Verdict::Rejected(reason), sighting: None }
    }
}

/// A delivery as the journal keeps it: of an event never seen, or of other content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstSighting {
    /// The event's key and time.
    pub key: SightingKey,
    /// Content digest.
    pub digest: ContentDigest,
    /// Offset in the raw partition.
    pub offset: i64,
    /// Index of the event within its record.
    pub item: u32,
}

/// All effects that a transaction has on one partition.
pub struct Part {
    /// Raw partition.
    pub partition: i32,
    /// The incarnation of the task that collected it.
    pub incarnation: Incarnation,
    /// Which of the collected records it covers.
    pub records: Range<usize>,
    /// First offset covered.
    pub from: i64,
    /// One past the last offset covered.
    pub to: i64,
    /// Verdicts, one an event, in order.
    pub outcomes: Vec<Outcome>,
    /// Counts of offsets never decided before.
    pub counts: Counts,
    /// Counts of offsets that an earlier pass had decided: a replay, counted apart.
    pub replay_counts: Counts,
    /// Progress before and after.
    pub before: Progress,
    /// Progress after.
    pub after: Progress,
    /// Sightings as they will stand in the store.
    pub changed: Vec<(SightingKey, Sighting)>,
    /// New sightings, for the journal.
    pub firsts: Vec<FirstSighting>,
    /// Other content let through, each content once, for the journal.
    pub corrections: Vec<FirstSighting>,
    /// Other content not let through, one entry a delivery, for the journal.
    pub conflicts: Vec<FirstSighting>,
    /// Keys absorbed again, for the journal; one entry an absorption.
    pub absorbed: Vec<SightingKey>,
    /// Offset of a record whose quarantine copy is cut to hash and head.
    pub cut: Option<i64>,
    /// Offset and hash of the last record covered.
    pub last_record: Option<(i64, [u8; 32])>,
}

/// What is decided, and on what ground.
pub struct Case<'a> {
    /// The records of the partition.
    pub collected: &'a Collected,
    /// Which of them.
    pub records: Range<usize>,
    /// Their keys.
    pub lookups: &'a Lookups,
    /// What the store remembers, one answer a key of `lookups`.
    pub found: &'a [Option<Sighting>],
    /// The keys of corrections that `found` makes due.
    pub corrections: &'a CorrectionLookups,
    /// What the store remembers of them, one answer a key.
    pub corrections_found: &'a [Option<Sighting>],
    /// First offset that the range covers; there may be gaps before its first record.
    pub from: i64,
    /// The incarnation that collected the records.
    pub incarnation: Incarnation,
    /// What the partition has decided so far.
    pub before: &'a Progress,
    /// One past the last offset covered, where markers follow the last record.
    pub to_at_least: i64,
    /// A record that the broker refuses even alone.
    pub refused: Option<Refused>,
}

/// A record that the broker refused alone: it leaves no sighting and does not move the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its offset.
    pub offset: i64,
    /// Why it is quarantined.
    pub reason: Reason,
    /// Whether its quarantine record was refused too, and has to be cut to hash and head.
    pub cut: bool,
}
