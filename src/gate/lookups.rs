//! Which sightings a range of records asks for, in two ordered look-ups: first each event's own,
//! then, where a route lets corrections through, those of other content.
//! Must not be in here: a store, or a verdict.

use super::collected::{Collected, Keyed};
use super::sighting::{Sighting, SightingKey};
use super::verdict::ConflictPolicy;
use super::window::WindowState;
use crate::identity::ContentDigest;
use std::ops::Range;

/// No key: the event has none, or needs none.
const NO_KEY: u32 = u32::MAX;

/// The sighting keys of a range of records, sorted and each once, for one ordered look-up.
pub struct Lookups {
    /// What to look up.
    pub keys: Vec<SightingKey>,
    slots: Slots,
}

/// The keys of corrections that a range of records may meet, for a second ordered look-up. Empty
/// unless the route lets corrections through and content differs.
#[derive(Default)]
pub struct CorrectionLookups {
    /// What to look up.
    pub keys: Vec<SightingKey>,
    slots: Slots,
}

/// For each event of a range, the index of its key, or `NO_KEY`; empty where no event has one.
#[derive(Default)]
struct Slots(Vec<u32>);

impl Slots {
    fn get(&self, nth: usize) -> Option<usize> {
        self.0.get(nth).filter(|slot| **slot != NO_KEY).map(|slot| *slot as usize)
    }
}

impl Lookups {
    /// Collects the keys of a range of records. An event below the horizon is asked for where
    /// admitted ones are kept: the store may have forgotten the rest.
    pub fn of(collected: &Collected, records: &Range<usize>, window: &WindowState) -> Lookups {
        let events = collected.events_of_range(records);
        let keys = events.clone().map(|event| match collected.event(event) {
            Keyed::Event { key, event_micros: Some(micros), .. }
                if *micros < window.horizon_micros =>
            {
                Some(SightingKey::kept(*key))
            }
            keyed => keyed.sighting_key(),
        });
        let (keys, slots) = sorted(keys, events.len());
        Lookups { keys, slots }
    }

    /// Collects the keys of corrections, where `found` is what the store remembers of `keys`: of
    /// each event whose content is another than the first one's, and of all events of a key that
    /// comes with several contents for the first time.
    pub fn corrections(
        &self,
        collected: &Collected,
        records: &Range<usize>,
        found: &[Option<Sighting>],
        conflict: ConflictPolicy,
    ) -> CorrectionLookups {
        if conflict != ConflictPolicy::Correction {
            return CorrectionLookups::default();
        }
        let events = collected.events_of_range(records);
        let mut contents: Vec<Content> = (found.iter())
            .map(|found| Content { first: found.map(|found| found.digest), several: false })
            .collect();
        let mut differ = false;
        for (digest, slot) in events.clone().enumerate().filter_map(|(nth, event)| {
            Some((digest_of(collected.event(event))?, self.slots.get(nth)?))
        }) {
            let content = &mut contents[slot];
            content.several |= *content.first.get_or_insert(digest) != digest;
            differ |= content.several;
        }
        if !differ {
            return CorrectionLookups::default();
        }
        let keys = events.clone().enumerate().map(|(nth, event)| {
            let (digest, slot) = (digest_of(collected.event(event))?, self.slots.get(nth)?);
            // What the store knows as the first needs no correction.
            let known = found[slot].is_some_and(|found| found.digest == digest);
            let asked = contents[slot].several && !known && !self.keys[slot].is_kept();
            asked.then(|| self.keys[slot].of_correction(&digest))
        });
        let (keys, slots) = sorted(keys, events.len());
        CorrectionLookups { keys, slots }
    }

    /// How many events the range has.
    pub(super) fn events(&self) -> usize {
        self.slots.0.len()
    }

    /// The index of the nth event's key.
    pub(super) fn slot(&self, nth: usize) -> Option<usize> {
        self.slots.get(nth)
    }
}

impl CorrectionLookups {
    /// The index of the nth event's key, where it may be a correction.
    pub(super) fn slot(&self, nth: usize) -> Option<usize> {
        self.slots.get(nth)
    }
}

/// What contents a key comes with.
struct Content {
    first: Option<ContentDigest>,
    several: bool,
}

fn digest_of(keyed: &Keyed) -> Option<ContentDigest> {
    match keyed {
        Keyed::Event { digest, .. } => Some(*digest),
        Keyed::Rejected { .. } => None,
    }
}

/// The keys sorted and each once, and for each event the index of its own.
fn sorted(
    keys: impl Iterator<Item = Option<SightingKey>>,
    events: usize,
) -> (Vec<SightingKey>, Slots) {
    let mut order: Vec<(SightingKey, u32)> = Vec::with_capacity(events);
    for (nth, key) in keys.enumerate() {
        if let Some(key) = key {
            order.push((key, nth as u32));
        }
    }
    order.sort_unstable();
    let mut slots = vec![NO_KEY; events];
    let mut keys: Vec<SightingKey> = Vec::with_capacity(order.len());
    for (key, nth) in order {
        if keys.last() != Some(&key) {
            keys.push(key);
        }
        slots[nth as usize] = keys.len() as u32 - 1;
    }
    (keys, Slots(slots))
}
