//! The part of a batch that one partition gives: verdicts and all their effects, as a value.
//! Must not be in here: sending, storing, or any state that outlives the batch.

use super::collected::{Collected, Keyed};
use super::counts::Counts;
use super::output;
use super::reason::Reason;
use super::sighting::{EventMicros, Sighting, SightingKey};
use super::verdict::{Question, Verdict, decide};
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
    /// The largest clean record, headers and framing included, in bytes before compression.
    pub clean_bytes_max: usize,
    /// Whether clean records keep the raw timestamp, which then must be one that Kafka can keep.
    pub keep_timestamp: bool,
}

/// The sighting keys of a range of records, sorted and each once, for one ordered look-up.
pub struct Lookups {
    /// What to look up.
    pub keys: Vec<SightingKey>,
    /// For each event of the range, the index of its key, or `NO_KEY`.
    slots: Vec<u32>,
}

const NO_KEY: u32 = u32::MAX;

impl Lookups {
    /// Collects the keys of a range of records.
    pub fn of(collected: &Collected, records: &Range<usize>) -> Lookups {
        let events = collected.events_of_range(records);
        let mut order: Vec<(SightingKey, u32)> = Vec::with_capacity(events.len());
        for (nth, event) in events.clone().enumerate() {
            if let Some(key) = collected.event(event).sighting_key() {
                order.push((key, nth as u32));
            }
        }
        order.sort_unstable();
        let mut slots = vec![NO_KEY; events.len()];
        let mut keys: Vec<SightingKey> = Vec::with_capacity(order.len());
        for (key, nth) in order {
            if keys.last() != Some(&key) {
                keys.push(key);
            }
            slots[nth as usize] = keys.len() as u32 - 1;
        }
        Lookups { keys, slots }
    }
}

/// The verdict on one event, with the sighting that it rests on (as it is after the verdict).
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// What becomes of the event.
    pub verdict: Verdict,
    /// For `First`, `Duplicate` and `Conflict`: what is remembered of the key.
    pub sighting: Option<Sighting>,
}

impl Outcome {
    fn rejected(reason: Reason) -> Outcome {
        Outcome { verdict: Verdict::Rejected(reason), sighting: None }
    }
}

/// A first sighting, as the journal keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstSighting {
    /// Where it stands in the store.
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

/// Decides a range of collected records in raw order.
pub fn decide_part(case: Case<'_>, policy: &Policy) -> Part {
    let mut deciding = Deciding {
        window: case.before.window,
        known: case.found.to_vec(),
        touched: vec![false; case.found.len()],
        outcomes: Vec::with_capacity(case.lookups.slots.len()),
        counts: Counts::default(),
        replay_counts: Counts::default(),
        firsts: Vec::new(),
        absorbed: Vec::new(),
    };
    let events_from = case.collected.events_of_range(&case.records).start;
    for record in case.records.clone() {
        deciding.record(&case, policy, record, events_from);
    }
    let after_records = match case.records.clone().next_back() {
        Some(last) => case.collected.offset(last) + 1,
        None => case.from,
    };
    let to = after_records.max(case.to_at_least);
    let changed = (deciding.touched.iter().enumerate())
        .filter(|(_, touched)| **touched)
        .filter_map(|(slot, _)| deciding.known[slot].map(|s| (case.lookups.keys[slot], s)))
        .collect();
    Part {
        partition: case.collected.partition(),
        incarnation: case.incarnation,
        last_record: (case.records.clone().next_back())
            .map(|last| (case.collected.offset(last), case.collected.record_hash(last))),
        cut: case.refused.filter(|refused| refused.cut).map(|refused| refused.offset),
        records: case.records,
        from: case.from,
        to,
        outcomes: deciding.outcomes,
        counts: deciding.counts,
        replay_counts: deciding.replay_counts,
        before: case.before.clone(),
        after: Progress {
            window: deciding.window,
            decided_to: case.before.decided_to.max(to),
            skipped: case.before.skipped.clone(),
        },
        changed,
        firsts: deciding.firsts,
        absorbed: deciding.absorbed,
    }
}

struct Deciding {
    window: WindowState,
    /// What is remembered of each key, the batch's own effects included.
    known: Vec<Option<Sighting>>,
    touched: Vec<bool>,
    outcomes: Vec<Outcome>,
    counts: Counts,
    replay_counts: Counts,
    firsts: Vec<FirstSighting>,
    absorbed: Vec<SightingKey>,
}

/// One event with a key, and where its sighting is.
struct Placed {
    offset: i64,
    item: u32,
    slot: usize,
    digest: ContentDigest,
    event_micros: Option<EventMicros>,
}

impl Deciding {
    fn record(&mut self, case: &Case<'_>, policy: &Policy, record: usize, events_from: usize) {
        let offset = case.collected.offset(record);
        let decided_before = case.before.decided(offset);
        for (item, event) in case.collected.events_of(record).enumerate() {
            let outcome = match case.collected.event(event) {
                Keyed::Rejected { reason, .. } => Outcome::rejected(*reason),
                Keyed::Event { digest, event_micros, .. } => {
                    let placed = Placed {
                        offset,
                        item: item as u32,
                        slot: case.lookups.slots[event - events_from] as usize,
                        digest: *digest,
                        event_micros: *event_micros,
                    };
                    let question = Question {
                        event_micros: *event_micros,
                        digest: *digest,
                        arrival_ms: case.collected.timestamp(record).ms(),
                        decided_before,
                        sighting: self.known[placed.slot].as_ref(),
                    };
                    match decide(&question, &policy.window, &self.window) {
                        Verdict::First => match bar(case, policy, record) {
                            Some(reason) => Outcome::rejected(reason),
                            None => self.first(&placed, case, policy),
                        },
                        Verdict::Duplicate => self.duplicate(&placed, case),
                        Verdict::Conflict => Outcome {
                            verdict: Verdict::Conflict,
                            sighting: self.known[placed.slot],
                        },
                        verdict => Outcome { verdict, sighting: None },
                    }
                }
            };
            self.counts_for(decided_before).add(&outcome.verdict);
            self.outcomes.push(outcome);
        }
        self.counts_for(decided_before).records += 1;
    }

    fn counts_for(&mut self, decided_before: bool) -> &mut Counts {
        if decided_before { &mut self.replay_counts } else { &mut self.counts }
    }

    fn first(&mut self, event: &Placed, case: &Case<'_>, policy: &Policy) -> Outcome {
        let sighting = Sighting {
            digest: event.digest,
            first_offset: event.offset,
            first_item: event.item,
            load_count: 1,
        };
        self.known[event.slot] = Some(sighting);
        self.touched[event.slot] = true;
        self.firsts.push(FirstSighting {
            key: case.lookups.keys[event.slot],
            digest: event.digest,
            offset: event.offset,
            item: event.item,
        });
        if let Some(micros) = event.event_micros {
            self.window = self.window.after(&policy.window, micros);
        }
        Outcome { verdict: Verdict::First, sighting: Some(sighting) }
    }

    fn duplicate(&mut self, event: &Placed, case: &Case<'_>) -> Outcome {
        if let Some(sighting) = &mut self.known[event.slot] {
            sighting.load_count = sighting.load_count.saturating_add(1);
        }
        self.touched[event.slot] = true;
        self.absorbed.push(case.lookups.keys[event.slot]);
        Outcome { verdict: Verdict::Duplicate, sighting: self.known[event.slot] }
    }
}

/// Why a record's clean copy could not be written, whatever its events are.
fn bar(case: &Case<'_>, policy: &Policy, record: usize) -> Option<Reason> {
    match case.refused {
        Some(refused) if refused.offset == case.collected.offset(record) => {
            return Some(refused.reason);
        }
        _ => {}
    }
    if policy.keep_timestamp && case.collected.timestamp(record).ms().is_none_or(|ms| ms <= 0) {
        return Some(Reason::RecordTimestamp);
    }
    if output::clean_bytes(case.collected, record) > policy.clean_bytes_max {
        return Some(Reason::TooLarge);
    }
    None
}
