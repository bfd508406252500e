//! Clean and quarantine as witnesses at a takeover: a log that lost its tail, or that holds what
//! nobody noted, stops its partition before anything more is written. A broker does not lose the
//! tail of a log on demand, so the note of the last end is moved instead: the two are told apart
//! by their comparison alone.

mod common;

use common::{assert_agreement, assert_exact, broker, end, logs, rest, sample, unique};
use oncegate::journal::OffsetMetadata;
use oncegate_testkit::generator::{Kind, Sent};
use oncegate_testkit::produce::{Timestamps, produce};
use oncegate_testkit::reader::{committed_offset, read_topic};
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::topics::{Admin, GroupOffset, TopicSpec};
use oncegate_testkit::wait::wait_until;
use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use std::time::Duration;

/// A scene with one partition, whose gate let a sample through and ended.
fn served(name: &str, seed: u64) -> (Scene, Vec<Sent>) {
    let options = SceneOptions { partitions: 1, ..SceneOptions::default() };
    let scene = Scene::new(broker(), &unique(name), options).expect("a scene");
    let mut sent = sample(seed, Kind::Lab, 4_000);
    sent.iter_mut().for_each(|one| one.partition = 0);
    produce(&scene.bootstrap, &scene.raw(), &sent, Timestamps::EventTime).expect("produced");
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    end(&mut one);
    (scene, sent)
}

fn count(scene: &Scene) -> usize {
    read_topic(&scene.bootstrap, &scene.clean()).expect("the clean topic").iter().flatten().count()
}

/// Changes what the committed offset notes; gives it as it was.
fn note(scene: &Scene, change: impl FnOnce(&mut OffsetMetadata)) -> OffsetMetadata {
    let (offset, metadata) = committed_offset(&scene.bootstrap, &scene.group(), &scene.raw(), 0)
        .expect("an answer")
        .expect("a committed offset");
    let before: OffsetMetadata = metadata.parse().expect("oncegate's metadata");
    let mut after = before.clone();
    change(&mut after);
    let offsets =
        [GroupOffset { topic: scene.raw(), partition: 0, offset, metadata: after.to_string() }];
    let (admin, group) = (Admin::new(&scene.bootstrap).expect("an admin client"), scene.group());
    wait_until(Duration::from_secs(30), "the group has no members and takes offsets", || {
        admin.set_group_offsets(&group, &offsets).is_ok()
    })
    .expect("noted");
    before
}

/// Starts a process that must refuse for this cause and leaves clean as it is.
fn assert_refused(scene: &Scene, cause: &str) {
    let before = count(scene);
    let mut one = scene.start("one").expect("started");
    let line = format!("partition 0: refused ({cause}: ");
    scene
        .wait_readyz("one", 503, &line)
        .unwrap_or_else(|error| panic!("{error}\n{}", logs(scene, &["one"])));
    end(&mut one);
    assert_eq!(count(scene), before, "nothing was let through");
}

#[test]
fn a_clean_or_quarantine_log_that_lost_its_tail_is_refused() {
    let (scene, sent) = served("tail", 61);
    let was = note(&scene, |noted| noted.clean.last_offset += 1_000);
    assert_refused(&scene, "clean-tail-lost");
    note(&scene, |noted| {
        noted.clean = was.clean.clone();
        noted.quarantine.last_offset += 1_000;
    });
    assert_refused(&scene, "quarantine-tail-lost");
    note(&scene, |noted| noted.quarantine = was.quarantine.clone());
    let mut one = scene.start("one").expect("started");
    scene.wait_readyz("one", 200, "ready").expect("the logs agree again");
    end(&mut one);
    assert_exact(&scene, &sent, &["one"]);
    assert_agreement(&scene, &sent, &["one"]);
}

#[test]
fn a_clean_record_that_nobody_noted_means_a_lost_journal_tail() {
    let (scene, _) = served("unnoted", 62);
    note(&scene, |noted| noted.clean = noted.clean.after(noted.clean.last_offset - 1));
    assert_refused(&scene, "journal-cut");
}

#[test]
fn a_clean_topic_created_anew_is_refused() {
    let (scene, _) = served("anew", 63);
    let admin = Admin::new(&scene.bootstrap).expect("an admin client");
    admin.delete(&[&scene.clean()]).expect("deleted");
    let spec = TopicSpec::new(scene.clean(), 1)
        .config("retention.ms", -1)
        .config("retention.bytes", -1)
        .config("cleanup.policy", "delete")
        .config("max.message.bytes", 1_100_000);
    admin.create(&[spec]).expect("created");
    assert_refused(&scene, "clean-tail-lost");
}

#[test]
fn two_deployments_on_one_clean_topic_are_refused() {
    let (scene, _) = served("two", 64);
    let producer: BaseProducer =
        ClientConfig::new().set("bootstrap.servers", &scene.bootstrap).create().expect("made");
    let clean = scene.clean();
    let send = |headers: OwnedHeaders| {
        let record = BaseRecord::<[u8], [u8]>::to(&clean).partition(0).payload(b"{}");
        producer.send(record.headers(headers)).expect("queued");
        producer.flush(Duration::from_secs(30)).expect("sent");
    };
    // A record of nobody is for `verify` to name, and stops nothing.
    send(OwnedHeaders::new());
    let mut one = scene.start("one").expect("started");
    scene.wait_readyz("one", 200, "ready").expect("it runs");
    end(&mut one);
    let route = Header { key: "oncegate-route", value: Some("other/route") };
    send(OwnedHeaders::new().insert(route));
    assert_refused(&scene, "two-deployments");
}

/// Whoever rewinds a group wipes what was noted: what the logs hold then is the new base.
#[test]
fn after_a_rewind_the_logs_as_they_are_become_the_base() {
    let (scene, sent) = served("rewound", 65);
    let offsets =
        [GroupOffset { topic: scene.raw(), partition: 0, offset: 0, metadata: String::new() }];
    let (admin, group) = (Admin::new(&scene.bootstrap).expect("an admin client"), scene.group());
    wait_until(Duration::from_secs(30), "the group has no members and takes offsets", || {
        admin.set_group_offsets(&group, &offsets).is_ok()
    })
    .expect("rewound");
    for _ in 0..2 {
        let mut one = scene.start("one").expect("started");
        rest(&scene, &["one"]);
        scene.wait_readyz("one", 200, "ready").expect("it runs");
        end(&mut one);
    }
    assert_exact(&scene, &sent, &["one"]);
    note(&scene, |noted| noted.clean.accounted_to += 1_000);
    assert_refused(&scene, "clean-tail-lost");
}
