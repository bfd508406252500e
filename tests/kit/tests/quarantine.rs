//! `oncegate quarantine` against a real broker: what is held comes back byte for byte, is decided
//! by the gate as ever, and a late event is let through once by a person, never twice.

mod common;

use common::{broker, end, entries, rest, unique};
use oncegate::journal::pb::EntryKind;
use oncegate_testkit::generator::{Broken, Kind, Sent, Truth};
use oncegate_testkit::produce::{Timestamps, produce};
use oncegate_testkit::reader::{Record, read_topic};
use oncegate_testkit::scene::{Scene, SceneOptions};
use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use std::time::Duration;

const WINDOW: &str = "window = \"1h\"\nretry_horizon = \"10m\"\nmax_future = \"10m\"\n";

fn scene(name: &str, lines: &str) -> Scene {
    let options = SceneOptions {
        kind: Kind::Lab,
        partitions: 2,
        route_lines: format!("arrival = \"create-time\"\n{lines}"),
        ..SceneOptions::default()
    };
    Scene::new(broker(), &unique(name), options).expect("a scene")
}

/// A lab result of partition 1.
fn result(accession: &str, hour: u32, minute: u32, rest: &str) -> Sent {
    let payload = format!(
        r#"{{"accession":"{accession}","analyte_loinc":"2823-3","instrument_id":"i","resulted_at":"2026-07-01T{hour:02}:{minute:02}:00Z"{rest}}}"#
    );
    let midnight_ms = 1_782_864_000_000;
    Sent {
        kind: Kind::Lab,
        partition: 1,
        key: b"i".to_vec(),
        payload: Some(payload.into_bytes()),
        event_time_ms: midnight_ms + i64::from(hour * 60 + minute) * 60_000,
        truth: Truth::Broken { why: Broken::NotJson },
    }
}

fn send(scene: &Scene, sent: &[Sent]) {
    produce(&scene.bootstrap, &scene.raw(), sent, Timestamps::EventTime).expect("produced");
}

fn read(scene: &Scene, topic: &str) -> Vec<Record> {
    read_topic(&scene.bootstrap, topic).expect("a topic").into_iter().flatten().collect()
}

/// Runs `oncegate quarantine <arguments>`: whether it succeeded, and what it said.
fn quarantine(scene: &Scene, command: &str, arguments: &[&str]) -> (bool, String) {
    scene.command(&[&["quarantine", command, "route"], arguments].concat()).expect("it runs")
}

fn ids(scene: &Scene) -> Vec<String> {
    let (well, said) = quarantine(scene, "list", &["--json"]);
    assert!(well, "{said}");
    said.lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).expect("a JSON line");
            line["id"].as_str().expect("an id").to_owned()
        })
        .collect()
}

/// CDCgov/prime-reportstream#4079 (P32): the conflict names what differs, without its value.
#[test]
fn a_conflict_is_shown_and_redriven_as_a_correction_once() {
    let scene = scene("conflict", "");
    send(
        &scene,
        &[
            result("A1", 12, 0, r#","value":4.2,"message_control_id":"MARK-1""#),
            result("A1", 12, 0, r#","value":6.8,"message_control_id":"MARK-2""#),
            result("A2", 12, 0, ""),
        ],
    );
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    end(&mut one);
    let held = ids(&scene);
    assert_eq!(held.len(), 1);
    let (well, said) = quarantine(&scene, "list", &[]);
    assert!(well && said.contains("conflict=1") && !said.contains("MARK"), "{said}");
    let (well, said) = quarantine(&scene, "show", &[&held[0]]);
    assert!(well && said.contains("differs in      /message_control_id /value\n"), "{said}");
    let first = format!("first           {}/1/0\n", scene.raw());
    assert!(said.contains(&first), "{said}");

    let before = read(&scene, &scene.raw());
    let (well, said) = quarantine(&scene, "redrive", &[]);
    assert!(!well && said.contains("--all"), "everything is meant only where it is said: {said}");
    let (well, said) = quarantine(&scene, "redrive", &["--reason", "conflict", "--dry-run"]);
    assert!(well && said.contains("1 held events"), "{said}");
    assert_eq!(read(&scene, &scene.raw()), before, "a dry run appends nothing");
    let mut options = scene.options.clone();
    options.route_lines.push_str("conflict = \"correction\"\n");
    scene.write_config("gate.toml", &options).expect("written");
    for _ in 0..2 {
        let (well, said) = quarantine(&scene, "redrive", &["--reason", "conflict"]);
        assert!(well && said.contains("1 raw records appended"), "{said}");
    }
    let mut one = scene.start("one").expect("started again");
    rest(&scene, &["one"]);
    end(&mut one);
    let clean = read(&scene, &scene.clean());
    assert_eq!(clean.len(), 3, "the correction is let through once");
    let correction = clean.last().expect("three");
    assert_eq!(correction.header("oncegate-corrects"), Some(&*format!("{}/1/0", scene.raw())));
    let mark = format!("{}/{}", scene.quarantine(), held[0]);
    assert_eq!(correction.header("oncegate-raw-redriven"), Some(mark.as_str()));
}

/// fede1024/rust-rdkafka#454 (P26): null, empty and repeated headers, keys and values survive the
/// way through quarantine and back.
#[test]
fn what_is_redriven_is_what_was_sent() {
    let scene = scene("bytes", "");
    let producer: BaseProducer =
        ClientConfig::new().set("bootstrap.servers", &scene.bootstrap).create().expect("made");
    let headers = || {
        OwnedHeaders::new()
            .insert(Header { key: "a", value: None::<&[u8]> })
            .insert(Header { key: "a", value: Some(b"".as_slice()) })
            .insert(Header { key: "oncegate-reason", value: Some(b"forged".as_slice()) })
            .insert(Header { key: "a", value: Some(b"\xff".as_slice()) })
    };
    let raw = scene.raw();
    let record = || BaseRecord::<[u8], [u8]>::to(&raw).partition(1).headers(headers());
    producer.send(record().payload(b"not json")).expect("queued");
    producer.send(record().key(b"").payload(b"")).expect("queued");
    producer.send(record().key(b"k")).expect("queued");
    producer.flush(Duration::from_secs(30)).expect("sent");
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    let sent = read(&scene, &raw);
    let (well, said) = quarantine(&scene, "redrive", &["--all"]);
    assert!(well && said.contains("3 raw records appended"), "{said}");
    let all = read(&scene, &raw);
    let again = &all[sent.len()..];
    assert_eq!(again.len(), 3);
    for (sent, again) in sent.iter().zip(again) {
        assert_eq!((&sent.key, &sent.payload), (&again.key, &again.payload));
        let (mark, headers) = again.headers.split_last().expect("a mark");
        assert_eq!(headers, sent.headers);
        assert_eq!(mark.0, "oncegate-redriven");
    }
    rest(&scene, &["one"]);
    end(&mut one);
    let reasons: Vec<_> = (read(&scene, &scene.quarantine()).iter())
        .map(|record| record.header("oncegate-raw-reason").map(str::to_owned))
        .collect();
    assert_eq!(reasons, vec![Some("forged".to_owned()); 6], "still bad, still held, never ours");
    let now = ids(&scene);
    assert_eq!(now.len(), 3, "only the last copies wait");
    let (well, said) = quarantine(&scene, "list", &["--superseded"]);
    assert!(well && said.contains("3 held") && said.contains("superseded=3"), "{said}");

    // The cause is as it was: however often they are redriven, three records wait.
    let mut one = scene.start("one").expect("started again");
    for round in 0..2 {
        let (well, said) = quarantine(&scene, "redrive", &["--all"]);
        assert!(well && said.contains("3 raw records appended"), "round {round}: {said}");
        rest(&scene, &["one"]);
        assert_eq!(ids(&scene).len(), 3, "round {round}");
    }
    // Also where they are redriven twice before the gate comes to it.
    end(&mut one);
    for _ in 0..2 {
        let (well, said) = quarantine(&scene, "redrive", &["--all"]);
        assert!(well && said.contains("3 raw records appended"), "{said}");
    }
    let mut one = scene.start("one").expect("started again");
    rest(&scene, &["one"]);
    end(&mut one);
    assert_eq!(ids(&scene).len(), 3);
    // Who names a record means it.
    let (well, said) = quarantine(&scene, "redrive", &["--id", "1/0", "--dry-run"]);
    assert!(well && said.contains("1 raw records"), "{said}");
    assert!(now != ids(&scene));
}

/// A header of `redrive` on a record that it did not append hides nothing.
#[test]
fn a_forged_mark_hides_nothing() {
    let scene = scene("forged", "");
    let producer: BaseProducer =
        ClientConfig::new().set("bootstrap.servers", &scene.bootstrap).create().expect("made");
    let (raw, mark) = (scene.raw(), format!("{}/1/0", scene.quarantine()));
    let header = || Header { key: "oncegate-redriven", value: Some(mark.as_bytes()) };
    let record = || BaseRecord::<[u8], [u8]>::to(&raw).partition(1);
    producer.send(record().payload(b"not json")).expect("queued");
    let forged = record().headers(OwnedHeaders::new().insert(header()));
    producer.send(forged.payload(b"other")).expect("queued");
    producer.flush(Duration::from_secs(30)).expect("sent");
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    let (status, metrics) = scene.get("one", "/metrics").expect("answered");
    let line = r#"verdict="json"} 2"#;
    assert!(status == 200 && metrics.contains(line), "{metrics}");
    end(&mut one);
    assert_eq!(ids(&scene), ["1/0", "1/1"]);
}

#[test]
fn a_late_event_is_admitted_once_by_name_and_never_forgotten() {
    let scene = scene("admit", WINDOW);
    let late = result("LATE", 10, 30, "");
    let early = result("EARLY", 10, 40, "");
    send(&scene, &[early.clone(), result("A1", 12, 0, ""), late.clone(), early.clone()]);
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    let held = ids(&scene);
    assert_eq!(held.len(), 2, "both are below the horizon now");
    let admit = |id: &str| {
        quarantine(
            &scene,
            "admit",
            &[
                id,
                "--by",
                "J. Roe",
                "--because",
                "courier strike",
                "--state-dir",
                scene.state_dir("one").to_str().expect("UTF-8"),
            ],
        )
    };
    let (well, said) = admit(&held[0]);
    assert!(!well && said.contains("in use"), "the process runs: {said}");
    end(&mut one);

    let (well, said) = admit(&held[1]);
    assert!(!well && said.contains("was let through before: journal entry 2"), "{said}");
    let (well, said) = quarantine(&scene, "admit", &[&held[0], "--by", " ", "--because", "x"]);
    assert!(!well && said.contains("--by"), "{said}");
    let (well, said) = admit(&held[0]);
    assert!(well && said.contains("admitted by journal entry"), "{said}");
    let (well, said) = admit(&held[0]);
    assert!(!well && said.contains("was let through before"), "{said}");

    let clean = read(&scene, &scene.clean());
    assert_eq!(clean.len(), 3);
    let admitted = clean.last().expect("three");
    assert_eq!(admitted.payload, late.payload);
    assert_eq!(admitted.header("oncegate-source"), Some(&*format!("{}/1/2", scene.raw())));
    let entry = entries(&scene, 1).pop().expect("an entry");
    assert_eq!(admitted.header("oncegate-admitted"), Some(&*entry.number.to_string()));
    assert_eq!(entry.header.kind, i32::from(EntryKind::Admit));
    let act = entry.header.act.expect("an act");
    assert_eq!((act.by.as_str(), act.reason.as_str()), ("J. Roe", "courier strike"));
    let audit = read(&scene, &scene.audit());
    let told = String::from_utf8(audit.last().expect("told").payload.clone().expect("a value"));
    assert!(told.expect("UTF-8").contains(r#""verdict":"admitted""#));

    // Delivered again: to the store that knows it, and to one built from the journal.
    for round in 0..2 {
        send(&scene, std::slice::from_ref(&late));
        let mut one = scene.start("one").expect("started again");
        rest(&scene, &["one"]);
        end(&mut one);
        assert_eq!(read(&scene, &scene.clean()), clean, "round {round}");
        assert_eq!(ids(&scene), [held[1].as_str()], "absorbed, not held again, in round {round}");
        std::fs::remove_dir_all(scene.state_dir("one")).expect("deleted");
    }
    let (well, said) = quarantine(&scene, "list", &["--superseded"]);
    assert!(well && said.contains("1 held") && said.contains("admitted=1"), "{said}");
    let (well, said) = quarantine(&scene, "redrive", &["--all", "--dry-run"]);
    assert!(well && said.contains("1 raw records"), "what is admitted stays: {said}");
    let totals = entries(&scene, 1).pop().expect("an entry").header.total_counts.expect("totals");
    assert_eq!((totals.admitted, totals.duplicate, totals.first), (1, 2, 2));
}
