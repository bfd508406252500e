//! What a record costs in each room, without a broker: identity, gate, journal and store, a batch at
//! a time.
//!
//! `cargo bench --bench paths` measures seconds by criterion. `make bench-check` runs the same paths
//! under callgrind (`paths --count PATH BATCHES`) and compares instructions with those recorded in
//! `instructions.toml`. Must not be in here: a broker, or chance.

mod batch;
mod hits;
mod kept;

use batch::{BATCH, Batch, Partition};
use criterion::{BatchSize, Criterion, Throughput};
use hits::Hits;
use kept::Kept;
use oncegate::gate::Collected;
use oncegate::identity::Deriver;
use oncegate::journal::Assembler;
use oncegate::journal::entry::encode_part;
use std::hint::black_box;
use std::process::ExitCode;

/// A path: its name, and a run over so many batches.
type Path = (&'static str, fn(usize));

/// Each path, as `--count` takes it. What a path needs beforehand costs as much for one batch as for
/// many only where it is not counted; so the difference of two runs is the path's own.
const PATHS: [Path; 6] = [
    ("none", |batches| drop(batches_of(batches))),
    ("identity", |batches| {
        let mut deriver = batch::deriver();
        for batch in batches_of(batches) {
            batch.documents.iter().for_each(|document| derive(&mut deriver, document));
        }
    }),
    ("collect", |batches| {
        let (mut deriver, mut collected) = (batch::deriver(), Collected::new(0));
        for batch in batches_of(batches) {
            batch.collect(&mut collected, &mut deriver);
            collected.clear();
        }
    }),
    ("gate", |batches| {
        let mut partition = Partition::new();
        for batch in batches_of(batches) {
            black_box(partition.decide(&batch));
        }
    }),
    ("journal", |batches| {
        let mut partition = Partition::new();
        for batch in batches_of(batches) {
            let part = partition.decide(&batch);
            let entry = encode_part(&batch::context(), &part, &partition.position);
            black_box(read(&entry.parts));
            partition.follow(&entry);
        }
    }),
    ("store", |batches| {
        let (mut partition, mut kept) = (Partition::new(), Kept::new());
        for batch in batches_of(batches) {
            partition.collect(&batch);
            let found = kept.look_up(&partition.lookups().keys);
            let part = partition.decide_collected(&found);
            let entry = encode_part(&batch::context(), &part, &partition.position);
            kept.apply(&entry, &part.changed);
            partition.follow(&entry);
        }
    }),
];

fn batches_of(batches: usize) -> impl Iterator<Item = Batch> {
    (0..batches).map(Batch::new)
}

fn derive(deriver: &mut Deriver, document: &[u8]) {
    let events = deriver.derive(black_box(document)).expect("the document is good");
    black_box(events.iter().next());
}

/// Reads an entry as a restore does; how many sightings it has.
fn read(parts: &[Vec<u8>]) -> usize {
    let mut assembler = Assembler::default();
    let entries = parts.iter().filter_map(|part| assembler.push(part).expect("an entry"));
    entries.map(|entry| batch::firsts(&entry).count()).sum()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [first, name, batches] = arguments.as_slice() else {
        bench();
        return ExitCode::SUCCESS;
    };
    let path = PATHS.iter().find(|(known, _)| known == name);
    match (first.as_str(), path, batches.parse()) {
        ("--count", Some((_, run)), Ok(batches)) => {
            run(batches);
            ExitCode::SUCCESS
        }
        _ => {
            let names: Vec<&str> = PATHS.iter().map(|(name, _)| *name).collect();
            eprintln!("paths --count {} BATCHES", names.join("|"));
            ExitCode::FAILURE
        }
    }
}

fn bench() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("paths");
    group.throughput(Throughput::Elements(BATCH as u64));
    let batch = Batch::new(0);
    let mut deriver = batch::deriver();
    group.bench_function("identity", |b| {
        b.iter(|| batch.documents.iter().for_each(|document| derive(&mut deriver, document)));
    });
    let mut collected = Collected::new(0);
    group.bench_function("collect", |b| {
        b.iter(|| {
            collected.clear();
            batch.collect(&mut collected, &mut deriver);
        });
    });
    let mut partition = Partition::new();
    partition.collect(&batch);
    let none = vec![None; partition.lookups().keys.len()];
    group.bench_function("decide", |b| b.iter(|| black_box(partition.decide_collected(&none))));
    let part = partition.decide_collected(&none);
    group.bench_function("journal write", |b| {
        b.iter(|| black_box(encode_part(&batch::context(), &part, &partition.position)));
    });
    let entry = encode_part(&batch::context(), &part, &partition.position);
    group.bench_function("journal read", |b| b.iter(|| black_box(read(&entry.parts))));
    let mut kept = Kept::new();
    kept.apply(&entry, &part.changed);
    let keys = partition.lookups().keys;
    group.bench_function("store look-up, known", |b| b.iter(|| black_box(kept.look_up(&keys))));
    let (mut partition, mut kept, mut nth) = (Partition::new(), Kept::new(), 0);
    group.bench_function("store write", |b| {
        b.iter_batched(
            || {
                nth += 1;
                let part = partition.decide(&Batch::new(nth));
                let entry = encode_part(&batch::context(), &part, &partition.position);
                partition.follow(&entry);
                (entry, part)
            },
            |(entry, part)| kept.apply(&entry, &part.changed),
            BatchSize::PerIteration,
        );
    });
    group.finish();
    bench_store(&mut criterion);
    criterion.final_summary();
}

/// Look-ups in a store of a hundred thousand keys, by how many of a batch it knows.
fn bench_store(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("store");
    group.throughput(Throughput::Elements(BATCH as u64));
    let mut hits = Hits::new();
    for percent in [0, 10, 90] {
        let keys = hits.batch(percent);
        assert_eq!(hits.look_up(&keys), BATCH * percent / 100, "the batch is what it says");
        group.bench_function(format!("look-up, {percent} % known"), |b| {
            b.iter(|| black_box(hits.look_up(&keys)));
        });
    }
    group.finish();
}
