//! Gate, journal and store together against a model of a few lines: whatever comes, in whatever
//! order, cut into whatever batches, read again, admitted by a person, on whatever store was
//! rebuilt from the journal, the verdicts are the model's.

use oncegate::gate::{
    Case, Collected, ConflictPolicy, FirstSighting, Incarnation, Lookups, NameLengths, Policy,
    RawRecord, Reason, RecordTimestamp, Sighting, SightingKey, Verdict, Window, decide_part,
};
use oncegate::identity::{Deriver, Recipe};
use oncegate::journal::entry::{NO_ENTRY, begin_header, encode, encode_part};
use oncegate::journal::packed::Rows;
use oncegate::journal::{
    Assembler, CommitAcknowledged, EncodedEntry, Entry, EntryContext, Position, Receipt,
    encode_admit,
};
use oncegate::store::{PartitionStore, RocksStore, RocksStores, StoreBudget, Stores};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const MINUTE: i64 = 60_000_000;
const SPAN_MINUTES: i64 = 20;
/// 2026-07-01T00:00:00Z.
const BEGIN_MICROS: i64 = 1_782_864_000_000_000;

/// An event: its number, which is also its minute, and what it says.
type Told = (i64, u32);

fn payload((minute, value): Told) -> String {
    format!(
        r#"{{"accession":"A{minute}","analyte_loinc":"2823-3","instrument_id":"chem-1","resulted_at":"2026-07-01T{:02}:{:02}:00Z","value":{value}}}"#,
        minute / 60,
        minute % 60
    )
}

/// What the verdicts must be.
#[derive(Default)]
struct Model {
    clock: i64,
    firsts: BTreeMap<i64, u32>,
    corrections: BTreeSet<Told>,
    admitted: BTreeMap<i64, u32>,
}

impl Model {
    fn verdict(&mut self, (id, value): Told, again: bool, policy: ConflictPolicy) -> Verdict {
        let other = match policy {
            ConflictPolicy::Quarantine => Verdict::Conflict,
            ConflictPolicy::Absorb => Verdict::ConflictAbsorbed,
            ConflictPolicy::Correction => Verdict::Correction,
        };
        if id < self.clock - SPAN_MINUTES {
            return match self.admitted.get(&id) {
                _ if again => Verdict::Replayed,
                Some(admitted) if *admitted == value => Verdict::Duplicate,
                Some(_) if other != Verdict::Correction => other,
                _ => Verdict::Rejected(Reason::Late),
            };
        }
        match self.firsts.get(&id) {
            None => {
                self.firsts.insert(id, value);
                self.clock = self.clock.max(id);
                Verdict::First
            }
            Some(first) if *first == value => Verdict::Duplicate,
            Some(_) if other == Verdict::Correction && !self.corrections.insert((id, value)) => {
                Verdict::Duplicate
            }
            Some(_) => other,
        }
    }
}

/// A partition: its store, its journal so far, its gate.
struct Partition {
    stores: RocksStores,
    /// The number of the store; a rebuilt one has the next.
    number: i32,
    store: RocksStore,
    entries: Vec<(Entry, (i64, i64))>,
    policy: Policy,
    deriver: Deriver,
    next: i64,
}

fn context() -> EntryContext {
    EntryContext {
        route: "g/lab".into(),
        raw_topic_id: "raw".into(),
        journal_topic_id: "journal".into(),
        raw_partitions: 1,
        recipe_fingerprint: [1; 32],
    }
}

impl Partition {
    fn new(dir: &std::path::Path, conflict: ConflictPolicy) -> Partition {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/config/recipes/lab-result.toml");
        let text = std::fs::read_to_string(path).expect("the recipe");
        let recipe = Recipe::parse("lab-result.toml", &text).expect("a recipe");
        let budget = StoreBudget { memory_bytes: 16 << 20, ..StoreBudget::default() };
        let stores = RocksStores::open(dir, budget).expect("registry");
        let store = stores.open("lab", 0).expect("store");
        let mut partition = Partition {
            stores,
            number: 0,
            store,
            entries: Vec::new(),
            policy: Policy {
                window: Window {
                    span_micros: Some(SPAN_MINUTES * MINUTE),
                    future_micros_max: i64::MAX,
                },
                conflict,
                clean_bytes_max: 100_000,
                names: NameLengths::of("raw", "g/lab", "lab-result/1"),
                keep_timestamp: true,
            },
            deriver: Deriver::new(Arc::new(recipe)),
            next: 0,
        };
        let begin = encode(1, NO_ENTRY, begin_header(&context(), 0), Rows::default());
        partition.commit(&begin, &[]);
        partition
    }

    fn commit(&mut self, entry: &EncodedEntry, changed: &[(SightingKey, Sighting)]) {
        let mut assembler = Assembler::default();
        let read = (entry.parts.iter())
            .find_map(|part| assembler.push(part).expect("a part"))
            .expect("a whole entry");
        let from = self.entries.last().map_or(0, |(_, (_, next))| next + 1);
        let offsets = (from, from + entry.parts.len() as i64);
        let receipt = Receipt::of_commit(&CommitAcknowledged::by_broker(), entry, offsets);
        self.store.apply(&receipt, changed).expect("apply");
        self.entries.push((read, offsets));
    }

    fn position(&self) -> Position {
        self.store.position().cloned().expect("begun")
    }

    fn look_up(store: &mut RocksStore, keys: &[SightingKey]) -> Vec<Option<Sighting>> {
        let mut found = Vec::new();
        store.look_up(keys, &mut found).expect("look-up");
        found
    }

    fn collect(&mut self, told: &[Told]) -> Collected {
        let mut collected = Collected::new(0);
        for (offset, told) in (self.next..).zip(told) {
            let payload = payload(*told);
            let record = RawRecord {
                partition: 0,
                offset,
                timestamp: RecordTimestamp::CreateTimeMs(BEGIN_MICROS / 1000),
                key: None,
                payload: Some(payload.as_bytes()),
                headers: &[],
            };
            collected.push(&record, &mut self.deriver);
        }
        collected
    }

    fn batch(&mut self, told: &[Told]) -> Vec<Verdict> {
        let collected = self.collect(told);
        let records = collected.waiting(usize::MAX);
        let position = self.position();
        let before = position.progress();
        let lookups = Lookups::of(&collected, &records, &before.window);
        let found = Partition::look_up(&mut self.store, &lookups.keys);
        let corrections = lookups.corrections(&collected, &records, &found, self.policy.conflict);
        let corrections_found = Partition::look_up(&mut self.store, &corrections.keys);
        let case = Case {
            collected: &collected,
            records,
            lookups: &lookups,
            found: &found,
            corrections: &corrections,
            corrections_found: &corrections_found,
            from: self.next,
            incarnation: Incarnation(1),
            before: &before,
            to_at_least: 0,
            refused: None,
        };
        let part = decide_part(case, &self.policy);
        let entry = encode_part(&context(), &part, &position);
        self.commit(&entry, &part.changed);
        self.next = part.to;
        part.outcomes.iter().map(|outcome| outcome.verdict).collect()
    }

    /// A person lets an event through that was quarantined as late.
    fn admit(&mut self, told: Told) {
        let collected = self.collect(&[told]);
        let oncegate::gate::collected::Keyed::Event { key, digest, .. } = collected.event(0) else {
            panic!("an event");
        };
        let event_micros = BEGIN_MICROS + told.0 * MINUTE;
        let key = SightingKey { event_micros, key: *key };
        let event = FirstSighting { key, digest: *digest, offset: 3, item: 0 };
        let entry = encode_admit(&context(), &self.position(), &event, ("a person", "checked"));
        let sighting = Sighting { digest: *digest, first_offset: 3, first_item: 0, load_count: 1 };
        self.commit(&entry, &[(SightingKey::kept(key.key), sighting)]);
    }

    /// Goes on with a store that was built from the journal alone.
    fn rebuild(&mut self) {
        self.number += 1;
        let mut rebuilt = self.stores.open("lab", self.number).expect("store");
        for (entry, offsets) in &self.entries {
            rebuilt.restore(&Receipt::of_journal(entry, *offsets), entry).expect("restore");
        }
        let horizon = self.position().header.horizon_micros;
        let mut keys: Vec<SightingKey> = (self.entries.iter())
            .flat_map(|(entry, _)| {
                use oncegate::journal::packed::unpack_firsts;
                let firsts = unpack_firsts(&entry.rows.firsts, entry.base());
                let others = unpack_firsts(&entry.rows.corrections, entry.base())
                    .map(|other| other.key.of_correction(&other.digest));
                firsts.flat_map(|first| [first.key, SightingKey::kept(first.key.key)]).chain(others)
            })
            .filter(|key| key.event_micros >= horizon)
            .collect();
        keys.sort_unstable();
        keys.dedup();
        let (old, new) =
            (Partition::look_up(&mut self.store, &keys), Partition::look_up(&mut rebuilt, &keys));
        assert_eq!(old, new, "the rebuilt store holds other sightings");
        self.store = rebuilt;
    }
}

/// What happens between two batches.
#[derive(Clone, Copy, Debug)]
enum Between {
    Nothing,
    Rebuild,
    ReadAgain,
    Admit,
}

fn between() -> impl Strategy<Value = Between> {
    prop_oneof![
        3 => Just(Between::Nothing),
        1 => Just(Between::Rebuild),
        1 => Just(Between::ReadAgain),
        1 => Just(Between::Admit),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn verdicts_are_the_models(
        history in prop::collection::vec((0_i64..35, 0_u32..3), 40..300),
        cuts in prop::collection::vec((1_usize..30, between()), 4..20),
        policy in prop::sample::select(&ConflictPolicy::ALL[..]),
    ) {
        let dir = tempfile::tempdir().expect("temporary directory");
        let mut gate = Partition::new(dir.path(), policy);
        let mut model = Model { clock: i64::MIN / 2, ..Model::default() };
        let mut told: Vec<Told> =
            history.iter().zip(0..).map(|((back, value), nth)| (nth / 3 + back, *value)).collect();
        let mut late: Option<Told> = None;
        for (size, between) in cuts.into_iter().cycle() {
            if told.is_empty() {
                break;
            }
            let batch: Vec<Told> = told.drain(..size.min(told.len())).collect();
            let from = gate.next;
            let expected: Vec<Verdict> =
                batch.iter().map(|told| model.verdict(*told, false, policy)).collect();
            prop_assert_eq!(gate.batch(&batch), expected.clone());
            let rejected = batch.iter().zip(&expected).rfind(|(told, verdict)| {
                **verdict == Verdict::Rejected(Reason::Late)
                    && !model.firsts.contains_key(&told.0)
                    && !model.admitted.contains_key(&told.0)
            });
            late = rejected.map(|(told, _)| *told).or(late);
            match between {
                Between::Nothing => {}
                Between::Rebuild => gate.rebuild(),
                Between::ReadAgain => {
                    gate.next = from;
                    let expected: Vec<Verdict> =
                        batch.iter().map(|told| model.verdict(*told, true, policy)).collect();
                    let again = gate.batch(&batch);
                    prop_assert!(!again.contains(&Verdict::First), "let through twice");
                    prop_assert_eq!(again, expected);
                }
                Between::Admit => {
                    if let Some(told) = late.take() {
                        gate.admit(told);
                        model.admitted.insert(told.0, told.1);
                    }
                }
            }
        }
        gate.rebuild();
        let totals = gate.position().header.total_counts.expect("totals");
        prop_assert_eq!(totals.first as usize, model.firsts.len());
        prop_assert_eq!(totals.correction as usize, model.corrections.len());
        prop_assert_eq!(totals.admitted as usize, model.admitted.len());
    }
}
