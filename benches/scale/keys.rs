//! Keys and sightings as functions of a number, so that a bench of hundreds of millions remembers none.
//! Must not be in here: a store, or chance. A number gives the same key at every run.

use oncegate::gate::{EventMicros, Sighting, SightingKey};
use oncegate::identity::{ContentDigest, EventKey};

/// Keys of a batch.
pub const BATCH: u64 = 10_000;
/// As many keys as the store has that others are compared with.
pub const MILLION: u64 = 1_000_000;

/// 2026-06-01T00:00:00Z.
const BEGIN_SECONDS: i64 = 1_780_272_000;
/// So many keys come in [`MONTH_SECONDS`]; some 38 share a second.
const MONTH_KEYS: u64 = 100 * MILLION;
const MONTH_SECONDS: u64 = 30 * 86_400;
/// An event comes so much later than its time, at most: batches are nearly in order.
const LATE_SECONDS_MAX: u64 = 300;
const MICROS: i64 = 1_000_000;
/// Numbers from here on are never written.
const NEVER_WRITTEN: u64 = 1 << 60;
/// Different words of one number.
const DIGEST: u64 = 0x6469_6765_7374;
const LATE: u64 = 0x6c61_7465;
const DRAW: u64 = 0x6472_6177;

/// What a batch of look-ups asks for.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name in tables.
    pub name: &'static str,
    /// So many of a hundred keys are in the store.
    known_percent: u64,
    known: Known,
    fresh: Fresh,
}

#[derive(Clone, Copy, Debug)]
enum Known {
    /// One of the last million, as redeliveries nearly always are.
    Recent,
    /// Any that was ever written.
    Anywhere,
}

#[derive(Clone, Copy, Debug)]
enum Fresh {
    /// Event times of the batch that comes next.
    Next,
    /// Event times from anywhere in the store: events that come late for the first time.
    Late,
}

/// All kinds; the one at [`USUAL`] is what a gate does most.
pub const KINDS: [Kind; 6] = [
    kind("0 %", 0, Known::Recent, Fresh::Next),
    kind("0 %, late", 0, Known::Recent, Fresh::Late),
    kind("10 % recent", 10, Known::Recent, Fresh::Next),
    kind("10 % anywhere", 10, Known::Anywhere, Fresh::Next),
    kind("90 % recent", 90, Known::Recent, Fresh::Next),
    kind("90 % anywhere", 90, Known::Anywhere, Fresh::Next),
];
/// One in ten a recent duplicate.
pub const USUAL: usize = 2;
/// Nine in ten, of any age.
pub const HARDEST: usize = 5;

const fn kind(name: &'static str, known_percent: u64, known: Known, fresh: Fresh) -> Kind {
    Kind { name, known_percent, known, fresh }
}

/// The sightings of the batch that begins with this number, as a gate gives them to a store.
pub fn batch(from: u64) -> Vec<(SightingKey, Sighting)> {
    let mut batch: Vec<_> = (from..from + BATCH).map(|n| (key(n), sighting(n))).collect();
    batch.sort_unstable_by_key(|(key, _)| *key);
    batch
}

/// The keys of the `nth` batch of look-ups in a store of so many keys, in order, each once; and how
/// many of them it has.
pub fn asked(kind: Kind, keys: u64, nth: u64) -> (Vec<SightingKey>, usize) {
    let mut asked: Vec<(SightingKey, bool)> = (0..BATCH)
        .map(|i| {
            let seed = nth * BATCH + i;
            let drawn = mix(DRAW ^ seed);
            if i % 100 < kind.known_percent {
                let number = match kind.known {
                    Known::Recent => keys - 1 - drawn % MILLION.min(keys),
                    Known::Anywhere => drawn % keys,
                };
                return (key(number), true);
            }
            let time_of = match kind.fresh {
                Fresh::Next => keys + i,
                Fresh::Late => drawn % keys,
            };
            (key_at(time_of, NEVER_WRITTEN + seed), false)
        })
        .collect();
    asked.sort_unstable();
    asked.dedup();
    let known = asked.iter().filter(|(_, known)| *known).count();
    (asked.into_iter().map(|(key, _)| key).collect(), known)
}

/// The key of a number.
pub fn key(number: u64) -> SightingKey {
    key_at(number, number)
}

/// The digest of a number's event.
pub fn digest(number: u64) -> ContentDigest {
    let mut bytes = [0; 16];
    for (half, part) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(0..) {
        *half = mix(DIGEST ^ (2 * number + part)).to_be_bytes();
    }
    ContentDigest::new(bytes)
}

/// Event time that goes by while so many keys come, with all that are late.
pub fn span_micros(keys: u64) -> i64 {
    (seconds(keys) + (LATE_SECONDS_MAX as i64)) * MICROS
}

/// A key as of one number with the event time of another.
fn key_at(time_of: u64, number: u64) -> SightingKey {
    let late = (mix(LATE ^ number) % (LATE_SECONDS_MAX + 1)) as i64;
    let event_micros: EventMicros = (BEGIN_SECONDS + seconds(time_of) - late) * MICROS;
    let mut bytes = [0; 32];
    // No two numbers have a word in common.
    for (word, part) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(0..) {
        *word = mix(4 * number + part).to_be_bytes();
    }
    SightingKey { event_micros, key: EventKey::new(bytes) }
}

fn sighting(number: u64) -> Sighting {
    Sighting { digest: digest(number), first_offset: number as i64, first_item: 0, load_count: 1 }
}

fn seconds(keys: u64) -> i64 {
    (keys * MONTH_SECONDS / MONTH_KEYS) as i64
}

/// SplitMix64 of a seed: each number has another.
fn mix(seed: u64) -> u64 {
    let mut word = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
