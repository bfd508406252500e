//! What is sent to the raw topic, and what must become of it: a model of the verdicts in a few
//! lines, which knows nothing of batches, transactions or faults.
//! Must not be in here: a look at what the gate did.

use crate::log::Record;
use crate::random::Random;
use oncegate::gate::ConflictPolicy;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// 2026-07-01T00:00:00Z.
const BEGIN_MS: i64 = 1_782_864_000_000;
const MINUTE: i64 = 60_000_000;
pub const SPAN_MINUTES: i64 = 30;
pub const FUTURE_MINUTES: i64 = 10;

/// What a raw record is.
#[derive(Clone, Debug)]
pub enum Truth {
    Bad,
    Event { id: u64, minute: i64, variant: u32, arrival_minute: i64, poison: bool },
}

/// Every record ever sent; the tag of a record is its index.
#[derive(Default)]
pub struct Feed {
    pub truths: Vec<Truth>,
    /// By partition: the minute that has come.
    minutes: BTreeMap<i32, i64>,
    /// By partition: identities and their minutes.
    known: BTreeMap<i32, Vec<(u64, i64, bool)>>,
    ids: u64,
    poison: bool,
}

impl Feed {
    pub fn new(poison: bool) -> Feed {
        Feed { poison, ..Feed::default() }
    }

    /// The next record of a partition.
    pub fn record(&mut self, partition: i32, random: &mut Random) -> Rc<Record> {
        let minute = self.minutes.entry(partition).or_insert(300);
        *minute = (*minute + random.below(3) as i64).min(1380);
        let now = *minute;
        let known = self.known.entry(partition).or_default();
        let again = |random: &mut Random| {
            let recent = if random.chance(700) { known.len().min(12) } else { known.len() };
            known[known.len() - 1 - random.below(recent as u64) as usize]
        };
        let roll = random.below(100);
        let (id, at, poison, variant) = match roll {
            0..=3 => return self.push(Truth::Bad, bad(random), now),
            4..=27 if !known.is_empty() => {
                let (id, at, poison) = again(random);
                (id, at, poison, 0)
            }
            28..=32 if !known.is_empty() => {
                let (id, at, poison) = again(random);
                (id, at, poison, 1 + random.below(2) as u32)
            }
            _ => {
                self.ids += 1;
                let at = match roll {
                    33..=36 => now - SPAN_MINUTES - random.below(60) as i64,
                    37..=38 => now + FUTURE_MINUTES + 1 + random.below(20) as i64,
                    _ => now - random.below(8) as i64,
                };
                let poison = self.poison && random.chance(15);
                known.push((self.ids, at, poison));
                (self.ids, at, poison, 0)
            }
        };
        let tail = if poison { r#","note":"poison""# } else { "" };
        let payload = format!(
            r#"{{"accession":"A{id}","analyte_loinc":"2823-3","instrument_id":"chem-1","resulted_at":"2026-07-01T{:02}:{:02}:00Z","value":{variant}{tail}}}"#,
            at / 60,
            at % 60
        );
        let truth = Truth::Event { id, minute: at, variant, arrival_minute: now, poison };
        self.push(truth, Some(payload.into_bytes()), now)
    }

    fn push(&mut self, truth: Truth, payload: Option<Vec<u8>>, minute: i64) -> Rc<Record> {
        let tag = self.truths.len() as u64;
        self.truths.push(truth);
        Rc::new(Record {
            key: Some(tag.to_string().into_bytes()),
            payload,
            timestamp_ms: BEGIN_MS + minute * 60_000,
            tag,
            source: -1,
            event_key: String::new(),
        })
    }
}

fn bad(random: &mut Random) -> Option<Vec<u8>> {
    match random.below(3) {
        0 => None,
        1 => Some(b"not json".to_vec()),
        _ => Some(br#"{"accession":"A1"}"#.to_vec()),
    }
}

/// What must become of a partition's records: offsets by verdict. Corrections are among the firsts.
#[derive(Default, Debug)]
pub struct Expected {
    pub firsts: Vec<(i64, u64)>,
    pub audited: BTreeSet<i64>,
    pub quarantined: BTreeSet<i64>,
    pub records: u64,
}

/// Judges committed raw records in raw order.
pub fn judge<'a>(
    truths: &[Truth],
    policy: ConflictPolicy,
    records: impl Iterator<Item = (i64, &'a Rc<Record>)>,
) -> Expected {
    let mut expected = Expected::default();
    let mut horizon = i64::MIN;
    let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
    let mut corrections: BTreeSet<(u64, u32)> = BTreeSet::new();
    for (offset, record) in records {
        expected.records += 1;
        let Truth::Event { id, minute, variant, arrival_minute, poison } =
            truths[record.tag as usize]
        else {
            expected.quarantined.insert(offset);
            continue;
        };
        if minute < horizon || minute > arrival_minute + FUTURE_MINUTES {
            expected.quarantined.insert(offset);
            continue;
        }
        match seen.get(&id) {
            None if poison => drop(expected.quarantined.insert(offset)),
            None => {
                seen.insert(id, variant);
                horizon = horizon.max(minute - SPAN_MINUTES);
                expected.firsts.push((offset, record.tag));
            }
            Some(first) => {
                expected.audited.insert(offset);
                match policy {
                    _ if *first == variant => {}
                    ConflictPolicy::Absorb => {}
                    ConflictPolicy::Quarantine => drop(expected.quarantined.insert(offset)),
                    ConflictPolicy::Correction => {
                        if corrections.insert((id, variant)) {
                            expected.firsts.push((offset, record.tag));
                        }
                    }
                }
            }
        }
    }
    expected
}

/// The window of the route, in its own units.
pub fn window() -> oncegate::gate::Window {
    oncegate::gate::Window {
        span_micros: Some(SPAN_MINUTES * MINUTE),
        future_micros_max: FUTURE_MINUTES * MINUTE,
    }
}
