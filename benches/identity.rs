//! The whole derivation (strict parse, key, content digest) against the time that
//! `serde_json::from_slice::<serde_json::Value>` takes for the same bytes in the same run.
//!
//! `cargo bench --no-default-features --bench identity`. The last lines give the ratio; at most
//! 0.6 is allowed. Measured with the system allocator and serde_json's default features.

use criterion::{Criterion, Throughput};
use oncegate::identity::{Deriver, Recipe};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Case {
    name: &'static str,
    recipe: &'static str,
    document: &'static [u8],
}

const CASES: [Case; 2] = [
    Case {
        name: "lab-result, 500 bytes",
        recipe: include_str!("../config/recipes/lab-result.toml"),
        document: include_bytes!("../tests/documents/lab-result-500.json"),
    },
    Case {
        name: "inventory-batch, 50 items, 6 kB",
        recipe: include_str!("../config/recipes/inventory-batch.toml"),
        document: include_bytes!("../tests/documents/inventory-batch-6k.json"),
    },
];

fn deriver(case: &Case) -> Deriver {
    Deriver::new(Arc::new(Recipe::parse(case.name, case.recipe).expect("the recipe is good")))
}

fn derive(deriver: &mut Deriver, document: &[u8]) {
    let events = deriver.derive(black_box(document)).expect("the document is good");
    black_box(events.iter().next());
}

fn parse(document: &[u8]) {
    let value: serde_json::Value = serde_json::from_slice(black_box(document)).expect("it is JSON");
    black_box(value);
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for case in &CASES {
        let mut group = criterion.benchmark_group(case.name);
        group.throughput(Throughput::Bytes(case.document.len() as u64));
        let mut deriver = deriver(case);
        group.bench_function("derive", |b| b.iter(|| derive(&mut deriver, case.document)));
        group.bench_function("serde_json::Value", |b| b.iter(|| parse(case.document)));
        group.finish();
    }
    criterion.final_summary();
    for case in &CASES {
        ratio(case);
    }
}

/// Both in turn, many short rounds, the fastest of each: what else the machine does is left out.
fn ratio(case: &Case) {
    let mut deriver = deriver(case);
    let rounds = 200;
    let each = 200_000 / case.document.len();
    let fastest = |work: &mut dyn FnMut()| {
        let started = Instant::now();
        (0..each).for_each(|_| work());
        started.elapsed() / each as u32
    };
    let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
    for _ in 0..rounds {
        ours = ours.min(fastest(&mut || derive(&mut deriver, case.document)));
        theirs = theirs.min(fastest(&mut || parse(case.document)));
    }
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!(
        "{}: derive {ours:?}, serde_json::Value {theirs:?}, ratio {ratio:.2} (at most 0.60)",
        case.name
    );
}
