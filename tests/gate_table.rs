//! Every combination of what a verdict depends on, against a table that is written out by hand.
//!
//! The axes: what is remembered of the key, which content comes, where its time lies in the
//! window, whether its offset was decided before, the route's policy, the granularity. A case is
//! answered by the first row of [`TABLE`] that it fits, and every row must answer some case.

use oncegate::gate::{
    Case, Collected, ConflictPolicy, CorrectionLookups, Counts, Incarnation, Lookups, NameLengths,
    Part, Policy, Progress, RawRecord, RecordTimestamp, Sighting, SightingKey, Window, WindowState,
    decide_part,
};
use oncegate::identity::{ContentDigest, Deriver, Recipe};
use std::sync::Arc;

const HOUR: i64 = 3_600_000_000;
/// 2026-07-01T00:00:00Z.
const DAY: i64 = 1_782_864_000_000_000;

/// What is remembered of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    /// Nothing.
    Nothing,
    /// A first.
    First,
    /// A first, and other content that was let through as a correction.
    FirstAndCorrection,
    /// A late event that a person admitted.
    Admitted,
}

/// Which content comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// That of the first, or of the admitted.
    A,
    /// That of the correction.
    B,
    /// One that was never seen.
    C,
}

/// Where the event's time lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Inside,
    Late,
    Future,
    /// The route has no window.
    NoWindow,
}

/// One value of an axis, or any.
#[derive(Clone, Copy)]
enum On<T: 'static> {
    Any,
    Of(&'static [T]),
}

impl<T: PartialEq> On<T> {
    fn fits(&self, value: &T) -> bool {
        match self {
            On::Any => true,
            On::Of(values) => values.contains(value),
        }
    }
}

struct Row {
    place: On<Place>,
    decided: On<bool>,
    memory: On<Memory>,
    content: On<Content>,
    policy: On<ConflictPolicy>,
    verdict: &'static str,
    /// Where it is counted; a name with `!` is a quarantine reason.
    counted: &'static str,
    /// Records in clean, quarantine and audit.
    written: (usize, usize, usize),
    /// Rows in the journal: firsts, corrections, conflicts, absorbed.
    journal: (usize, usize, usize, usize),
    /// Load count of the sighting that the store is told to keep; 0: none.
    load: u32,
}

use ConflictPolicy::{Absorb, Correction, Quarantine};
use Content::{A, B};
use Memory::{Admitted, First, FirstAndCorrection, Nothing};
use On::{Any, Of};

const REMEMBERED: On<Memory> = Of(&[First, FirstAndCorrection]);

#[rustfmt::skip]
const TABLE: &[Row] = &[
    // Below the horizon.
    Row { place: Of(&[Place::Late]), decided: Of(&[true]), memory: Any, content: Any, policy: Any,
          verdict: "replayed", counted: "replayed", written: (0, 0, 0), journal: (0, 0, 0, 0), load: 0 },
    Row { place: Of(&[Place::Late]), decided: Any, memory: Of(&[Admitted]), content: Of(&[A]), policy: Any,
          verdict: "duplicate", counted: "duplicate", written: (0, 0, 1), journal: (0, 0, 0, 1), load: 8 },
    Row { place: Of(&[Place::Late]), decided: Any, memory: Of(&[Admitted]), content: Any, policy: Of(&[Quarantine]),
          verdict: "conflict", counted: "!conflict", written: (0, 1, 1), journal: (0, 0, 1, 0), load: 0 },
    Row { place: Of(&[Place::Late]), decided: Any, memory: Of(&[Admitted]), content: Any, policy: Of(&[Absorb]),
          verdict: "conflict", counted: "conflict", written: (0, 0, 1), journal: (0, 0, 1, 0), load: 0 },
    Row { place: Of(&[Place::Late]), decided: Any, memory: Any, content: Any, policy: Any,
          verdict: "rejected", counted: "!late", written: (0, 1, 0), journal: (0, 0, 0, 0), load: 0 },
    // Beyond the arrival.
    Row { place: Of(&[Place::Future]), decided: Any, memory: Any, content: Any, policy: Any,
          verdict: "rejected", counted: "!future", written: (0, 1, 0), journal: (0, 0, 0, 0), load: 0 },
    // Between both, or without a window. What is admitted was late, and counts only there.
    Row { place: Any, decided: Any, memory: Of(&[Nothing, Admitted]), content: Any, policy: Any,
          verdict: "first", counted: "first", written: (1, 0, 0), journal: (1, 0, 0, 0), load: 1 },
    Row { place: Any, decided: Any, memory: REMEMBERED, content: Of(&[A]), policy: Any,
          verdict: "duplicate", counted: "duplicate", written: (0, 0, 1), journal: (0, 0, 0, 1), load: 6 },
    Row { place: Any, decided: Any, memory: REMEMBERED, content: Any, policy: Of(&[Quarantine]),
          verdict: "conflict", counted: "!conflict", written: (0, 1, 1), journal: (0, 0, 1, 0), load: 0 },
    Row { place: Any, decided: Any, memory: REMEMBERED, content: Any, policy: Of(&[Absorb]),
          verdict: "conflict", counted: "conflict", written: (0, 0, 1), journal: (0, 0, 1, 0), load: 0 },
    Row { place: Any, decided: Any, memory: Of(&[FirstAndCorrection]), content: Of(&[B]), policy: Of(&[Correction]),
          verdict: "duplicate", counted: "duplicate", written: (0, 0, 1), journal: (0, 0, 0, 1), load: 4 },
    Row { place: Any, decided: Any, memory: REMEMBERED, content: Any, policy: Of(&[Correction]),
          verdict: "correction", counted: "correction", written: (1, 0, 1), journal: (0, 1, 0, 0), load: 1 },
];

#[derive(Clone, Copy, Debug)]
struct Setting {
    place: Place,
    decided: bool,
    memory: Memory,
    content: Content,
    policy: ConflictPolicy,
    items: bool,
}

fn settings() -> Vec<Setting> {
    let mut all = Vec::new();
    for place in [Place::Inside, Place::Late, Place::Future, Place::NoWindow] {
        for decided in [false, true] {
            for memory in [Nothing, First, FirstAndCorrection, Admitted] {
                for content in [A, B, Content::C] {
                    for policy in ConflictPolicy::ALL {
                        for items in [false, true] {
                            all.push(Setting { place, decided, memory, content, policy, items });
                        }
                    }
                }
            }
        }
    }
    all
}

fn deriver(items: bool) -> Deriver {
    let name = if items { "inventory-item" } else { "lab-result" };
    let path = format!("{}/config/recipes/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the recipe");
    Deriver::new(Arc::new(Recipe::parse(name, &text).expect("a recipe")))
}

/// The event at 12:00, in the given content.
fn payload(items: bool, content: Content) -> String {
    let value = content as u32;
    if items {
        format!(
            r#"{{"facility_uuid":"0b6f2a5e-8f6e-4f6e-9a53-0d6f1f9b7a11","batch_ts":"2026-07-01T12:00:00Z","items":[{{"ndc11":"00093-0058-01","lot":"L1","qty_delta":"1","unit":"EA","event_type":"dispense","note":{value}}}]}}"#
        )
    } else {
        format!(
            r#"{{"accession":"A1","analyte_loinc":"2823-3","instrument_id":"chem-1","resulted_at":"2026-07-01T12:00:00Z","value":{value}}}"#
        )
    }
}

/// Key and digest of the event in a content.
fn derived(items: bool, content: Content) -> (SightingKey, ContentDigest) {
    let mut deriver = deriver(items);
    let payload = payload(items, content);
    let events = deriver.derive(payload.as_bytes()).expect("an event");
    let event = events.iter().next().expect("one").expect("sound");
    assert_eq!(event.event_time_micros, Some(DAY + 12 * HOUR));
    (SightingKey { event_micros: DAY + 12 * HOUR, key: event.key }, event.digest)
}

fn store(setting: &Setting) -> Vec<(SightingKey, Sighting)> {
    let (key, digest) = derived(setting.items, A);
    let (_, other) = derived(setting.items, B);
    let sighting =
        |digest, load_count| Sighting { digest, first_offset: 2, first_item: 0, load_count };
    match setting.memory {
        Nothing => vec![],
        First => vec![(key, sighting(digest, 5))],
        FirstAndCorrection => {
            vec![(key, sighting(digest, 5)), (key.of_correction(&other), sighting(other, 3))]
        }
        Admitted => vec![(SightingKey::kept(key.key), sighting(digest, 7))],
    }
}

fn decide(setting: &Setting) -> (Part, Collected) {
    let mut collected = Collected::new(0);
    let arrival = if setting.place == Place::Future { 10 } else { 13 } * HOUR;
    let payload = payload(setting.items, setting.content);
    let record = RawRecord {
        partition: 0,
        offset: 50,
        timestamp: RecordTimestamp::LogAppendTimeMs((DAY + arrival) / 1000),
        key: None,
        payload: Some(payload.as_bytes()),
        headers: &[],
    };
    collected.push(&record, &mut deriver(setting.items));
    let unbounded = setting.place == Place::NoWindow;
    let window = Window {
        span_micros: (!unbounded).then_some(2 * HOUR),
        future_micros_max: if unbounded { i64::MAX } else { HOUR },
    };
    let clock = DAY + if setting.place == Place::Late { 15 } else { 11 } * HOUR;
    let before = Progress {
        window: WindowState::EMPTY.after(&window, clock),
        decided_to: if setting.decided { 100 } else { 50 },
        skipped: Vec::new(),
    };
    let policy = Policy {
        window,
        conflict: setting.policy,
        clean_bytes_max: 100_000,
        names: NameLengths::of("raw", "g/lab", "lab-result/1"),
        keep_timestamp: true,
    };
    let rows = store(setting);
    let look_up = |keys: &[SightingKey]| -> Vec<Option<Sighting>> {
        let found = |key: &SightingKey| rows.iter().find(|(at, _)| at == key).map(|(_, row)| *row);
        keys.iter().map(found).collect()
    };
    let lookups = Lookups::of(&collected, &(0..1), &before.window);
    let found = look_up(&lookups.keys);
    let corrections: CorrectionLookups =
        lookups.corrections(&collected, &(0..1), &found, setting.policy);
    if setting.policy != Correction {
        assert!(corrections.keys.is_empty(), "other policies pay nothing");
    }
    let corrections_found = look_up(&corrections.keys);
    let case = Case {
        collected: &collected,
        records: 0..1,
        lookups: &lookups,
        found: &found,
        corrections: &corrections,
        corrections_found: &corrections_found,
        from: 50,
        incarnation: Incarnation(1),
        before: &before,
        to_at_least: 0,
        refused: None,
    };
    (decide_part(case, &policy), collected)
}

fn counted(counts: &Counts) -> String {
    let mut names: Vec<String> = [
        (counts.first, "first"),
        (counts.duplicate, "duplicate"),
        (counts.replayed, "replayed"),
        (counts.correction, "correction"),
        (counts.conflict, "conflict"),
        (counts.admitted, "admitted"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(_, name)| name.to_owned())
    .collect();
    names.extend(counts.quarantined.keys().map(|reason| format!("!{reason}")));
    assert_eq!(counts.events(), names.len() as u64);
    names.join(" ")
}

fn written(collected: &Collected, part: &Part) -> (usize, usize, usize) {
    use oncegate::gate::{Renderer, RouteNames, Target};
    let names = RouteNames { raw_topic: "raw".into(), route: "g/r".into(), recipe: "r/1".into() };
    let mut counts = (0, 0, 0);
    let rendered: Result<(), std::convert::Infallible> = Renderer::new(names, true, 100_000)
        .render(collected, part, &mut |record| {
            match record.target {
                Target::Clean => counts.0 += 1,
                Target::Quarantine => counts.1 += 1,
                Target::Audit => counts.2 += 1,
                Target::Journal => panic!("the gate writes no journal"),
            }
            Ok(())
        });
    let Ok(()) = rendered;
    counts
}

#[test]
fn every_case_is_as_the_table_says() {
    let mut used = vec![false; TABLE.len()];
    for setting in settings() {
        let (nth, row) = (TABLE.iter().enumerate())
            .find(|(_, row)| {
                row.place.fits(&setting.place)
                    && row.decided.fits(&setting.decided)
                    && row.memory.fits(&setting.memory)
                    && row.content.fits(&setting.content)
                    && row.policy.fits(&setting.policy)
            })
            .unwrap_or_else(|| panic!("no row for {setting:?}"));
        used[nth] = true;
        let (part, collected) = decide(&setting);
        let at = format!("row {nth}, {setting:?}");
        assert_eq!(part.outcomes.len(), 1, "{at}");
        assert_eq!(part.outcomes[0].verdict.as_str(), row.verdict, "{at}");
        let (counts, other) = match setting.decided {
            true => (&part.replay_counts, &part.counts),
            false => (&part.counts, &part.replay_counts),
        };
        assert_eq!(counted(counts), row.counted, "{at}");
        assert_eq!((counts.records, other), (1, &Counts::default()), "{at}");
        assert_eq!(written(&collected, &part), row.written, "{at}");
        let journal =
            (part.firsts.len(), part.corrections.len(), part.conflicts.len(), part.absorbed.len());
        assert_eq!(journal, row.journal, "{at}");
        let loads: Vec<u32> = part.changed.iter().map(|(_, row)| row.load_count).collect();
        assert_eq!(loads, if row.load == 0 { vec![] } else { vec![row.load] }, "{at}");
        // Only a first moves the clock, and nothing moves it back.
        let clock = part.after.window.clock_micros;
        let moved = clock != part.before.window.clock_micros;
        let newest = setting.place == Place::Inside || setting.place == Place::NoWindow;
        assert_eq!(moved, row.verdict == "first" && newest, "{at}");
    }
    assert!(used.iter().all(|used| *used), "a row of the table answers nothing: {used:?}");
}
