//! From a range of collected records and what is remembered of their keys to a part.
//! Must not be in here: a look-up, or a rule that one event alone decides (`verdict`).

use super::batch::{Case, FirstSighting, Outcome, Part, Policy, Progress};
use super::collected::{Collected, Keyed};
use super::counts::Counts;
use super::reason::Reason;
use super::sighting::{EventMicros, Sighting, SightingKey};
use super::size::{Besides, clean_bytes};
use super::verdict::{Known, Question, Verdict, decide};
use super::window::WindowState;
use crate::identity::ContentDigest;

/// Decides a range of collected records in raw order.
pub fn decide_part(case: Case<'_>, policy: &Policy) -> Part {
    let mut deciding = Deciding {
        window: case.before.window,
        firsts: Remembered::new(&case.lookups.keys, case.found),
        others: Remembered::new(&case.corrections.keys, case.corrections_found),
        outcomes: Vec::with_capacity(case.lookups.events()),
        counts: Counts::default(),
        replay_counts: Counts::default(),
        new: NewSightings::default(),
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
    let changed = deciding.firsts.changed().chain(deciding.others.changed()).collect();
    let NewSightings { firsts, corrections, conflicts, absorbed } = deciding.new;
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
        firsts,
        corrections,
        conflicts,
        absorbed,
    }
}

/// What is remembered of some keys, the batch's own effects included.
struct Remembered<'a> {
    keys: &'a [SightingKey],
    known: Vec<Option<Sighting>>,
    touched: Vec<bool>,
}

impl<'a> Remembered<'a> {
    fn new(keys: &'a [SightingKey], found: &[Option<Sighting>]) -> Remembered<'a> {
        Remembered { keys, known: found.to_vec(), touched: vec![false; keys.len()] }
    }

    fn put(&mut self, slot: usize, sighting: Sighting) {
        self.known[slot] = Some(sighting);
        self.touched[slot] = true;
    }

    fn count_up(&mut self, slot: usize) -> Option<Sighting> {
        let sighting = self.known[slot].as_mut()?;
        sighting.load_count = sighting.load_count.saturating_add(1);
        self.touched[slot] = true;
        Some(*sighting)
    }

    fn changed(&self) -> impl Iterator<Item = (SightingKey, Sighting)> {
        (self.touched.iter().enumerate())
            .filter(|(_, touched)| **touched)
            .filter_map(|(slot, _)| self.known[slot].map(|sighting| (self.keys[slot], sighting)))
    }
}

/// What the journal is told.
#[derive(Default)]
struct NewSightings {
    firsts: Vec<FirstSighting>,
    corrections: Vec<FirstSighting>,
    conflicts: Vec<FirstSighting>,
    absorbed: Vec<SightingKey>,
}

struct Deciding<'a> {
    window: WindowState,
    /// By the events' own keys.
    firsts: Remembered<'a>,
    /// By the keys of corrections.
    others: Remembered<'a>,
    outcomes: Vec<Outcome>,
    counts: Counts,
    replay_counts: Counts,
    new: NewSightings,
}

/// One event with a key, and where its sightings are.
struct Placed {
    record: usize,
    offset: i64,
    item: u32,
    /// Where the store is asked for it: at its event time, or among the admitted.
    at: SightingKey,
    key: SightingKey,
    slot: usize,
    correction_slot: Option<usize>,
    digest: ContentDigest,
    event_micros: Option<EventMicros>,
    event: usize,
}

impl Placed {
    fn row(&self) -> FirstSighting {
        let Placed { key, digest, offset, item, .. } = *self;
        FirstSighting { key, digest, offset, item }
    }

    fn sighting(&self) -> Sighting {
        Sighting {
            digest: self.digest,
            first_offset: self.offset,
            first_item: self.item,
            load_count: 1,
        }
    }
}

impl Deciding<'_> {
    fn record(&mut self, case: &Case<'_>, policy: &Policy, record: usize, events_from: usize) {
        let offset = case.collected.offset(record);
        let decided_before = case.before.decided(offset);
        for (item, event) in case.collected.events_of(record).enumerate() {
            let nth = event - events_from;
            let outcome = match (case.collected.event(event), case.lookups.slot(nth)) {
                (Keyed::Event { key, digest, event_micros, .. }, Some(slot)) => {
                    let placed = Placed {
                        record,
                        offset,
                        item: item as u32,
                        at: case.lookups.keys[slot],
                        key: SightingKey::of_event(*key, *event_micros),
                        slot,
                        correction_slot: case.corrections.slot(nth),
                        digest: *digest,
                        event_micros: *event_micros,
                        event,
                    };
                    self.event(case, policy, &placed, decided_before)
                }
                (Keyed::Rejected { reason, .. }, _) => Outcome::rejected(*reason),
                // Every event with a key has a slot: both come from the same range.
                (Keyed::Event { .. }, None) => unreachable!("an event without its look-up"),
            };
            self.counts_for(decided_before).add(&outcome.verdict);
            self.outcomes.push(outcome);
        }
        self.counts_for(decided_before).records += 1;
    }

    fn counts_for(&mut self, decided_before: bool) -> &mut Counts {
        if decided_before { &mut self.replay_counts } else { &mut self.counts }
    }

    fn event(
        &mut self,
        case: &Case<'_>,
        policy: &Policy,
        event: &Placed,
        decided_before: bool,
    ) -> Outcome {
        let known = match &self.firsts.known[event.slot] {
            None => Known::Nothing,
            Some(sighting) if event.at.is_kept() => Known::Admitted(sighting),
            Some(sighting) => {
                let corrected =
                    event.correction_slot.is_some_and(|slot| self.others.known[slot].is_some());
                Known::First { sighting, corrected }
            }
        };
        let question = Question {
            event_micros: event.event_micros,
            digest: event.digest,
            arrival_ms: case.collected.timestamp(event.record).ms(),
            decided_before,
            known,
        };
        match decide(&question, (&policy.window, policy.conflict), &self.window) {
            Verdict::First => match bar(case, policy, event, Besides::Nothing) {
                Some(reason) => Outcome::rejected(reason),
                None => self.first(event, policy),
            },
            Verdict::Correction => {
                let first = self.firsts.known[event.slot];
                let besides = first.map_or(Besides::Nothing, |first| {
                    Besides::Corrects(first.first_offset, first.first_item)
                });
                match bar(case, policy, event, besides) {
                    Some(reason) => Outcome::rejected(reason),
                    None => self.correction(event),
                }
            }
            Verdict::Duplicate => self.duplicate(event),
            verdict @ (Verdict::Conflict | Verdict::ConflictAbsorbed) => {
                self.new.conflicts.push(event.row());
                Outcome { verdict, sighting: self.firsts.known[event.slot] }
            }
            verdict => Outcome { verdict, sighting: None },
        }
    }

    fn first(&mut self, event: &Placed, policy: &Policy) -> Outcome {
        let sighting = event.sighting();
        self.firsts.put(event.slot, sighting);
        self.new.firsts.push(event.row());
        if let Some(micros) = event.event_micros {
            self.window = self.window.after(&policy.window, micros);
        }
        Outcome { verdict: Verdict::First, sighting: Some(sighting) }
    }

    fn correction(&mut self, event: &Placed) -> Outcome {
        // Content differs only where the look-up of corrections asked for it.
        if let Some(slot) = event.correction_slot {
            self.others.put(slot, event.sighting());
        }
        self.new.corrections.push(event.row());
        Outcome { verdict: Verdict::Correction, sighting: self.firsts.known[event.slot] }
    }

    fn duplicate(&mut self, event: &Placed) -> Outcome {
        let of_first =
            self.firsts.known[event.slot].is_some_and(|first| first.digest == event.digest);
        let sighting = match event.correction_slot.filter(|_| !of_first) {
            Some(slot) => {
                self.new.absorbed.push(self.others.keys[slot]);
                self.others.count_up(slot)
            }
            None => {
                self.new.absorbed.push(event.at);
                self.firsts.count_up(event.slot)
            }
        };
        Outcome { verdict: Verdict::Duplicate, sighting }
    }
}

/// Why an event's clean record could not be written, whatever its verdict.
fn bar(case: &Case<'_>, policy: &Policy, event: &Placed, besides: Besides) -> Option<Reason> {
    if let Some(refused) = case.refused.filter(|refused| refused.offset == event.offset) {
        return Some(refused.reason);
    }
    unwritable_with(case.collected, (event.record, event.event), policy, besides)
}

/// Why the clean record of an event that a person lets through could not be written, as far as
/// that can be told beforehand.
pub fn unwritable(
    collected: &Collected,
    record: usize,
    event: usize,
    policy: &Policy,
) -> Option<Reason> {
    unwritable_with(collected, (record, event), policy, Besides::Admitted)
}

fn unwritable_with(
    collected: &Collected,
    (record, event): (usize, usize),
    policy: &Policy,
    besides: Besides,
) -> Option<Reason> {
    if policy.keep_timestamp && collected.timestamp(record).ms().is_none_or(|ms| ms <= 0) {
        return Some(Reason::RecordTimestamp);
    }
    if clean_bytes(collected, (record, event), &policy.names, besides) > policy.clean_bytes_max {
        return Some(Reason::TooLarge);
    }
    None
}
