//! The pure gate over real recipes: verdicts, counts and outputs of batches.

use oncegate::gate::{
    Case, Collected, ConflictPolicy, Counts, Header, Incarnation, Lookups, NameLengths, Part,
    Policy, Progress, RawRecord, Reason, RecordTimestamp, Refused, Renderer, RouteNames, Sighting,
    SightingKey, Target, Verdict, Window, WindowState, decide_part,
};
use oncegate::identity::{Deriver, Recipe};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

fn deriver() -> Deriver {
    deriver_of("lab-result")
}

fn deriver_of(name: &str) -> Deriver {
    let path = format!("{}/config/recipes/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the recipe");
    let recipe = Recipe::parse(name, &text);
    Deriver::new(Arc::new(recipe.unwrap_or_else(|error| panic!("{error}"))))
}

fn lab(accession: u32, hour: u32, value: u32) -> String {
    format!(
        r#"{{"accession":"A{accession}","analyte_loinc":"2823-3","instrument_id":"chem-1","resulted_at":"2026-07-01T{hour:02}:00:00Z","value":{value}}}"#
    )
}

const NOON_MS: i64 = 1_782_907_200_000;

fn record<'a>(offset: i64, payload: Option<&'a [u8]>, headers: &'a [Header<'a>]) -> RawRecord<'a> {
    RawRecord {
        partition: 0,
        offset,
        timestamp: RecordTimestamp::CreateTimeMs(NOON_MS),
        key: Some(b"k"),
        payload,
        headers,
    }
}

fn policy() -> Policy {
    Policy {
        window: Window { span_micros: None, future_micros_max: i64::MAX },
        conflict: ConflictPolicy::Quarantine,
        clean_bytes_max: 100_000,
        names: NameLengths::of("lab.raw", "g/lab", "lab-result/1"),
        keep_timestamp: true,
    }
}

fn fresh() -> Progress {
    Progress { window: WindowState::EMPTY, decided_to: 0, skipped: Vec::new() }
}

/// A gate with a store in memory.
struct Gate {
    store: BTreeMap<SightingKey, Sighting>,
    progress: Progress,
    next: i64,
    policy: Policy,
}

impl Gate {
    fn new(policy: Policy) -> Gate {
        Gate { store: BTreeMap::new(), progress: fresh(), next: 0, policy }
    }

    fn batch(&mut self, collected: &Collected, refused: Option<Refused>) -> Part {
        let records = collected.waiting(usize::MAX);
        let lookups = Lookups::of(collected, &records, &self.progress.window);
        let look_up = |keys: &[SightingKey]| -> Vec<_> {
            keys.iter().map(|key| self.store.get(key).copied()).collect()
        };
        let found = look_up(&lookups.keys);
        let corrections = lookups.corrections(collected, &records, &found, self.policy.conflict);
        let corrections_found = look_up(&corrections.keys);
        let case = Case {
            collected,
            records,
            lookups: &lookups,
            found: &found,
            corrections: &corrections,
            corrections_found: &corrections_found,
            from: self.next,
            incarnation: Incarnation(1),
            before: &self.progress,
            to_at_least: 0,
            refused,
        };
        let part = decide_part(case, &self.policy);
        self.store.extend(part.changed.iter().copied());
        self.progress = part.after.clone();
        self.next = part.to;
        part
    }
}

fn verdicts(part: &Part) -> Vec<Verdict> {
    part.outcomes.iter().map(|outcome| outcome.verdict).collect()
}

fn collect(payloads: &[String], from: i64) -> Collected {
    let mut deriver = deriver();
    let mut collected = Collected::new(0);
    for (nth, payload) in payloads.iter().enumerate() {
        let offset = from + nth as i64;
        collected.push(&record(offset, Some(payload.as_bytes()), &[]), &mut deriver);
    }
    collected
}

proptest! {
    /// However a history is cut into batches, each event has the verdict that a plain map gives.
    #[test]
    fn verdicts_do_not_depend_on_the_batches(
        history in prop::collection::vec((0u32..6, 0u32..3, 0u32..3), 1..60),
        cut in 1usize..20,
    ) {
        let mut seen: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let model: Vec<Verdict> = history
            .iter()
            .map(|(accession, hour, value)| match seen.insert((*accession, *hour), *value) {
                None => Verdict::First,
                Some(first) => {
                    seen.insert((*accession, *hour), first);
                    if first == *value { Verdict::Duplicate } else { Verdict::Conflict }
                }
            })
            .collect();
        let mut gate = Gate::new(policy());
        let mut decided = Vec::new();
        let mut total = Counts::default();
        for (nth, events) in history.chunks(cut).enumerate() {
            let payloads: Vec<String> = events.iter().map(|(a, h, v)| lab(*a, *h, *v)).collect();
            let part = gate.batch(&collect(&payloads, (nth * cut) as i64), None);
            decided.extend(verdicts(&part));
            total.merge(&part.counts);
        }
        prop_assert_eq!(&decided, &model);
        prop_assert_eq!(total.events(), history.len() as u64);
        prop_assert_eq!(total.first, seen.len() as u64);
        let loads: u64 = gate.store.values().map(|s| u64::from(s.load_count)).sum();
        prop_assert_eq!(loads, total.first + total.duplicate);
    }
}

#[test]
fn a_replay_is_counted_apart() {
    let payloads = vec![lab(1, 1, 1), lab(2, 1, 1)];
    let mut gate = Gate::new(policy());
    gate.batch(&collect(&payloads, 0), None);
    gate.next = 1;
    let part = gate.batch(&collect(&[lab(2, 1, 1), lab(3, 1, 1)], 1), None);
    assert_eq!(verdicts(&part), [Verdict::Duplicate, Verdict::First]);
    assert_eq!((part.replay_counts.records, part.replay_counts.duplicate), (1, 1));
    assert_eq!((part.counts.records, part.counts.first), (1, 1));
    assert_eq!((part.from, part.to, part.after.decided_to), (1, 3, 3));
}

#[test]
fn late_and_future_events_leave_no_trace() {
    let hour = 3_600_000_000;
    let window = Window { span_micros: Some(2 * hour), future_micros_max: 0 };
    let mut gate = Gate::new(Policy { window, ..policy() });
    let payloads = [lab(1, 10, 1), lab(2, 7, 1), lab(3, 13, 1), lab(4, 9, 1)];
    let part = gate.batch(&collect(&payloads, 0), None);
    let expected = [
        Verdict::First,
        Verdict::Rejected(Reason::Late),
        Verdict::Rejected(Reason::Future),
        Verdict::First,
    ];
    assert_eq!(verdicts(&part), expected);
    assert_eq!(gate.store.len(), 2);
    assert_eq!(part.after.window.clock_micros - part.after.window.horizon_micros, 2 * hour);
    // Read again, the late one was decided before and is absorbed.
    gate.next = 0;
    let again = gate.batch(&collect(&payloads, 0), None);
    assert_eq!(again.outcomes[1].verdict, Verdict::Replayed);
    assert_eq!(again.after.window, part.after.window);
}

struct Written {
    target: Target,
    payload: Option<Vec<u8>>,
    timestamp_ms: Option<i64>,
    headers: Vec<(String, Option<Vec<u8>>)>,
}

impl Written {
    fn header(&self, name: &str) -> String {
        let found = self.headers.iter().rfind(|(header, _)| header == name);
        let value = found.and_then(|(_, value)| value.clone());
        String::from_utf8(value.unwrap_or_default()).expect("text")
    }
}

fn render(collected: &Collected, part: &Part) -> Vec<Written> {
    let names = RouteNames {
        raw_topic: "lab.raw".into(),
        route: "g/lab".into(),
        recipe: "lab-result/1".into(),
    };
    let mut written = Vec::new();
    let rendered: Result<(), Infallible> =
        Renderer::new(names, true, 100_000).render(collected, part, &mut |record| {
            written.push(Written {
                target: record.target,
                payload: record.payload.map(<[u8]>::to_vec),
                timestamp_ms: record.timestamp_ms,
                headers: (record.headers.iter())
                    .map(|header| {
                        let name = String::from_utf8(header.name.to_vec()).expect("a UTF-8 name");
                        (name, header.value.map(<[u8]>::to_vec))
                    })
                    .collect(),
            });
            Ok(())
        });
    let Ok(()) = rendered;
    written
}

#[test]
fn outputs_carry_the_record_unchanged_and_headers_that_cannot_be_spoofed() {
    let mut deriver = deriver();
    let mut collected = Collected::new(0);
    let headers = [
        Header { name: b"a", value: None },
        Header { name: b"a", value: Some(b"") },
        Header { name: b"oncegate-key", value: Some(b"spoofed") },
        Header { name: b"\xff\xfe", value: Some(b"x") },
    ];
    let payload = lab(1, 1, 1);
    collected.push(&record(0, Some(payload.as_bytes()), &headers), &mut deriver);
    collected.push(&record(1, Some(payload.as_bytes()), &[]), &mut deriver);
    collected.push(&record(2, Some(lab(1, 1, 2).as_bytes()), &[]), &mut deriver);
    collected.push(&record(3, Some(b"{"), &[]), &mut deriver);
    collected.push(&record(4, None, &[]), &mut deriver);
    collected.push(&record(5, Some(b""), &[]), &mut deriver);
    let part = Gate::new(policy()).batch(&collected, None);
    let written = render(&collected, &part);
    let targets: Vec<Target> = written.iter().map(|w| w.target).collect();
    use Target::{Audit, Clean, Quarantine};
    assert_eq!(targets, [Clean, Audit, Audit, Quarantine, Quarantine, Quarantine, Quarantine]);

    let clean = &written[0];
    assert_eq!(clean.payload.as_deref(), Some(payload.as_bytes()));
    assert_eq!(clean.timestamp_ms, Some(NOON_MS));
    assert_eq!(clean.headers[0], ("a".into(), None));
    assert_eq!(clean.headers[1], ("a".into(), Some(vec![])));
    assert_eq!(clean.headers[2], ("oncegate-raw-key".into(), Some(b"spoofed".to_vec())));
    assert_eq!(clean.headers[3], ("oncegate-raw-name-fffe".into(), Some(b"x".to_vec())));
    assert_eq!(clean.header("oncegate-key").len(), 64);
    assert_eq!(clean.header("oncegate-source"), "lab.raw/0/0");
    assert_eq!(clean.header("oncegate-route"), "g/lab");

    let audit = String::from_utf8(written[1].payload.clone().unwrap()).unwrap();
    let parsed: serde_json::Value = serde_json::from_str(&audit).expect("audit is JSON");
    assert_eq!(parsed["verdict"], "duplicate");
    assert_eq!(parsed["load_count"], 2);
    assert_eq!(parsed["first"]["offset"], 0);
    assert_eq!(parsed["this"]["offset"], 1);
    assert!(!audit.contains("A1"), "no identity value: {audit}");

    let reasons: Vec<String> = written[3..].iter().map(|w| w.header("oncegate-reason")).collect();
    assert_eq!(reasons, ["conflict", "json", "tombstone", "json"]);
    assert_eq!(written[5].payload, None, "null stays null");
    assert_eq!(written[6].payload.as_deref(), Some(&b""[..]), "empty stays empty");
    assert_eq!(written[4].timestamp_ms, None, "quarantine bears the time of sending");
}

#[test]
fn a_correction_names_what_it_corrects_and_an_admitted_event_its_entry() {
    let mut gate = Gate::new(Policy { conflict: ConflictPolicy::Correction, ..policy() });
    let collected = collect(&[lab(1, 1, 1), lab(1, 1, 2), lab(1, 1, 2), lab(1, 1, 1)], 0);
    let part = gate.batch(&collected, None);
    use Verdict::{Correction, Duplicate, First};
    assert_eq!(verdicts(&part), [First, Correction, Duplicate, Duplicate]);
    let written = render(&collected, &part);
    assert_eq!(written[1].target, Target::Clean);
    assert_eq!(written[1].header("oncegate-corrects"), "lab.raw/0/0");
    assert_eq!(written[0].header("oncegate-corrects"), "");

    let names = RouteNames {
        raw_topic: "lab.raw".into(),
        route: "g/lab".into(),
        recipe: "lab-result/1".into(),
    };
    let (mut clean, mut audit) = (Vec::new(), String::new());
    let rendered: Result<(), Infallible> = Renderer::new(names, true, 100_000).render_admitted(
        &collected,
        (1, 0),
        42,
        &mut |record| {
            match record.target {
                Target::Audit => {
                    audit = String::from_utf8(record.payload.unwrap().to_vec()).expect("text");
                }
                _ => clean.extend(record.headers.iter().map(|header| {
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    (text(header.name), text(header.value.unwrap_or_default()))
                })),
            }
            Ok(())
        },
    );
    let Ok(()) = rendered;
    assert!(clean.contains(&("oncegate-admitted".into(), "42".into())), "{clean:?}");
    let audit: serde_json::Value = serde_json::from_str(&audit).expect("audit is JSON");
    assert_eq!((&audit["verdict"], &audit["entry"]), (&"admitted".into(), &42.into()));
    assert_eq!(audit["this"]["offset"], 1);
}

#[test]
fn a_barred_correction_leaves_no_sighting() {
    let correction = Policy { conflict: ConflictPolicy::Correction, ..policy() };
    let mut gate = Gate::new(correction);
    gate.batch(&collect(&[lab(1, 1, 1)], 0), None);
    let refused = Refused { offset: 1, reason: Reason::Refused, cut: false };
    let part = gate.batch(&collect(&[lab(1, 1, 2)], 1), Some(refused));
    assert_eq!(verdicts(&part), [Verdict::Rejected(Reason::Refused)]);
    assert_eq!(gate.store.len(), 1);
    let again = gate.batch(&collect(&[lab(1, 1, 2)], 2), None);
    assert_eq!(verdicts(&again), [Verdict::Correction]);
}

#[test]
fn a_record_that_the_broker_refuses_leaves_no_sighting() {
    let payloads = [lab(1, 1, 1), lab(2, 2, 1)];
    let collected = collect(&payloads, 0);
    let refused = Refused { offset: 1, reason: Reason::TooLarge, cut: true };
    let mut gate = Gate::new(policy());
    let part = gate.batch(&collected, Some(refused));
    assert_eq!(verdicts(&part), [Verdict::First, Verdict::Rejected(Reason::TooLarge)]);
    assert_eq!(gate.store.len(), 1);
    let written = render(&collected, &part);
    assert_eq!(written[1].target, Target::Quarantine);
    assert_eq!(written[1].header("oncegate-record-hash").len(), 64);
}

#[test]
fn a_record_too_large_or_without_a_timestamp_is_quarantined() {
    let mut deriver = deriver();
    let mut collected = Collected::new(0);
    let payload = lab(1, 1, 1);
    let mut raw = record(0, Some(payload.as_bytes()), &[]);
    raw.timestamp = RecordTimestamp::CreateTimeMs(0);
    collected.push(&raw, &mut deriver);
    collected.push(&record(1, Some(payload.as_bytes()), &[]), &mut deriver);
    let mut gate = Gate::new(Policy { clean_bytes_max: 200, ..policy() });
    let expected =
        [Verdict::Rejected(Reason::RecordTimestamp), Verdict::Rejected(Reason::TooLarge)];
    assert_eq!(verdicts(&gate.batch(&collected, None)), expected);
    assert!(gate.store.is_empty());
}

/// A clean record of an item is the document reduced to it: its size is what counts, its place is
/// named also where it is alone, and with its number among equals it gives its key again.
#[test]
fn items_are_written_measured_and_keyed_each_by_itself() {
    let item = |lot: &str, note: usize| {
        let note = "x".repeat(note);
        format!(
            r#"{{"ndc11":"00093-0058-01","lot":"{lot}","qty_delta":"1","unit":"EA","event_type":"dispense","note":"{note}"}}"#
        )
    };
    let batch = |items: &[String]| {
        format!(
            r#"{{"facility_uuid":"0b6f2a5e-8f6e-4f6e-9a53-0d6f1f9b7a11","batch_ts":"2026-07-01T11:00:00Z","items":[{}]}}"#,
            items.join(", ")
        )
    };
    let payloads = [
        batch(&[item("L1", 3000), item("L1", 3000), item("L2", 9000), item("L1", 3000)]),
        batch(&[item("L3", 1)]),
        "[]".to_owned(),
    ];
    let mut deriver = deriver_of("inventory-item");
    let mut collected = Collected::new(0);
    for (offset, payload) in (0..).zip(&payloads) {
        collected.push(&record(offset, Some(payload.as_bytes()), &[]), &mut deriver);
    }
    let part = Gate::new(Policy { clean_bytes_max: 8000, ..policy() }).batch(&collected, None);
    use Verdict::{First, Rejected};
    let json = Reason::Identity(oncegate::identity::Reason::Json);
    let expected = [First, First, Rejected(Reason::TooLarge), First, First, Rejected(json)];
    assert_eq!(verdicts(&part), expected);
    let written = render(&collected, &part);
    let sources: Vec<String> = written.iter().map(|w| w.header("oncegate-source")).collect();
    let expected = ["0/0", "0/1", "0/2", "0/3", "1/0", "2"].map(|at| format!("lab.raw/0/{at}"));
    assert_eq!(sources, expected);
    let numbers: Vec<String> = written.iter().map(|w| w.header("oncegate-occurrence")).collect();
    assert_eq!(numbers, ["", "2", "", "3", "", ""]);
    for clean in written.iter().filter(|written| written.target == Target::Clean) {
        let payload = clean.payload.as_deref().expect("a value");
        let number = clean.header("oncegate-occurrence").parse().unwrap_or(1);
        let events = deriver.derive_numbered(payload, number).expect("a record");
        let keys: Vec<String> = events.iter().map(|event| event.unwrap().key_text()).collect();
        assert_eq!(keys, [clean.header("oncegate-key")]);
    }
}
