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
    let mut given: Vec<(SightingKey, u32)> = Vec::with_capacity(events);
    given.extend((0..).zip(keys).filter_map(|(nth, key)| Some((key?, nth))));
    // Numbers are compared quicker than keys, and hardly two keys have one number.
    let mut order: Vec<(u128, u32)> =
        (0..).zip(&given).map(|(at, (key, _))| (number(key), at)).collect();
    let key_at = |at: u32| &given[at as usize].0;
    order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| key_at(a.1).cmp(key_at(b.1))));
    let mut slots = vec![NO_KEY; events];
    let mut keys: Vec<SightingKey> = Vec::with_capacity(order.len());
    for (_, at) in order {
        let (key, nth) = given[at as usize];
        if keys.last() != Some(&key) {
            keys.push(key);
        }
        slots[nth as usize] = keys.len() as u32 - 1;
    }
    (keys, Slots(slots))
}

/// The first 16 bytes of a key as they sort: its event time, and the first quarter of its hash.
fn number(key: &SightingKey) -> u128 {
    let micros = key.event_micros.cast_unsigned() ^ (1 << 63);
    let [first, ..] = key.key.as_bytes().as_chunks::<8>().0 else { return 0 };
    u128::from(micros) << 64 | u128::from(u64::from_be_bytes(*first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::EventKey;
    use proptest::prelude::*;

    fn keys() -> impl Strategy<Value = Option<SightingKey>> {
        let micros = prop_oneof![-1..2_i64, Just(i64::MIN), Just(i64::MAX)];
        // Few values, so that numbers and keys are equal often.
        let bytes = (0..2_u8, 0..2_u8, 0..3_u8);
        proptest::option::weighted(0.9, (micros, bytes)).prop_map(|key| {
            let (event_micros, (first, eighth, last)) = key?;
            let mut bytes = [0; 32];
            (bytes[0], bytes[7], bytes[31]) = (first, eighth, last);
            Some(SightingKey { event_micros, key: EventKey::new(bytes) })
        })
    }

    proptest! {
        #[test]
        fn keys_ascend_and_each_event_finds_its_own(
            given in proptest::collection::vec(keys(), 0..60),
        ) {
            let (sorted_keys, slots) = sorted(given.iter().copied(), given.len());
            prop_assert!(sorted_keys.is_sorted_by(|a, b| a < b));
            let found = (0..given.len()).map(|nth| slots.get(nth).map(|slot| sorted_keys[slot]));
            prop_assert!(found.eq(given.iter().copied()));
        }
    }
}
