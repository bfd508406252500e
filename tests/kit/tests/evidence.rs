//! The evidence commands against a real broker: they agree with the generator's truth, find what
//! was tampered with and name where, and are not deceived by markers, aborted records, frozen
//! brokers, or what retention removed.

mod common;

use std::process::{Command, Stdio};
use std::time::Duration;

use common::{broker, end, rest, sample, unique};
use oncegate_testkit::broker::{Broker, BrokerOptions};
use oncegate_testkit::generator::{Delivery, Kind, Sent, Truth};
use oncegate_testkit::process::default_binary;
use oncegate_testkit::produce::{
    Timestamps, TransactionOptions, TransactionalProducer, produce, produce_transactional,
};
use oncegate_testkit::reader::{Record, read_topic, watermarks};
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::topics::{Admin, GroupOffset, TopicSpec};
use oncegate_testkit::wait::{wait_for, wait_until};
use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use serde_json::Value;

/// How a command ended.
struct Said {
    status: i32,
    out: String,
    err: String,
}

impl Said {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// Asserts the exit status.
    fn ends(self, status: i32) -> Said {
        assert_eq!(self.status, status, "{self}");
        self
    }

    /// Asserts that a line holds all of these words.
    fn names(self, words: &[&str]) -> Said {
        let all = |line: &str| words.iter().all(|word| line.contains(word));
        let text = format!("{}\n{}", self.out, self.err);
        assert!(text.lines().any(all), "no line with {words:?}: {self}");
        self
    }
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "status {}\n{}\n{}", self.status, self.out, self.err)
    }
}

fn command(scene: &Scene, config: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(default_binary().expect("a binary"));
    command.args(arguments).arg("--config").arg(scene.dir.path().join(config));
    command
}

fn run(scene: &Scene, arguments: &[&str]) -> Said {
    run_with(scene, "gate.toml", arguments)
}

fn run_with(scene: &Scene, config: &str, arguments: &[&str]) -> Said {
    said(command(scene, config, arguments).output().expect("it runs"))
}

fn said(output: std::process::Output) -> Said {
    Said {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The last line is the one that sums up; of the findings the first of a kind.
fn total(report: &Value, path: &[&str]) -> u64 {
    let partitions = report["partitions"].as_array().expect("partitions");
    let of = |partition: &Value| path.iter().fold(partition.clone(), |v, name| v[*name].clone());
    partitions.iter().map(|partition| of(partition).as_u64().expect("a number")).sum()
}

fn kinds(report: &Value) -> Vec<String> {
    let counts = report["findings"]["counts"].as_object().expect("counts");
    counts.keys().cloned().collect()
}

fn small(name: &str, options: SceneOptions) -> Scene {
    let options = SceneOptions { batch_records: 100, ..options };
    Scene::new(broker(), &unique(name), options).expect("a scene")
}

/// Sends, lets the gate do its work, and ends it.
fn gate_all(scene: &Scene, sent: &[Sent]) {
    produce(&scene.bootstrap, &scene.raw(), sent, Timestamps::EventTime).expect("produced");
    gate(scene);
}

fn gate(scene: &Scene) {
    let mut one = scene.start("one").expect("started");
    rest(scene, &["one"]);
    end(&mut one);
}

/// Writes records as they are, headers and all, to their partitions.
fn put(scene: &Scene, topic: &str, records: &[Record]) -> Vec<i64> {
    let before = watermarks(&scene.bootstrap, topic).expect("ends");
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", &scene.bootstrap)
        .set("queue.buffering.max.messages", "1000000")
        .set("enable.idempotence", "true")
        .create()
        .expect("a producer");
    for record in records {
        let mut headers = OwnedHeaders::new();
        for (key, value) in &record.headers {
            headers = headers.insert(Header { key, value: value.as_ref() });
        }
        let mut out: BaseRecord<'_, [u8], [u8]> =
            BaseRecord::to(topic).partition(record.partition).headers(headers);
        out.key = record.key.as_deref();
        out.payload = record.payload.as_deref();
        out.timestamp = record.timestamp_ms;
        producer.send(out).map_err(|(error, _)| error).expect("queued");
        producer.poll(Duration::ZERO);
    }
    producer.flush(Duration::from_secs(60)).expect("sent");
    before.iter().map(|(_, high)| *high).collect()
}

/// A copy of the clean topic under another name, with a configuration that reads it.
fn clean_copy(scene: &Scene, name: &str, records: &[Record]) -> (String, String) {
    let topic = format!("{}-{name}", scene.clean());
    let spec = TopicSpec::new(&topic, scene.options.partitions).config("retention.ms", -1);
    Admin::new(&scene.bootstrap).expect("an admin").create(&[spec]).expect("created");
    put(scene, &topic, records);
    let text = std::fs::read_to_string(scene.dir.path().join("gate.toml")).expect("read");
    let old = format!("clean = \"{}\"", scene.clean());
    assert!(text.contains(&old));
    let file = format!("{name}.toml");
    let text = text.replace(&old, &format!("clean = \"{topic}\""));
    std::fs::write(scene.dir.path().join(&file), text).expect("written");
    (topic, file)
}

fn flat(partitions: &[Vec<Record>]) -> Vec<Record> {
    partitions.iter().flatten().cloned().collect()
}

/// First, again, broken.
fn truth(sent: &[Sent]) -> (u64, u64, u64) {
    let count =
        |is: &dyn Fn(&Truth) -> bool| sent.iter().filter(|one| is(&one.truth)).count() as u64;
    (
        count(&|truth| matches!(truth, Truth::Event { delivery: Delivery::First, .. })),
        count(&|truth| matches!(truth, Truth::Event { delivery: Delivery::Again, .. })),
        count(&|truth| matches!(truth, Truth::Broken { .. })),
    )
}

/// Asserts that all commands agree with the truth.
fn assert_truth(scene: &Scene, sent: &[Sent]) {
    let (first, again, broken) = truth(sent);
    let report = run(scene, &["reconcile", "route", "--json"]).ends(0).json();
    assert_eq!(total(&report, &["decided", "records"]), sent.len() as u64);
    assert_eq!(total(&report, &["decided", "events"]), sent.len() as u64);
    assert_eq!(total(&report, &["decided", "first"]), first);
    assert_eq!(total(&report, &["decided", "duplicate"]), again);
    assert_eq!(total(&report, &["quarantine", "found"]), broken);
    assert_eq!(total(&report, &["raw", "recounted"]), sent.len() as u64);
    assert_eq!(total(&report, &["clean", "found"]), first);
    let report = run(scene, &["verify", "route", "--json"]).ends(0).json();
    for name in ["let_through", "in_clean"] {
        assert_eq!(total(&report, &["events", name]), first, "{name}");
    }
    assert_eq!(total(&report, &["clean_records"]), first);
}

#[test]
fn all_commands_agree_with_the_truth() {
    for kind in Kind::ALL {
        let scene = small("truth", SceneOptions { kind, ..SceneOptions::default() });
        let sent = sample(41, kind, 6_000);
        gate_all(&scene, &sent);
        assert_truth(&scene, &sent);
        let (first, again, broken) = truth(&sent);
        let recipes = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/recipes");
        let (raw, recipe) = (scene.raw(), kind.recipe());
        let mut survey = Command::new(default_binary().expect("a binary"));
        survey.args(["survey", "--topic", &raw, "--recipe", recipe, "--recipes", recipes]);
        survey.args(["--bootstrap", &scene.bootstrap, "--json"]);
        let report = said(survey.output().expect("it runs")).ends(0).json();
        assert_eq!(report["repeats"]["distinct"], first);
        assert_eq!(report["repeats"]["duplicates"], again);
        assert_eq!(report["repeats"]["conflicts"], 0);
        assert_eq!(report["repeats"]["on_two_partitions"], 0);
        let rejected: u64 = (report["partitions"].as_array().unwrap().iter())
            .flat_map(|partition| partition["rejected"].as_object().unwrap().values())
            .map(|count| count.as_u64().unwrap())
            .sum();
        assert_eq!(rejected, broken);
    }
}

#[test]
fn items_and_equal_items_are_proven() {
    let recipe = Some("inventory-item".to_owned());
    let options = SceneOptions { kind: Kind::Inventory, recipe, ..SceneOptions::default() };
    let scene = small("items", options);
    let mut sent = sample(43, Kind::Inventory, 2_000);
    // A batch whose first item stands three times: three events.
    let donor = sent.iter().find(|one| one.first_of().is_some()).expect("a first").clone();
    let mut document: Value = serde_json::from_slice(donor.payload.as_deref().unwrap()).unwrap();
    let item = document["items"][0].clone();
    document["batch_ts"] = Value::from("2026-01-20T00:00:00Z");
    document["items"] = Value::from(vec![item.clone(), item.clone(), item]);
    sent.push(Sent { payload: Some(document.to_string().into_bytes()), ..donor });
    gate_all(&scene, &sent);
    let report = run(&scene, &["reconcile", "route", "--json"]).ends(0).json();
    let events = total(&report, &["decided", "events"]);
    assert_eq!(total(&report, &["decided", "records"]), sent.len() as u64);
    assert!(events > 2 * sent.len() as u64, "batches have several items: {events}");
    assert_eq!(total(&report, &["raw", "events"]), events, "each item was counted again");
    let report = run(&scene, &["verify", "route", "--json"]).ends(0).json();
    let clean = read_topic(&scene.bootstrap, &scene.clean()).expect("clean");
    let numbered =
        flat(&clean).iter().filter(|r| r.header("oncegate-occurrence").is_some()).count();
    assert!(numbered >= 2, "equal items were numbered");
    assert_eq!(total(&report, &["events", "in_clean"]), flat(&clean).len() as u64);
}

#[test]
fn what_was_done_to_clean_is_named() {
    let scene = small("clean", SceneOptions { partitions: 2, ..SceneOptions::default() });
    let options = oncegate_testkit::generator::SampleOptions {
        seed: 47,
        records: 1_500,
        kinds: vec![Kind::Lab],
        partitions: 2,
        ..Default::default()
    };
    let sent = oncegate_testkit::generator::Sample::new(options).expect("sound").sent(Kind::Lab);
    gate_all(&scene, &sent);
    let clean = read_topic(&scene.bootstrap, &scene.clean()).expect("clean");
    let all = flat(&clean);
    let verify = |config: &str| run_with(&scene, config, &["verify", "route"]);
    let reconcile = |config: &str| run_with(&scene, config, &["reconcile", "route"]);

    let (_, config) = clean_copy(&scene, "same", &all);
    verify(&config).ends(0);
    reconcile(&config).ends(0);

    // One payload changed: the record with that key and headers at its place.
    let nth = 200;
    let mut changed = all.clone();
    let victim = &mut changed[nth];
    let text = String::from_utf8(victim.payload.clone().unwrap()).unwrap();
    let value = text.rfind(char::is_numeric).expect("a digit");
    let digit = if &text[value..=value] == "1" { "2" } else { "1" };
    victim.payload = Some([&text[..value], digit, &text[value + 1..]].concat().into_bytes());
    let (topic, config) = clean_copy(&scene, "changed", &changed);
    // A copy has no markers: its offsets are the ranks.
    let place = format!("changed: {topic}/0/{nth}:");
    verify(&config).ends(1).names(&[&place]);
    // `reconcile` does not read payloads.
    reconcile(&config).ends(0);

    // One record taken out: its raw position is named.
    let mut holed = all.clone();
    let gone = holed.remove(nth);
    let source = gone.header("oncegate-source").expect("a source").to_owned();
    let (topic, config) = clean_copy(&scene, "holed", &holed);
    let named = format!("missing: {topic}/0: raw {source} ");
    verify(&config).ends(1).names(&[&named]);
    reconcile(&config).ends(1).names(&[&format!("missing: {topic}/0:"), &source]);

    // A second copy of a record, and one whose headers claim another raw position.
    let mut inserted = all.clone();
    inserted.push(all[10].clone());
    let mut other = all[20].clone();
    for (name, value) in &mut other.headers {
        if name == "oncegate-source" {
            *value = Some(format!("{}/0/999999", scene.raw()).into_bytes());
        }
    }
    inserted.push(other);
    let (topic, config) = clean_copy(&scene, "inserted", &inserted);
    let (one, two) = (clean[0].len(), clean[0].len() + 1);
    verify(&config)
        .ends(1)
        .names(&[&format!("twice: {topic}/0/{one}:"), "at offset 10 "])
        .names(&[&format!("without-entry: {topic}/0/{two}:")]);
    reconcile(&config)
        .ends(1)
        .names(&[&format!("without-entry: {topic}/0/{one}:")])
        .names(&[&format!("without-entry: {topic}/0/{two}:")]);

    // A record of another deployment, one without headers, and two that changed places.
    let mut strange = all.clone();
    for (name, value) in &mut strange[30].headers {
        if name == "oncegate-route" {
            *value = Some(b"else/route".to_vec());
        }
    }
    strange[40].headers.clear();
    strange.swap(50, 51);
    let (topic, config) = clean_copy(&scene, "strange", &strange);
    verify(&config)
        .ends(1)
        .names(&[&format!("other-route: {topic}/0/30:"), "else/route"])
        .names(&[&format!("not-of-oncegate: {topic}/0/40:")])
        .names(&[&format!("out-of-order: {topic}/0/51:")]);

    // P19: the head is no longer retained, which is no fault; a hole above it is one.
    let admin = Admin::new(&scene.bootstrap).expect("an admin");
    let (topic, config) = clean_copy(&scene, "cut", &all);
    admin.delete_records(&topic, 0, 100).expect("deleted");
    let report = run_with(&scene, &config, &["verify", "route", "--json"]).ends(0).json();
    assert_eq!(report["partitions"][0]["events"]["no_longer_retained"], 100);
    assert_eq!(report["partitions"][1]["events"]["no_longer_retained"], 0);
    let report = run_with(&scene, &config, &["reconcile", "route", "--json"]).ends(0).json();
    assert_eq!(report["partitions"][0]["clean"]["no_longer_retained"], 100);
    let key = all[5].header("oncegate-key").expect("a key").to_owned();
    run_with(&scene, &config, &["lookup", "route", &key]).ends(0).names(&["no longer retained"]);
    let (topic, config) = clean_copy(&scene, "cut-and-holed", &holed);
    admin.delete_records(&topic, 0, 100).expect("deleted");
    let named = format!("missing: {topic}/0: raw {source} ");
    let said = verify(&config).ends(1).names(&[&named]);
    assert!(!said.out.contains(all[50].header("oncegate-source").unwrap()), "{said}");
    reconcile(&config).ends(1).names(&[&source]);

    // Nothing of a payload is told.
    let accession = |record: &Record| {
        let document: Value = serde_json::from_slice(record.payload.as_deref().unwrap()).unwrap();
        document["accession"].as_str().expect("a text").trim().to_owned()
    };
    for config in ["changed.toml", "holed.toml", "inserted.toml", "strange.toml"] {
        let said = verify(config);
        assert!(all.iter().all(|record| !said.out.contains(&accession(record))), "{said}");
    }
}

/// Deletes the journal and makes it anew of these records.
fn rebuild_journal(scene: &Scene, records: &[Record]) {
    let admin = Admin::new(&scene.bootstrap).expect("an admin");
    let journal = scene.journal();
    admin.delete(&[&journal]).expect("deleted");
    let spec = TopicSpec::new(&journal, scene.options.partitions)
        .config("retention.ms", -1)
        .config("message.timestamp.type", "LogAppendTime");
    wait_until(Duration::from_secs(30), "the journal can be made anew", || {
        admin.create(std::slice::from_ref(&spec)).is_ok()
    })
    .expect("created");
    put(scene, &journal, records);
}

#[test]
fn what_was_done_to_the_journal_is_named() {
    let scene = small("journal", SceneOptions { partitions: 1, ..SceneOptions::default() });
    let options = oncegate_testkit::generator::SampleOptions {
        seed: 53,
        records: 2_000,
        kinds: vec![Kind::Lab],
        partitions: 1,
        ..Default::default()
    };
    let sent = oncegate_testkit::generator::Sample::new(options).expect("sound").sent(Kind::Lab);
    gate_all(&scene, &sent);
    let verify = |arguments: &[&str]| run(&scene, &[&["verify", "route"], arguments].concat());
    let said = verify(&[]).ends(0);
    let head = said.out.lines().find_map(|line| line.strip_prefix("head ")).expect("a head");
    verify(&["--head", head]).ends(0);
    let (of_head, hash) = head.rsplit_once(':').unwrap();
    let other = hash.chars().rev().collect::<String>();
    verify(&["--head", &format!("{of_head}:{other}")]).ends(1).names(&["head: ", "hash"]);
    verify(&["--head", &format!("0:9999:{hash}")]).ends(1).names(&["head: ", "ends at entry"]);
    verify(&["--head", "0:1"]).ends(2);
    run(&scene, &["verify", "rout"]).ends(2).names(&["did you mean `route`"]);

    let journal = scene.journal();
    let whole = flat(&read_topic(&scene.bootstrap, &journal).expect("the journal"));
    assert!(whole.len() > 10, "several entries: {}", whole.len());
    rebuild_journal(&scene, &whole);
    // The same entries in a topic of another id.
    let report = verify(&["--head", head, "--json"]).ends(1).json();
    assert_eq!(kinds(&report), ["journal-topic"]);

    // One entry taken out: the one after it is named, and its events have no entry.
    let removed: Vec<Record> =
        whole.iter().enumerate().filter(|(nth, _)| *nth != 5).map(|(_, r)| r.clone()).collect();
    rebuild_journal(&scene, &removed);
    verify(&[])
        .ends(1)
        .names(&[&format!("chain: {journal}/0/5:"), "entry 7 follows entry 5"])
        .names(&[&format!("without-entry: {}/0/", scene.clean())]);
    run(&scene, &["reconcile", "route"]).ends(1).names(&["journal-totals: "]);

    // The last entry taken off: the committed offset still names it.
    rebuild_journal(&scene, &whole[..whole.len() - 1]);
    let last = whole.len() - 2;
    verify(&[])
        .ends(1)
        .names(&[&format!("journal-tail: {journal}/0/{last}:"), "the journal ends at"]);

    // One byte of an entry changed: the one after it no longer goes on from it.
    let mut changed = whole.clone();
    let bytes = changed[5].payload.as_mut().unwrap();
    // Far from the end stand the packed rows, whose bytes are free.
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    rebuild_journal(&scene, &changed);
    verify(&[]).ends(1).names(&[&format!("{journal}/0/6:"), "does not continue the chain"]);

    // An entry put in: a copy of an earlier one, then one that is no entry at all.
    rebuild_journal(&scene, &whole);
    let forged = put(&scene, &journal, &[whole[4].clone()])[0];
    verify(&[]).ends(1).names(&[&format!("chain: {journal}/0/{forged}:"), "put in by hand"]);
    let junk = Record { payload: Some(b"junk".to_vec()), ..whole[4].clone() };
    let junk = put(&scene, &journal, &[junk])[0];
    verify(&[]).ends(1).names(&[&format!("journal-record: {journal}/0/{junk}:")]);

    // Its head deleted: named, and what it let through is unproven; allowed where it is meant.
    rebuild_journal(&scene, &whole);
    let admin = Admin::new(&scene.bootstrap).expect("an admin");
    admin.delete_records(&journal, 0, 5).expect("deleted");
    let said = verify(&[]).ends(1).names(&[&format!("journal-start: {journal}/0/5:"), "entry 6"]);
    assert!(!said.out.contains("without-entry:"), "{said}");
    let report = run(&scene, &["verify", "route", "--allow-cut", "--json"]).ends(1).json();
    assert_eq!(kinds(&report), ["journal-topic"]);
    let unproven = report["partitions"][0]["events"]["unproven"].as_u64().expect("a number");
    assert!(unproven > 100, "{report}");
    let report = run(&scene, &["reconcile", "route", "--allow-cut", "--json"]).ends(1).json();
    assert_eq!(kinds(&report), ["journal-topic"]);
    assert_eq!(report["partitions"][0]["clean"]["unproven"], unproven);
    let all = watermarks(&scene.bootstrap, &journal).expect("ends")[0].1;
    admin.delete_records(&journal, 0, all).expect("deleted");
    verify(&[]).ends(1).names(&["journal-start: ", "no entry is there"]);
}

/// A journal of limited retention: its head is gone, and nothing else is wrong.
#[test]
fn a_cut_journal_passes_where_it_is_meant() {
    let scene = small("cut", SceneOptions { partitions: 1, ..SceneOptions::default() });
    let options = oncegate_testkit::generator::SampleOptions {
        seed: 54,
        records: 2_000,
        kinds: vec![Kind::Lab],
        partitions: 1,
        ..Default::default()
    };
    let sent = oncegate_testkit::generator::Sample::new(options).expect("sound").sent(Kind::Lab);
    gate_all(&scene, &sent);
    let journal = scene.journal();
    let records = flat(&read_topic(&scene.bootstrap, &journal).expect("the journal"));
    let admin = Admin::new(&scene.bootstrap).expect("an admin");
    admin.delete_records(&journal, 0, records[5].offset).expect("deleted");
    for command in ["verify", "reconcile"] {
        run(&scene, &[command, "route"]).ends(1).names(&["journal-start: "]);
        let report = run(&scene, &[command, "route", "--allow-cut", "--json"]).ends(0).json();
        assert!(kinds(&report).is_empty(), "{report}");
    }
}

#[test]
fn quarantine_and_raw_are_held_against_the_counts() {
    let scene = small("counts", SceneOptions { partitions: 1, ..SceneOptions::default() });
    let options = oncegate_testkit::generator::SampleOptions {
        seed: 59,
        records: 2_000,
        kinds: vec![Kind::Lab],
        partitions: 1,
        broken_share: 0.02,
        ..Default::default()
    };
    let sent = oncegate_testkit::generator::Sample::new(options).expect("sound").sent(Kind::Lab);
    gate_all(&scene, &sent);
    assert_truth(&scene, &sent);
    let reconcile =
        |arguments: &[&str]| run(&scene, &[&["reconcile", "route"], arguments].concat());
    // A range: whole entries that touch it.
    let all = reconcile(&["--json"]).ends(0).json();
    let part = ["--partition", "0", "--from", "500", "--to", "1000", "--json"];
    let part = reconcile(&part).ends(0).json();
    let records = total(&part, &["decided", "records"]);
    assert!((500..1_000).contains(&records), "{records}");
    assert_eq!(total(&part, &["raw", "recounted"]), records);
    assert_eq!(total(&part, &["clean", "found"]), total(&part, &["decided", "first"]));
    assert!(total(&all, &["decided", "records"]) > records);
    reconcile(&["--from", "3"]).ends(2);
    reconcile(&["--partition", "7"]).ends(1).names(&["--partition 7"]);

    // The raw head is no longer retained: said, and no fault.
    let admin = Admin::new(&scene.bootstrap).expect("an admin");
    admin.delete_records(&scene.raw(), 0, 700).expect("deleted");
    let report = reconcile(&["--json"]).ends(0).json();
    let raw = &report["partitions"][0]["raw"];
    let gone = raw["no_longer_retained"].as_u64().unwrap();
    assert!(gone >= 700, "{raw}");
    assert_eq!(gone + raw["recounted"].as_u64().unwrap(), sent.len() as u64);

    // Not yet decided: the lag says so. (Sent after the gate has ended.)
    produce(&scene.bootstrap, &scene.raw(), &sent[..30], Timestamps::EventTime).expect("sent");
    let report = reconcile(&["--json"]).ends(0).json();
    let partition = &report["partitions"][0];
    let committed = partition["committed"].as_i64().unwrap();
    assert_eq!(partition["raw_end"].as_i64().unwrap() - committed, 30);

    // The group moved past them: seen by both, and the lag stays.
    let moved =
        |offset| GroupOffset { topic: scene.raw(), partition: 0, offset, metadata: String::new() };
    let set = |offset| admin.set_group_offsets(&scene.group(), &[moved(offset)]);
    wait_until(Duration::from_secs(30), "the group has no members", || set(committed + 30).is_ok())
        .expect("moved");
    for command in ["reconcile", "verify"] {
        let said = run(&scene, &[command, "route"]).ends(1);
        said.names(&["offset-ahead: ", &format!("offset {}", committed + 30)]);
    }
    set(committed).expect("moved back");

    // A quarantine record put in.
    let quarantined = flat(&read_topic(&scene.bootstrap, &scene.quarantine()).expect("read"));
    let place = put(&scene, &scene.quarantine(), &quarantined[3..4])[0];
    let topic = scene.quarantine();
    reconcile(&[]).ends(1).names(&[&format!("quarantine-without-entry: {topic}/0/{place}:")]);
    admin.delete_records(&topic, 0, quarantined[5].offset).expect("deleted");
    let report = reconcile(&["--json"]).ends(1).json();
    assert_eq!(report["partitions"][0]["quarantine"]["no_longer_retained"], 5, "{report}");
    assert_eq!(kinds(&report), ["quarantine-without-entry"]);
}

#[test]
fn a_replay_has_its_own_report_and_lookup_tells_all() {
    let scene = small("replay", SceneOptions { partitions: 2, ..SceneOptions::default() });
    let options = oncegate_testkit::generator::SampleOptions {
        seed: 61,
        records: 1_000,
        kinds: vec![Kind::Lab],
        partitions: 2,
        ..Default::default()
    };
    let sent = oncegate_testkit::generator::Sample::new(options).expect("sound").sent(Kind::Lab);
    gate_all(&scene, &sent);
    let admin = Admin::new(&scene.bootstrap).expect("an admin");
    let offsets: Vec<GroupOffset> = (0..2)
        .map(|partition| GroupOffset {
            topic: scene.raw(),
            partition,
            offset: 0,
            metadata: String::new(),
        })
        .collect();
    wait_until(Duration::from_secs(30), "the group has no members", || {
        admin.set_group_offsets(&scene.group(), &offsets).is_ok()
    })
    .expect("rewound");
    gate(&scene);
    let (first, again, broken) = truth(&sent);
    let report = run(&scene, &["reconcile", "route", "--json"]).ends(0).json();
    assert_eq!(total(&report, &["decided", "first"]), first);
    assert_eq!(total(&report, &["replayed", "records"]), sent.len() as u64);
    assert_eq!(total(&report, &["replayed", "duplicate"]), first + again);
    assert_eq!(total(&report, &["replayed", "first"]), 0);
    assert_eq!(total(&report, &["quarantine", "found"]), 2 * broken);
    run(&scene, &["reconcile", "route"]).ends(0).names(&["read again"]);
    run(&scene, &["verify", "route"]).ends(0);

    // An event that was sent once, seen twice by the replay.
    let clean = read_topic(&scene.bootstrap, &scene.clean()).expect("clean");
    let record = &clean[1][7];
    let key = record.header("oncegate-key").unwrap();
    let digits = &key[key.len() - 64..];
    let report = run(&scene, &["lookup", "route", key, "--json"]).ends(0).json();
    let event = &report["events"][0];
    assert_eq!(event["key"], digits);
    let loads = event["loads"].as_u64().unwrap();
    assert!(loads >= 2, "{report}");
    assert_eq!(event["verdicts"]["first"], 1);
    assert_eq!(event["verdicts"]["duplicate"], loads - 1);
    let one = &event["deliveries"][0];
    let raw = format!("{}/1/{}", scene.raw(), one["raw"]["offset"]);
    assert_eq!(record.header("oncegate-source"), Some(raw.as_str()));
    assert_eq!(one["clean"], serde_json::json!([1, record.offset]));
    assert!(one["at"].as_str().unwrap().starts_with("20"));
    // The same by its document, and by its digits alone.
    let file = scene.dir.path().join("document.json");
    std::fs::write(&file, record.payload.as_deref().unwrap()).expect("written");
    let by_document = ["lookup", "route", "--document", file.to_str().unwrap(), "--json"];
    assert_eq!(run(&scene, &by_document).ends(0).json(), report);
    assert_eq!(run(&scene, &["lookup", "route", digits, "--json"]).ends(0).json(), report);
    let unknown = "ab".repeat(32);
    run(&scene, &["lookup", "route", &unknown]).ends(0).names(&["never seen"]);
    run(&scene, &["lookup", "route", "abc"]).ends(2);
}

/// P34.
#[test]
fn one_event_on_two_partitions_is_named_before_and_after() {
    let scene = small("two", SceneOptions { partitions: 2, ..SceneOptions::default() });
    let options = oncegate_testkit::generator::SampleOptions {
        seed: 67,
        records: 200,
        kinds: vec![Kind::Lab],
        partitions: 2,
        again_share: 0.0,
        broken_share: 0.0,
        ..Default::default()
    };
    let mut sent =
        oncegate_testkit::generator::Sample::new(options).expect("sound").sent(Kind::Lab);
    let stray = sent.iter().position(|one| one.partition == 0).expect("one of partition 0");
    sent.push(Sent { partition: 1, ..sent[stray].clone() });
    let offsets = produce(&scene.bootstrap, &scene.raw(), &sent, Timestamps::EventTime).unwrap();
    let raw = scene.raw();
    let places =
        [format!("{raw}/0/{}", offsets[0][0]), format!("{raw}/1/{}", offsets[1].last().unwrap())];
    let recipes = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/recipes");
    let mut survey = Command::new(default_binary().expect("a binary"));
    survey.args(["survey", "--topic", &raw, "--recipe", "lab-result", "--recipes", recipes]);
    survey.args(["--bootstrap", &scene.bootstrap]);
    said(survey.output().expect("it runs"))
        .ends(0)
        .names(&["warning", "partitioning = \"by-key\""])
        .names(&["two-partitions", &places[0], &places[1]]);
    gate(&scene);
    run(&scene, &["verify", "route"]).ends(1).names(&[
        "two-partitions: ",
        &places[0],
        &places[1],
        "partitioning = \"by-key\"",
    ]);
}

/// P24.
#[test]
fn markers_are_no_records() {
    let scene = small("markers", SceneOptions::default());
    let sent = sample(71, Kind::Lab, 400);
    let transactions = TransactionOptions { id: unique("raw"), records: 1, abort_every: Some(9) };
    let (bootstrap, raw) = (&scene.bootstrap, scene.raw());
    produce_transactional(bootstrap, &raw, &sent, Timestamps::EventTime, &transactions).unwrap();
    gate(&scene);
    assert_truth(&scene, &sent);
    let report = run(&scene, &["reconcile", "route", "--json"]).ends(0).json();
    for partition in report["partitions"].as_array().unwrap() {
        assert_eq!(partition["committed"], partition["raw_end"], "the lag is 0");
    }
}

/// P22, without the frozen broker.
#[test]
fn aborted_tails_and_open_transactions() {
    let scene = small("aborted", SceneOptions { partitions: 1, ..SceneOptions::default() });
    let options = oncegate_testkit::generator::SampleOptions {
        seed: 73,
        records: 10_000,
        kinds: vec![Kind::Lab],
        partitions: 1,
        ..Default::default()
    };
    let sent = oncegate_testkit::generator::Sample::new(options).expect("sound").sent(Kind::Lab);
    let few = &sent[..1_000];
    produce(&scene.bootstrap, &scene.raw(), few, Timestamps::EventTime).expect("produced");
    let timeout = Duration::from_secs(60);
    let aborting = TransactionalProducer::new(&scene.bootstrap, &unique("abort"), timeout).unwrap();
    let abort = |topic: &str| {
        aborting.begin().unwrap();
        aborting.send(topic, &sent, Timestamps::EventTime).expect("sent");
        aborting.abort().expect("aborted");
    };
    abort(&scene.raw());
    gate(&scene);
    assert_truth(&scene, few);
    for topic in [scene.clean(), scene.journal(), scene.quarantine()] {
        abort(&topic);
    }
    assert_truth(&scene, few);

    // A false record behind all that: found.
    let clean = flat(&read_topic(&scene.bootstrap, &scene.clean()).expect("clean"));
    let place = put(&scene, &scene.clean(), &clean[..1])[0];
    let named = format!("twice: {}/0/{place}:", scene.clean());
    run(&scene, &["verify", "route"]).ends(1).names(&[&named]);
    let named = format!("without-entry: {}/0/{place}:", scene.clean());
    run(&scene, &["reconcile", "route"]).ends(1).names(&[&named]);

    // A transaction that stays open on the journal: an error, never "all well".
    aborting.begin().unwrap();
    aborting.send(&scene.journal(), &sent[..1], Timestamps::Now).expect("sent");
    let place = watermarks(&scene.bootstrap, &scene.journal()).expect("ends")[0].1 - 1;
    for name in ["verify", "reconcile"] {
        let place = format!("{}/0: no progress", scene.journal());
        run(&scene, &[name, "route", "--timeout", "3s"]).ends(1).names(&[&place, "transaction"]);
    }
    aborting.abort().expect("aborted");
    assert!(place > 0);
}

/// P22: the broker stands still for 20 s while the commands read.
#[test]
fn a_frozen_broker_is_not_the_end() {
    let broker = Broker::start(BrokerOptions { faults: true, ..BrokerOptions::default() })
        .expect("a broker");
    let options = SceneOptions { batch_records: 5_000, ..SceneOptions::default() };
    let scene = Scene::new(&broker, &unique("frozen"), options).expect("a scene");
    let sent = sample(79, Kind::Lab, 400_000);
    gate_all(&scene, &sent);
    let clean = read_topic(&scene.bootstrap, &scene.clean()).expect("clean");
    let last = clean[3].last().expect("a record").clone();
    let place = put(&scene, &scene.clean(), &[last])[3];
    let frozen = |arguments: &[&str]| {
        let mut child = command(&scene, "gate.toml", arguments);
        let log = scene.dir.path().join("frozen.log");
        child.stderr(std::fs::File::create(&log).expect("a log")).stdout(Stdio::piped());
        let child = child.spawn().expect("it runs");
        // Past its questions: it reads. What is queued already does not last for all partitions.
        wait_for(Duration::from_secs(60), "it reads", || {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            if text.contains("at offset") { Ok(()) } else { Err(text) }
        })
        .expect("it reads");
        broker.node(1).expect("a node").freeze().expect("frozen");
        let frozen_at = std::time::Instant::now();
        std::thread::sleep(Duration::from_secs(20));
        broker.node(1).expect("a node").thaw().expect("thawed");
        broker.wait_ready(Duration::from_secs(60)).expect("ready");
        let output = child.wait_with_output().expect("it ends");
        assert!(frozen_at.elapsed() >= Duration::from_secs(20), "it ended while frozen");
        let mut said = said(output);
        said.err = std::fs::read_to_string(&log).unwrap_or_default();
        said
    };
    let clean_topic = scene.clean();
    frozen(&["verify", "route", "--progress"])
        .ends(1)
        .names(&[&format!("twice: {clean_topic}/3/{place}:")]);
    let found = frozen(&["reconcile", "route", "--json", "--progress"]);
    let report = found.ends(1).json();
    assert_eq!(total(&report, &["decided", "records"]), sent.len() as u64);
    assert_eq!(total(&report, &["raw", "recounted"]), sent.len() as u64);
    assert_eq!(kinds(&report), ["without-entry"]);
    assert_eq!(report["findings"]["named"][0]["offset"], place);
    let raw = scene.raw();
    let recipes = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/recipes");
    let survey = ["survey", "--topic", &raw, "--recipe", "lab-result", "--recipes", recipes];
    let survey = [&survey[..], &["--json", "--progress"]].concat();
    let report = frozen(&survey).ends(0).json();
    assert_eq!(total(&report, &["records"]), sent.len() as u64);
    assert_eq!(report["repeats"]["duplicates"], truth(&sent).1);

    // Frozen for longer than the patience: an error that names the place.
    let mut child = command(&scene, "gate.toml", &["verify", "route", "--timeout", "5s"]);
    child.stderr(Stdio::piped()).stdout(Stdio::piped());
    broker.node(1).expect("a node").freeze().expect("frozen");
    let output = child.spawn().expect("it runs").wait_with_output().expect("it ends");
    broker.node(1).expect("a node").thaw().expect("thawed");
    said(output).ends(1).names(&["no answer"]);
}

#[test]
fn every_policy_for_conflicts_adds_up() {
    for policy in ["quarantine", "absorb", "correction"] {
        let route_lines = format!("conflict = \"{policy}\"\n");
        let scene = small(policy, SceneOptions { route_lines, ..SceneOptions::default() });
        let options = oncegate_testkit::generator::SampleOptions {
            seed: 83,
            records: 400,
            kinds: vec![Kind::Lab],
            again_share: 0.0,
            broken_share: 0.0,
            ..Default::default()
        };
        let mut sent =
            oncegate_testkit::generator::Sample::new(options).expect("sound").sent(Kind::Lab);
        for nth in 0..20 {
            let bytes = sent[nth].payload.as_deref().expect("a value");
            let mut document: Value = serde_json::from_slice(bytes).expect("JSON");
            document["note"] = Value::from("other content");
            let payload = Some(document.to_string().into_bytes());
            let other = Sent { payload, ..sent[nth].clone() };
            sent.extend([other.clone(), other]);
        }
        gate_all(&scene, &sent);
        let report = run(&scene, &["reconcile", "route", "--json"]).ends(0).json();
        let count = |name: &str| total(&report, &["decided", name]);
        let counts = [count("correction"), count("duplicate"), count("conflict")];
        let quarantined = total(&report, &["quarantine", "found"]);
        let (expected, in_quarantine, verdicts) = match policy {
            "quarantine" => ([0, 0, 0], 40, serde_json::json!({"first": 1, "conflict": 2})),
            "absorb" => ([0, 0, 40], 0, serde_json::json!({"first": 1, "conflict": 2})),
            _ => {
                let verdicts = serde_json::json!({"first": 1, "correction": 1, "duplicate": 1});
                ([20, 20, 0], 0, verdicts)
            }
        };
        assert_eq!((counts, quarantined), (expected, in_quarantine), "{policy}: {report}");
        let report = run(&scene, &["verify", "route", "--json"]).ends(0).json();
        assert_eq!(total(&report, &["events", "in_clean"]), 400 + expected[0], "{policy}");
        let file = scene.dir.path().join("document.json");
        std::fs::write(&file, sent[3].payload.as_deref().unwrap()).expect("written");
        let by_document = ["lookup", "route", "--document", file.to_str().unwrap(), "--json"];
        let report = run(&scene, &by_document).ends(0).json();
        assert_eq!(report["events"][0]["verdicts"], verdicts, "{policy}: {report}");
    }
}
