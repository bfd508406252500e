//! Verdicts against a real broker: what readers of clean, quarantine and audit saw of events that
//! are late, too far ahead, of other content, broken or strangely made, also on a store that was
//! rebuilt from the journal in between.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{assert_agreement, broker, end, entries, rest, unique};
use oncegate::gate::size::{Besides, NameLengths, clean_bytes};
use oncegate::gate::{Collected, RawRecord, RecordTimestamp};
use oncegate::identity::{Deriver, Recipe};
use oncegate_testkit::generator::{Broken, Kind, Sent, Truth};
use oncegate_testkit::reader::{Record, read_topic};
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::topics::{Admin, GroupOffset};
use oncegate_testkit::wait::wait_until;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, AlterConfig, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use serde_json::Value;

/// 2026-07-01T12:00:00Z.
const NOON_MS: i64 = 1_782_907_200_000;

const WINDOW: &str = "window = \"1h\"\nretry_horizon = \"10m\"\nmax_future = \"10m\"\n\
                      arrival = \"create-time\"\n";

type RawHeaders = Vec<(&'static str, Option<&'static [u8]>)>;

/// A raw record in all that can be null or empty.
#[derive(Clone, Debug, Default)]
struct Raw {
    key: Option<Vec<u8>>,
    payload: Option<Vec<u8>>,
    headers: RawHeaders,
}

impl Raw {
    fn of(payload: impl Into<Vec<u8>>) -> Raw {
        Raw { payload: Some(payload.into()), ..Raw::default() }
    }
}

fn lab(accession: &str, resulted_at: &str, rest: &str) -> String {
    format!(
        r#"{{"accession":"{accession}","analyte_loinc":"2823-3","instrument_id":"chem-1","resulted_at":"{resulted_at}",{rest}}}"#
    )
}

/// One partition, its gate, and what was sent to it.
struct Stand {
    scene: Scene,
    sent: usize,
}

impl Stand {
    fn new(name: &str, options: SceneOptions) -> Stand {
        let options = SceneOptions { partitions: 1, ..options };
        let scene = Scene::new(broker(), &unique(name), options).expect("a scene");
        Stand { scene, sent: 0 }
    }

    /// Sends in one go.
    fn send(&mut self, records: &[Raw]) {
        let producer: BaseProducer = ClientConfig::new()
            .set("bootstrap.servers", &self.scene.bootstrap)
            .set("enable.idempotence", "true")
            .set("linger.ms", "20")
            .create()
            .expect("a producer");
        let topic = self.scene.raw();
        for raw in records {
            let mut headers = OwnedHeaders::new();
            for (key, value) in &raw.headers {
                headers = headers.insert(Header { key, value: *value });
            }
            let mut record: BaseRecord<'_, [u8], [u8]> =
                BaseRecord::to(&topic).partition(0).timestamp(NOON_MS).headers(headers);
            record.key = raw.key.as_deref();
            record.payload = raw.payload.as_deref();
            producer.send(record).map_err(|(error, _)| error).expect("queued");
        }
        producer.flush(Duration::from_secs(60)).expect("all acknowledged");
        self.sent += records.len();
    }

    fn send_text(&mut self, payloads: &[String]) {
        let raws: Vec<Raw> = payloads.iter().map(|text| Raw::of(text.as_bytes())).collect();
        self.send(&raws);
    }

    /// Runs a gate until all is through, then kills it, or ends it in order.
    fn run(&self, kill: bool) {
        let mut one = self.scene.start("one").expect("started");
        rest(&self.scene, &["one"]);
        match kill {
            true => drop(one.kill9().expect("killed")),
            false => end(&mut one),
        }
    }

    fn lose_state(&self) {
        std::fs::remove_dir_all(self.scene.state_dir("one")).expect("deleted");
    }

    fn clean(&self) -> Vec<Record> {
        read_topic(&self.scene.bootstrap, &self.scene.clean()).expect("clean").remove(0)
    }

    fn quarantine(&self) -> Vec<Record> {
        read_topic(&self.scene.bootstrap, &self.scene.quarantine()).expect("quarantine").remove(0)
    }

    fn reasons(&self) -> Vec<String> {
        let reason = |record: &Record| record.header("oncegate-reason").unwrap_or("").to_owned();
        self.quarantine().iter().map(reason).collect()
    }

    fn audit(&self) -> Vec<Value> {
        let audit =
            read_topic(&self.scene.bootstrap, &self.scene.audit()).expect("audit").remove(0);
        let json = |record: &Record| {
            serde_json::from_slice(record.payload.as_deref().unwrap_or_default()).expect("JSON")
        };
        audit.iter().map(json).collect()
    }

    /// Verdict, first offset and own offset of each audit record.
    fn told(&self) -> Vec<(String, i64, i64)> {
        let at = |value: &Value| value["offset"].as_i64().expect("an offset");
        (self.audit().iter())
            .map(|told| {
                let verdict = told["verdict"].as_str().expect("a verdict").to_owned();
                (verdict, at(&told["first"]), at(&told["this"]))
            })
            .collect()
    }

    fn totals(&self) -> oncegate::gate::Counts {
        let last = entries(&self.scene, 0).pop().expect("an entry");
        oncegate::journal::entry::counts_of(last.header.total_counts.as_ref())
    }

    /// Journal, offsets, stores and counts agree. Where records have several events, the counts
    /// are compared by the test itself.
    fn assert_agreement(&self) {
        let one = Sent {
            kind: Kind::Lab,
            partition: 0,
            key: Vec::new(),
            payload: None,
            event_time_ms: 0,
            truth: Truth::Broken { why: Broken::NullValue },
        };
        assert_agreement(&self.scene, &vec![one; self.sent], &["one"]);
    }

    fn rewind(&self) {
        let admin = Admin::new(&self.scene.bootstrap).expect("an admin client");
        let offset = GroupOffset {
            topic: self.scene.raw(),
            partition: 0,
            offset: 0,
            metadata: String::new(),
        };
        let group = self.scene.group();
        wait_until(Duration::from_secs(30), "the group has no members and takes offsets", || {
            admin.set_group_offsets(&group, std::slice::from_ref(&offset)).is_ok()
        })
        .expect("rewound");
    }
}

fn with_lines(lines: &str) -> SceneOptions {
    SceneOptions { route_lines: lines.to_owned(), ..SceneOptions::default() }
}

/// P45, events of the years 1970 and 2099, and a rewind below the window.
#[test]
fn late_future_and_replayed() {
    let mut stand = Stand::new("window", with_lines(WINDOW));
    stand.send_text(&[
        lab("A1", "2026-07-01T12:00:00Z", r#""value":1"#),
        lab("A2", "2026-07-01T10:30:00Z", r#""value":1"#),
        lab("A3", "2099-01-01T00:00:00Z", r#""value":1"#),
        lab("A4", "1970-01-01T00:00:01Z", r#""value":1"#),
        lab("A5", "2026-07-01T11:00:00Z", r#""value":1"#),
        lab("A6", "2026-07-01T10:59:59Z", r#""value":1"#),
    ]);
    stand.run(true);
    assert_eq!(stand.reasons(), ["late", "future", "late", "late"]);
    assert_eq!(stand.clean().len(), 2);
    stand.lose_state();
    stand.send_text(&[
        lab("A7", "2026-07-01T10:30:00Z", r#""value":1"#),
        lab("A5", "2026-07-01T11:00:00Z", r#""value":1"#),
    ]);
    stand.run(false);
    assert_eq!(stand.reasons(), ["late", "future", "late", "late", "late"]);
    assert_eq!(stand.clean().len(), 2, "the clock came from the journal");
    assert_eq!(stand.told(), [("duplicate".to_owned(), 4, 7)]);
    stand.assert_agreement();
    stand.rewind();
    stand.run(false);
    assert_eq!(stand.clean().len(), 2);
    // What was late was decided before; what is too far ahead is told again.
    assert_eq!(stand.reasons().len(), 6);
    let last = entries(&stand.scene, 0).pop().expect("an entry");
    let replayed = last.header.total_replay_counts.expect("counts");
    assert_eq!((replayed.replayed, replayed.duplicate, replayed.first), (4, 3, 0));
    stand.assert_agreement();
}

/// A result whose status goes from preliminary to corrected, under each policy, redelivered in
/// several orders, in one batch and in several, with the state directory lost in between.
#[test]
fn other_content_under_each_policy() {
    let at = "2026-07-01T12:00:00Z";
    let first = lab("A1", at, r#""value":4.2,"status":"P""#);
    let corrected = lab("A1", at, r#""value":6.8,"status":"C""#);
    let withdrawn = lab("A1", at, r#""value":null,"status":"X""#);
    for policy in ["quarantine", "absorb", "correction"] {
        let lines = format!("{WINDOW}conflict = \"{policy}\"\n");
        let mut stand = Stand::new(policy, with_lines(&lines));
        stand.send_text(&[first.clone(), corrected.clone(), corrected.clone(), first.clone()]);
        stand.run(true);
        stand.lose_state();
        stand.send_text(&[corrected.clone(), first.clone(), withdrawn.clone()]);
        stand.run(true);
        stand.send_text(&[first.clone(), withdrawn.clone(), corrected.clone()]);
        stand.run(false);
        let clean: Vec<(i64, Option<String>)> = (stand.clean().iter())
            .map(|record| {
                let source = record.header("oncegate-source").expect("a source");
                let offset = source.rsplit('/').next().and_then(|text| text.parse().ok());
                let corrects = record.header("oncegate-corrects").map(str::to_owned);
                (offset.expect("an offset"), corrects)
            })
            .collect();
        let (counts, told) = (stand.totals(), stand.told());
        let verdicts: Vec<&str> = told.iter().map(|(verdict, ..)| verdict.as_str()).collect();
        let dup = "duplicate";
        let other = "conflict";
        if policy == "correction" {
            let of_first = Some(format!("{}/0/0", stand.scene.raw()));
            assert_eq!(clean, [(0, None), (1, of_first.clone()), (6, of_first)]);
            assert_eq!(verdicts, ["correction", dup, dup, dup, dup, "correction", dup, dup, dup],);
            // A duplicate of a correction names that correction as the first of its content.
            let firsts: Vec<i64> = told.iter().map(|(_, first, _)| *first).collect();
            assert_eq!(firsts, [0, 1, 0, 1, 0, 0, 0, 6, 1]);
            let loads: Vec<_> = stand.audit().iter().map(|a| a["load_count"].clone()).collect();
            assert_eq!(loads, [1, 2, 2, 3, 3, 3, 4, 2, 4], "counted on across the rebuild");
            assert_eq!((counts.first, counts.correction, counts.duplicate), (1, 2, 7));
            assert!(stand.reasons().is_empty());
        } else {
            assert_eq!(clean, [(0, None)]);
            assert_eq!(verdicts, [other, other, dup, other, dup, other, dup, other, other]);
            let quarantined = if policy == "quarantine" { 6 } else { 0 };
            assert_eq!(stand.reasons(), vec![other; quarantined]);
            assert_eq!((counts.first, counts.duplicate), (1, 3));
            assert_eq!(counts.conflict as usize + quarantined, 6);
        }
        stand.assert_agreement();
    }
}

/// P33: three patients with one accession. In one call, over two transactions, on a rebuilt store.
#[test]
fn other_people_under_one_accession_are_never_absorbed() {
    let at = "2026-07-01T12:00:00Z";
    let one = lab("A1", at, r#""patient":"P-1","value":1"#);
    let other = lab("A1", at, r#""patient":"P-2","value":2"#);
    for way in ["together", "apart", "rebuilt"] {
        let mut stand = Stand::new(way, SceneOptions::default());
        if way == "together" {
            stand.send_text(&[one.clone(), other.clone()]);
        } else {
            stand.send_text(std::slice::from_ref(&one));
            stand.run(true);
            stand.send_text(std::slice::from_ref(&other));
        }
        if way == "rebuilt" {
            stand.lose_state();
        }
        stand.run(false);
        assert_eq!(stand.clean().len(), 1, "{way}");
        assert_eq!(stand.clean()[0].payload.as_deref(), Some(one.as_bytes()), "{way}");
        assert_eq!(stand.reasons(), ["conflict"], "{way}");
        assert_eq!(stand.quarantine()[0].payload.as_deref(), Some(other.as_bytes()), "{way}");
        let told = stand.told();
        assert_eq!((told[0].0.as_str(), told[0].1), ("conflict", 0), "{way}");
        assert!(told[0].2 > 0, "{way}");
        stand.assert_agreement();
    }
}

/// P26, records of 900 kB, tombstones, and headers that would pass for ours.
#[test]
fn copies_are_the_raw_record_and_headers_cannot_be_spoofed() {
    let headers: RawHeaders = vec![
        ("a", None),
        ("a", Some(b"")),
        ("a", Some(b"\xff")),
        ("oncegate-key", Some(b"spoofed")),
        ("oncegate-reason", Some(b"spoofed")),
        ("oncegate-raw-key", Some(b"twice")),
    ];
    let kept: Vec<(String, Option<Vec<u8>>)> = [
        ("a", None),
        ("a", Some(&b""[..])),
        ("a", Some(b"\xff")),
        ("oncegate-raw-key", Some(b"spoofed")),
        ("oncegate-raw-reason", Some(b"spoofed")),
        ("oncegate-raw-raw-key", Some(b"twice")),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.map(<[u8]>::to_vec)))
    .collect();
    let at = "2026-07-01T12:00:00Z";
    let large = format!(r#""note":"{}""#, "x".repeat(900_000));
    let raws: Vec<Raw> = [
        (None, Some(lab("A1", at, r#""value":1"#))),
        (Some(""), Some(lab("A2", at, r#""value":1"#))),
        (Some("k"), Some(lab("A3", at, &large))),
        (None, None),
        (Some(""), Some(String::new())),
        (Some("k"), Some("{\"JANE-DOE-4410".to_owned())),
        (Some("k"), Some(format!("{{{}", "y".repeat(900_000)))),
    ]
    .into_iter()
    .map(|(key, payload)| Raw {
        key: key.map(|key: &str| key.as_bytes().to_vec()),
        payload: payload.map(String::into_bytes),
        headers: headers.clone(),
    })
    .collect();
    let mut stand = Stand::new("copies", SceneOptions::default());
    stand.send(&raws);
    stand.run(false);
    let (clean, quarantine) = (stand.clean(), stand.quarantine());
    assert_eq!(stand.reasons(), ["tombstone", "json", "json", "json"]);
    // Nobody's own header of this name is found in place of ours.
    let copies: Vec<&Record> = clean.iter().chain(&quarantine).collect();
    assert_eq!(copies.len(), raws.len());
    for (copy, raw) in copies.iter().zip(&raws) {
        assert_eq!((&copy.key, &copy.payload), (&raw.key, &raw.payload));
        assert_eq!(copy.headers[..kept.len()], kept[..]);
        let own = &copy.headers[kept.len()..];
        assert!(own.iter().all(|(name, _)| name.starts_with("oncegate-")), "{own:?}");
        assert!(!own.iter().any(|(name, _)| name.starts_with("oncegate-raw-")), "{own:?}");
        let told = format!("{own:?}");
        assert!(!told.contains("JANE-DOE") && !told.contains("spoofed"), "{told}");
    }
    assert!(
        clean.iter().all(|record| record.header("oncegate-key").is_some_and(|k| k.len() == 64))
    );
    assert!(!stand.scene.log("one").contains("JANE-DOE"));
    stand.assert_agreement();
}

/// Noise: a batch of it is as large on its way as its record.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 88_172_645_463_325_252_u64;
    let next = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    });
    next.take(len).collect()
}

/// Raises what a topic takes.
fn raise_limit(bootstrap: &str, topic: &str, bytes: &str) {
    let client: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", bootstrap).create().expect("a client");
    let change = AlterConfig::new(ResourceSpecifier::Topic(topic))
        .set("max.message.bytes", bytes)
        .set("retention.ms", "-1");
    let changes = [change];
    let options = AdminOptions::new();
    let altered = client.alter_configs(&changes, &options);
    for answer in futures::executor::block_on(altered).expect("an answer") {
        answer.expect("altered");
    }
}

/// The broker takes what is said to fit; one byte more is told beforehand. Records so large reach a
/// gate only where the raw topic's limit was raised after its start.
#[test]
fn a_record_that_just_fits_passes_and_one_byte_more_does_not() {
    const LIMIT: usize = 1_100_000;
    let stand = Stand::new("fits", SceneOptions::default());
    let (scene, raw) = (&stand.scene, stand.scene.raw());
    let payload = |nth: usize| lab(&format!("A{nth}"), "2026-07-01T12:00:00Z", r#""value":1"#);
    let mut deriver = deriver("lab-result");
    let recipe = format!("lab-result/{}", deriver.recipe().version());
    let names = NameLengths::of(&raw, &format!("{}/route", scene.name), &recipe);
    // The key's length for which the clean record of this offset takes so many bytes.
    let mut key_bytes = |offset: usize, bytes: usize| {
        const GUESS: usize = 1_090_000;
        let mut collected = Collected::new(0);
        let (key, payload) = (noise(GUESS), payload(offset));
        let record = RawRecord {
            partition: 0,
            offset: offset as i64,
            timestamp: RecordTimestamp::CreateTimeMs(NOON_MS),
            key: Some(&key),
            payload: Some(payload.as_bytes()),
            headers: &[],
        };
        collected.push(&record, &mut deriver);
        GUESS + bytes - clean_bytes(&collected, (0, 0), &names, Besides::Nothing)
    };
    let mut one = scene.start("one").expect("started");
    scene.wait_readyz("one", 200, "ready").expect("ready");
    raise_limit(&scene.bootstrap, &raw, "1200000");
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", &scene.bootstrap)
        .set("message.max.bytes", "2000000")
        .create()
        .expect("a producer");
    for (nth, bytes) in [LIMIT, LIMIT + 1, LIMIT].into_iter().enumerate() {
        let (key, payload) = (noise(key_bytes(nth, bytes)), payload(nth));
        let record = BaseRecord::to(&raw).partition(0).timestamp(NOON_MS);
        producer.send(record.key(&key).payload(&payload)).map_err(|(e, _)| e).expect("queued");
        producer.flush(Duration::from_secs(30)).expect("sent");
    }
    rest(scene, &["one"]);
    end(&mut one);
    assert_eq!(stand.reasons(), ["too-large"]);
    assert_eq!(stand.clean().len(), 2);
    assert!(stand.quarantine()[0].header("oncegate-record-hash").is_some(), "it fits nowhere");
    assert!(!scene.log("one").contains("a record was refused"), "the broker was not asked");
}

fn deriver(recipe: &str) -> Deriver {
    let path = format!("{}/../../config/recipes/{recipe}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the recipe");
    Deriver::new(Arc::new(Recipe::parse(recipe, &text).expect("a recipe")))
}

/// The key of each clean record can be derived again from it alone.
fn assert_derivable(recipe: &str, clean: &[Record]) {
    let mut deriver = deriver(recipe);
    for record in clean {
        let number = record.header("oncegate-occurrence").map_or(1, |n| n.parse().expect("number"));
        let payload = record.payload.as_deref().expect("a value");
        let events = deriver.derive_numbered(payload, number).expect("a record");
        assert_eq!(events.len(), 1, "reduced to one item");
        let event = events.iter().next().expect("one").expect("an event");
        assert_eq!(record.header("oncegate-key"), Some(event.key_text().as_str()));
    }
}

fn of_recipe(recipe: &str) -> SceneOptions {
    SceneOptions { recipe: Some(recipe.to_owned()), ..SceneOptions::default() }
}

/// One record, several verdicts: a bad item is quarantined alone, equal items are told apart.
#[test]
fn each_item_has_its_own_verdict() {
    const FACILITY: &str = "0b6f2a5e-8f6e-4f6e-9a53-0d6f1f9b7a11";
    let item = |lot: &str, unit: &str| {
        format!(
            r#"{{"ndc11":"00093-0058-01","lot":"{lot}","qty_delta":"1","unit":"{unit}","event_type":"dispense"}}"#
        )
    };
    let batch = |items: &[String]| {
        format!(
            r#"{{"facility_uuid":"{FACILITY}","batch_ts":"2026-07-01T12:00:00Z","items":[{}]}}"#,
            items.join(",")
        )
    };
    let mut stand = Stand::new("items", of_recipe("inventory-item"));
    let several =
        batch(&[item("L1", "EA"), item("L1", "EA"), item("L2", "furlong"), item("L3", "EA")]);
    stand.send_text(&[several.clone(), batch(&[item("L4", "EA")]), several]);
    stand.run(false);
    let clean = stand.clean();
    let sources: Vec<&str> =
        clean.iter().map(|r| r.header("oncegate-source").expect("a source")).collect();
    let raw = stand.scene.raw();
    let expected: Vec<String> =
        ["0/0/0", "0/0/1", "0/0/3", "0/1/0"].iter().map(|at| format!("{raw}/{at}")).collect();
    assert_eq!(sources, expected);
    assert_derivable("inventory-item", &clean);
    assert_eq!(stand.reasons(), ["unit", "unit"]);
    let quarantine = stand.quarantine();
    let source = quarantine[0].header("oncegate-source").expect("a source");
    assert_eq!(source, format!("{raw}/0/0/2"));
    let counts = stand.totals();
    assert_eq!((counts.records, counts.first, counts.duplicate, counts.events()), (3, 4, 3, 9));
    let journal = read_topic(&stand.scene.bootstrap, &stand.scene.journal()).expect("journal");
    let told = (stand.audit().iter().map(Value::to_string).collect::<String>()).into_bytes();
    let entries = journal[0].iter().flat_map(|record| record.payload.clone().unwrap_or_default());
    let all: Vec<u8> = told.into_iter().chain(entries).collect();
    let facility = FACILITY.as_bytes();
    assert!(!all.windows(facility.len()).any(|bytes| bytes == facility), "an identity value");
}

/// An error declaration repeats an event and has a key of its own; an event that stands twice in
/// one document is a duplicate.
#[test]
fn an_error_declaration_is_an_event_of_its_own() {
    let event = |extra: &str| {
        format!(
            r#"{{"type":"ObjectEvent","eventTime":"2026-07-01T10:00:00Z","eventTimeZoneOffset":"+00:00","epcList":["urn:epc:id:sgtin:0614141.107346.2017"],"action":"OBSERVE","bizStep":"shipping"{extra}}}"#
        )
    };
    let document = |events: &[String]| {
        format!(
            r#"{{"@context":["https://ref.gs1.org/standards/epcis/2.0.0/epcis-context.jsonld"],"type":"EPCISDocument","schemaVersion":"2.0","creationDate":"2026-07-01T10:00:00Z","epcisBody":{{"eventList":[{}]}}}}"#,
            events.join(",")
        )
    };
    let declared = r#","errorDeclaration":{"declarationTime":"2026-07-01T11:00:00Z","reason":"incorrect_data"}"#;
    let mut stand = Stand::new("declared", of_recipe("epcis-document"));
    stand.send_text(&[document(&[event(""), event("")]), document(&[event(declared), event("")])]);
    stand.run(false);
    assert!(stand.reasons().is_empty(), "{:?}", stand.quarantine());
    let clean = stand.clean();
    assert_eq!(clean.len(), 2);
    assert_derivable("epcis-document", &clean);
    assert_ne!(clean[0].header("oncegate-key"), clean[1].header("oncegate-key"));
    let counts = stand.totals();
    assert_eq!((counts.first, counts.duplicate, counts.events()), (2, 2, 4));
}
