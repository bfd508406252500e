//! Batches of lab results, the same at every run, and a partition that decides them.
//! Must not be in here: a store.

use oncegate::gate::{
    Case, Collected, ConflictPolicy, CorrectionLookups, FirstSighting, Incarnation, Lookups,
    NameLengths, Part, Policy, RawRecord, RecordTimestamp, Sighting, Window, decide_part,
};
use oncegate::identity::{Deriver, Recipe};
use oncegate::journal::entry::{NO_ENTRY, begin_header, encode};
use oncegate::journal::packed::{Rows, unpack_firsts};
use oncegate::journal::{EncodedEntry, Entry, EntryContext, Position};
use std::sync::Arc;

/// Records of a batch.
pub const BATCH: usize = 1_000;
/// One in so many is a duplicate of the record before it.
const DUPLICATE: usize = 10;
/// What is made of it: the accession's number.
const DOCUMENT: &str = include_str!("../../tests/documents/lab-result-500.json");
const ACCESSION: &str = "000123";
const RECIPE: &str = include_str!("../../config/recipes/lab-result.toml");
/// Partition, and incarnation, of all that is decided.
const PARTITION: i32 = 0;

/// Documents with consecutive numbers.
pub struct Batch {
    /// Offset of the first.
    from: i64,
    /// One a record.
    pub documents: Vec<Vec<u8>>,
}

impl Batch {
    /// The nth batch.
    pub fn new(nth: usize) -> Batch {
        let from = nth * BATCH;
        let number = |record: usize| record - usize::from(record % DUPLICATE == DUPLICATE - 1);
        let document = |record| {
            DOCUMENT.replace(ACCESSION, &format!("{:09}", number(record))).trim().to_owned()
        };
        let documents = (from..from + BATCH).map(|record| document(record).into_bytes()).collect();
        Batch { from: from as i64, documents }
    }

    /// Collects the batch as it is polled.
    pub fn collect(&self, collected: &mut Collected, deriver: &mut Deriver) {
        for (offset, document) in (self.from..).zip(&self.documents) {
            let record = RawRecord {
                partition: PARTITION,
                offset,
                timestamp: RecordTimestamp::CreateTimeMs(1_782_900_000_000),
                key: Some(b"A100"),
                payload: Some(document),
                headers: &[],
            };
            collected.push(&record, deriver);
        }
    }
}

/// A deriver of lab results.
pub fn deriver() -> Deriver {
    Deriver::new(Arc::new(Recipe::parse("lab-result.toml", RECIPE).expect("the recipe is good")))
}

/// What all entries have in common.
pub fn context() -> EntryContext {
    EntryContext {
        route: "gate/lab".into(),
        raw_topic_id: "raw".into(),
        journal_topic_id: "journal".into(),
        raw_partitions: 1,
        recipe_fingerprint: [1; 32],
    }
}

/// The sightings of an entry.
pub fn firsts(entry: &Entry) -> impl Iterator<Item = FirstSighting> {
    unpack_firsts(&entry.rows.firsts, entry.base())
}

/// A partition without a store.
pub struct Partition {
    collected: Collected,
    deriver: Deriver,
    policy: Policy,
    /// After the last entry.
    pub position: Position,
}

impl Partition {
    /// One whose journal begins.
    pub fn new() -> Partition {
        let begin = encode(1, NO_ENTRY, begin_header(&context(), 0), Rows::default());
        Partition {
            collected: Collected::new(PARTITION),
            deriver: deriver(),
            policy: Policy {
                window: Window { span_micros: None, future_micros_max: i64::MAX },
                conflict: ConflictPolicy::Quarantine,
                clean_bytes_max: 1_000_000,
                names: NameLengths::of("lab.raw", "gate/lab", "lab-result/1"),
                keep_timestamp: true,
            },
            position: Position::of_written(&begin, 0, 1),
        }
    }

    /// Takes a batch in, in the place of the last.
    pub fn collect(&mut self, batch: &Batch) {
        self.collected.clear();
        batch.collect(&mut self.collected, &mut self.deriver);
    }

    /// What the batch asks of a store.
    pub fn lookups(&self) -> Lookups {
        let all = self.collected.waiting(usize::MAX);
        Lookups::of(&self.collected, &all, &self.position.progress().window)
    }

    /// Decides the batch that was taken in.
    pub fn decide_collected(&self, found: &[Option<Sighting>]) -> Part {
        let case = Case {
            collected: &self.collected,
            records: self.collected.waiting(usize::MAX),
            lookups: &self.lookups(),
            found,
            corrections: &CorrectionLookups::default(),
            corrections_found: &[],
            from: self.position.committed_next(),
            incarnation: Incarnation(1),
            before: &self.position.progress(),
            to_at_least: 0,
            refused: None,
        };
        decide_part(case, &self.policy)
    }

    /// Takes a batch in and decides it as one of which nothing is known.
    pub fn decide(&mut self, batch: &Batch) -> Part {
        self.collect(batch);
        self.decide_collected(&vec![None; self.lookups().keys.len()])
    }

    /// Goes on after an entry.
    pub fn follow(&mut self, entry: &EncodedEntry) {
        let next = self.position.journal_next;
        let records = entry.parts.len() as i64;
        self.position = Position::of_written(entry, next, next + records);
    }
}
