//! Sizes of copies, compared with an encoder of Kafka's record format 2 that counts real bytes: a
//! copy that just fits passes, one byte less of room and it does not.

use oncegate::gate::{
    Case, Collected, ConflictPolicy, Header, Incarnation, Lookups, NameLengths, OutputRecord, Part,
    Policy, Progress, RawRecord, Reason, RecordTimestamp, Renderer, RouteNames, Sighting,
    SightingKey, Target, Verdict, Window, WindowState, decide_part, unwritable,
};
use oncegate::identity::{Deriver, Recipe};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

const NOON_MS: i64 = 1_782_907_200_000;
const TOPIC: &str = "lab.raw";
const ROUTE: &str = "some-group/lab";

/// Writes a number as Kafka does: zigzag, seven bits a byte.
fn varint(number: i64, into: &mut Vec<u8>) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    while rest >= 0x80 {
        into.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    into.push(rest as u8);
}

fn bytes(value: Option<&[u8]>, into: &mut Vec<u8>) {
    match value {
        None => varint(-1, into),
        Some(value) => {
            varint(value.len() as i64, into);
            into.extend_from_slice(value);
        }
    }
}

/// The bytes of a batch of this one record.
fn batch(record: &OutputRecord<'_>) -> usize {
    let mut body = vec![0u8]; // attributes
    varint(0, &mut body); // timestamp delta
    varint(0, &mut body); // offset delta
    bytes(record.key, &mut body);
    bytes(record.payload, &mut body);
    varint(record.headers.len() as i64, &mut body);
    for header in record.headers {
        bytes(Some(header.name), &mut body);
        bytes(header.value, &mut body);
    }
    let mut whole = Vec::new();
    whole.extend_from_slice(&0i64.to_be_bytes()); // base offset
    whole.extend_from_slice(&0i32.to_be_bytes()); // length
    whole.extend_from_slice(&0i32.to_be_bytes()); // leader epoch
    whole.push(2); // magic
    whole.extend_from_slice(&0u32.to_be_bytes()); // CRC
    whole.extend_from_slice(&0i16.to_be_bytes()); // attributes
    whole.extend_from_slice(&0i32.to_be_bytes()); // last offset delta
    whole.extend_from_slice(&0i64.to_be_bytes()); // first timestamp
    whole.extend_from_slice(&0i64.to_be_bytes()); // last timestamp
    whole.extend_from_slice(&0i64.to_be_bytes()); // producer id
    whole.extend_from_slice(&0i16.to_be_bytes()); // producer epoch
    whole.extend_from_slice(&0i32.to_be_bytes()); // first sequence
    whole.extend_from_slice(&1i32.to_be_bytes()); // count
    varint(body.len() as i64, &mut whole);
    whole.extend_from_slice(&body);
    whole.len()
}

fn deriver(name: &str) -> Deriver {
    let path = format!("{}/config/recipes/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the recipe");
    Deriver::new(Arc::new(Recipe::parse(name, &text).expect("a recipe")))
}

fn recipe_name(recipe: &str) -> String {
    format!("{recipe}/{}", deriver(recipe).recipe().version())
}

fn lab(value: u32, note: usize) -> String {
    let note = "x".repeat(note);
    format!(
        r#"{{"accession":"A1","analyte_loinc":"2823-3","instrument_id":"chem-1","resulted_at":"2026-07-01T09:00:00Z","value":{value},"note":"{note}"}}"#
    )
}

fn items(note: usize) -> String {
    let item = format!(
        r#"{{"ndc11":"00093-0058-01","lot":"L1","qty_delta":"1","unit":"EA","event_type":"dispense","note":"{}"}}"#,
        "x".repeat(note)
    );
    format!(
        r#"{{"facility_uuid":"0b6f2a5e-8f6e-4f6e-9a53-0d6f1f9b7a11","batch_ts":"2026-07-01T11:00:00Z","items":[{item}, {item}]}}"#
    )
}

fn policy(recipe: &str, clean_bytes_max: usize) -> Policy {
    Policy {
        window: Window { span_micros: None, future_micros_max: i64::MAX },
        conflict: ConflictPolicy::Correction,
        clean_bytes_max,
        names: NameLengths::of(TOPIC, ROUTE, &recipe_name(recipe)),
        keep_timestamp: true,
    }
}

fn decide(collected: &Collected, policy: &Policy) -> Part {
    let window = WindowState::EMPTY;
    let records = collected.waiting(usize::MAX);
    let lookups = Lookups::of(collected, &records, &window);
    let found: Vec<Option<Sighting>> = vec![None; lookups.keys.len()];
    let corrections = lookups.corrections(collected, &records, &found, policy.conflict);
    let store: BTreeMap<SightingKey, Sighting> = BTreeMap::new();
    let corrections_found: Vec<_> =
        corrections.keys.iter().map(|key| store.get(key).copied()).collect();
    let case = Case {
        collected,
        records,
        lookups: &lookups,
        found: &found,
        corrections: &corrections,
        corrections_found: &corrections_found,
        from: 0,
        incarnation: Incarnation(1),
        before: &Progress { window, decided_to: 0, skipped: Vec::new() },
        to_at_least: 0,
        refused: None,
    };
    decide_part(case, policy)
}

fn renderer(recipe: &str, quarantine_bytes_max: usize) -> Renderer {
    let names =
        RouteNames { raw_topic: TOPIC.into(), route: ROUTE.into(), recipe: recipe_name(recipe) };
    Renderer::new(names, true, quarantine_bytes_max)
}

/// Sizes of the records that are written to a topic, and whether each is cut.
fn sizes(
    collected: &Collected,
    part: &Part,
    (recipe, quarantine_bytes_max): (&str, usize),
    target: Target,
) -> Vec<(usize, bool)> {
    let mut found = Vec::new();
    let rendered: Result<(), Infallible> =
        renderer(recipe, quarantine_bytes_max).render(collected, part, &mut |record| {
            if record.target == target {
                let cut = record.headers.iter().any(|h| h.name == b"oncegate-record-hash");
                found.push((batch(record), cut));
            }
            Ok(())
        });
    let Ok(()) = rendered;
    found
}

type RawHeaders = Vec<(Vec<u8>, Option<Vec<u8>>)>;

fn collect(
    recipe: &str,
    partition: i32,
    records: &[(i64, String)],
    (key, headers): (Option<&[u8]>, &RawHeaders),
) -> Collected {
    let headers: Vec<Header<'_>> =
        headers.iter().map(|(name, value)| Header { name, value: value.as_deref() }).collect();
    let mut deriver = deriver(recipe);
    let mut collected = Collected::new(partition);
    for (offset, payload) in records {
        let record = RawRecord {
            partition,
            offset: *offset,
            timestamp: RecordTimestamp::CreateTimeMs(NOON_MS),
            key,
            payload: Some(payload.as_bytes()),
            headers: &headers,
        };
        collected.push(&record, &mut deriver);
    }
    collected
}

fn header() -> impl Strategy<Value = (Vec<u8>, Option<Vec<u8>>)> {
    let tail = || prop::collection::vec(b'a'..=b'z', 0..80);
    let name = prop_oneof![
        tail(),
        tail().prop_map(|tail| [b"oncegate-".as_slice(), &tail].concat()),
        tail().prop_map(|tail| [b"oncegate-raw-".as_slice(), &tail].concat()),
        tail().prop_map(|tail| [b"\xff\xfe".as_slice(), &tail].concat()),
    ];
    let value = prop::option::of(prop::collection::vec(any::<u8>(), 0..200));
    (name, value)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Firsts, corrections, numbered items and rejected records.
    #[test]
    fn a_copy_is_as_large_as_it_is_said_to_be(
        headers in prop_oneof![
            4 => prop::collection::vec(header(), 0..12),
            1 => (prop::collection::vec(header(), 1..3), 60usize..6000)
                .prop_map(|(some, times)| some.iter().cycle().take(times).cloned().collect()),
        ],
        key in prop::option::of(prop::collection::vec(any::<u8>(), 0..100)),
        note in prop_oneof![0usize..300, 7_000usize..9_000],
        partition in prop_oneof![0i32..3, Just(123_456)],
        offset in prop_oneof![0i64..20, 0i64..i64::MAX / 2],
        itemized in any::<bool>(),
    ) {
        let (recipe, records) = match itemized {
            true => ("inventory-item", vec![(offset, items(note))]),
            // The correction is the largest of all that is let through.
            false => (
                "lab-result",
                vec![(offset, lab(1, note)), (offset + 1, lab(2, note + 1))],
            ),
        };
        let raw = (key.as_deref(), &headers);
        let collected = collect(recipe, partition, &records, raw);
        let part = decide(&collected, &policy(recipe, usize::MAX));
        let clean = sizes(&collected, &part, (recipe, usize::MAX), Target::Clean);
        prop_assert_eq!(clean.len(), 2);
        let second = clean[1].0;
        prop_assert!(second > clean[0].0);
        let verdict = |room: usize| {
            decide(&collected, &policy(recipe, room)).outcomes[1].verdict
        };
        prop_assert!(matches!(verdict(second), Verdict::First | Verdict::Correction));
        prop_assert_eq!(verdict(second - 1), Verdict::Rejected(Reason::TooLarge));

        // The number of an admission's entry is not known beforehand: 20 digits are reserved.
        let mut admitted = 0;
        let rendered: Result<(), Infallible> = renderer(recipe, usize::MAX).render_admitted(
            &collected, (0, 0), u64::MAX, &mut |record| {
                if record.target == Target::Clean {
                    admitted = batch(record);
                }
                Ok(())
            },
        );
        let Ok(()) = rendered;
        prop_assert_eq!(unwritable(&collected, 0, 0, &policy(recipe, admitted)), None);
        let barred = unwritable(&collected, 0, 0, &policy(recipe, admitted - 1));
        prop_assert_eq!(barred, Some(Reason::TooLarge));

        // What is too large for clean, and what has no key, is whole in quarantine if it fits.
        for (collected, part) in [
            { let part = decide(&collected, &policy(recipe, 0)); (collected, part) },
            {
                let bad = collect(recipe, partition, &[(offset, "{".repeat(note))], raw);
                let part = decide(&bad, &policy(recipe, usize::MAX));
                (bad, part)
            },
        ] {
            let held = |room: usize| sizes(&collected, &part, (recipe, room), Target::Quarantine);
            let (largest, cut) = held(usize::MAX).into_iter().max().expect("held");
            prop_assert!(!cut);
            prop_assert!(held(largest).iter().all(|(_, cut)| !cut));
            prop_assert!(held(largest - 1).iter().any(|(_, cut)| *cut));
        }
    }
}

/// 900 kB with 4,500 empty headers of ours by name.
#[test]
fn many_headers_are_counted_as_they_are_written() {
    let headers: RawHeaders =
        (0..4500).map(|n| (format!("oncegate-{n:04}").into_bytes(), Some(Vec::new()))).collect();
    let records = [(0, lab(1, 820_000))];
    let collected = collect("lab-result", 0, &records, (Some(b"k"), &headers));
    let part = decide(&collected, &policy("lab-result", 1_016_384));
    assert_eq!(part.outcomes[0].verdict, Verdict::First);
}
