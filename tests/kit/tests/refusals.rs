//! Where oncegate can no longer know, it stops and says so; where a store is wrong, it is set
//! aside and built anew; where a record cannot be written, it is quarantined alone. Each test
//! asserts what readers of the clean topic saw.

mod common;

use std::time::Duration;

use common::{assert_agreement, assert_exact, broker, end, logs, rest, sample, unique};
use oncegate::journal::entry::encode;
use oncegate::journal::packed::Rows;
use oncegate::journal::{Assembler, Receipt};
use oncegate::store::{PartitionStore, RocksStores, StoreBudget, Stores};
use oncegate_testkit::broker::{Broker, BrokerOptions};
use oncegate_testkit::generator::{Kind, Sent};
use oncegate_testkit::process::Process;
use oncegate_testkit::produce::{Timestamps, produce};
use oncegate_testkit::reader::{committed_offset, read_topic};
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::topics::{Admin, GroupOffset, TopicSpec};
use oncegate_testkit::wait::wait_until;

fn scene(name: &str) -> Scene {
    Scene::new(broker(), &unique(name), SceneOptions::default()).expect("a scene")
}

fn send(scene: &Scene, sent: &[Sent]) {
    produce(&scene.bootstrap, &scene.raw(), sent, Timestamps::EventTime).expect("produced");
}

fn admin(scene: &Scene) -> Admin {
    Admin::new(&scene.bootstrap).expect("an admin client")
}

/// A scene whose gate let a sample through and ended.
fn served(name: &str, seed: u64) -> (Scene, Vec<Sent>) {
    let scene = scene(name);
    let sent = sample(seed, Kind::Lab, 4_000);
    send(&scene, &sent);
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    end(&mut one);
    (scene, sent)
}

/// Deletes a topic and creates it anew with the same partitions.
fn recreate(scene: &Scene, topic: &str) {
    let admin = admin(scene);
    admin.delete(&[topic]).expect("deleted");
    let stamp = if topic == scene.journal() { "LogAppendTime" } else { "CreateTime" };
    let mut spec = TopicSpec::new(topic, scene.options.partitions)
        .config("retention.ms", -1)
        .config("retention.bytes", -1)
        .config("cleanup.policy", "delete")
        .config("message.timestamp.type", stamp);
    if topic != scene.raw() {
        spec = spec.config("max.message.bytes", 1_100_000);
    }
    admin.create(&[spec]).expect("created");
}

fn forget_group(scene: &Scene) {
    let (admin, group) = (admin(scene), scene.group());
    wait_until(Duration::from_secs(30), "the group is empty and was deleted", || {
        admin.delete_group(&group).is_ok()
    })
    .expect("deleted");
}

fn clean_count(scene: &Scene) -> usize {
    let clean = read_topic(&scene.bootstrap, &scene.clean()).expect("the clean topic");
    clean.iter().map(Vec::len).sum()
}

fn committed(scene: &Scene) -> Vec<Option<i64>> {
    (0..scene.options.partitions)
        .map(|partition| {
            committed_offset(&scene.bootstrap, &scene.group(), &scene.raw(), partition)
                .expect("an answer")
                .map(|(offset, _)| offset)
        })
        .collect()
}

/// Starts a process that must refuse for this cause, leaves clean as it is, and ends in order.
fn assert_refused(scene: &Scene, cause: &str) {
    let before = clean_count(scene);
    let mut one = scene.start("one").expect("started");
    let body = scene
        .wait_readyz("one", 503, cause)
        .unwrap_or_else(|error| panic!("{error}\n{}", logs(scene, &["one"])));
    for partition in 0..scene.options.partitions {
        let line = format!("partition {partition}: refused ({cause}: ");
        wait_until(Duration::from_secs(30), &line, || {
            scene.get("one", "/readyz").is_ok_and(|(_, body)| body.contains(&line))
        })
        .unwrap_or_else(|error| panic!("{error}\n{body}\n{}", logs(scene, &["one"])));
    }
    end(&mut one);
    assert_eq!(clean_count(scene), before, "nothing was let through");
}

#[test]
fn raw_topic_recreated_while_stopped() {
    let (scene, sent) = served("raw-recreated", 41);
    recreate(&scene, &scene.raw());
    send(&scene, &sent);
    assert_refused(&scene, "raw-recreated");
}

/// confluentinc/librdkafka#3255: the client itself does not notice.
#[test]
fn raw_topic_recreated_while_running() {
    let scene = scene("raw-swapped");
    let sent = sample(42, Kind::Lab, 4_000);
    send(&scene, &sent[..1_000]);
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    let before = committed(&scene);
    recreate(&scene, &scene.raw());
    send(&scene, &sent);
    scene
        .wait_readyz("one", 503, "raw-recreated")
        .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one"])));
    assert_exact(&scene, &sent[..1_000], &["one"]);
    // Deleting the topic deleted the group's offsets; nothing of the new one was committed.
    let after = committed(&scene);
    assert!(after.iter().zip(&before).all(|(after, before)| after.is_none() || after == before));
    end(&mut one);
}

#[test]
fn raw_partitions_added_while_running_and_while_stopped() {
    let scene = scene("partitions");
    let sent = sample(43, Kind::Lab, 4_000);
    send(&scene, &sent[..1_000]);
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    admin(&scene).add_partitions(&scene.raw(), 5).expect("added");
    send(&scene, &sent[1_000..]);
    scene
        .wait_readyz("one", 503, "partitions-changed")
        .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one"])));
    end(&mut one);
    assert_exact(&scene, &sent[..1_000], &["one"]);
    let mut one = scene.start("one").expect("started again");
    let status = one.wait(Duration::from_secs(30)).expect("it refuses to start");
    assert_eq!(status.code(), Some(1));
    let log = scene.log("one");
    assert!(log.contains(&scene.journal()) && log.contains("partitions"), "{log}");
}

#[test]
fn wrong_recipe_fingerprint() {
    let (scene, _) = served("other-recipe", 44);
    let recipes = scene.dir.path().join("recipes");
    std::fs::create_dir(&recipes).expect("a folder");
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/recipes/lab-result.toml");
    let text = std::fs::read_to_string(shipped).expect("the shipped recipe");
    let other = text.replacen("version = 1", "version = 2", 1);
    assert_ne!(text, other, "the recipe has a version");
    std::fs::write(recipes.join("lab-result.toml"), other).expect("written");
    let config = scene.dir.path().join("gate.toml");
    let text = std::fs::read_to_string(&config).expect("the configuration");
    let line = text.lines().find(|line| line.starts_with("recipes_dir")).expect("a line");
    let text = text.replace(line, "recipes_dir = \"recipes\"");
    std::fs::write(&config, text).expect("written");
    assert_refused(&scene, "other-recipe");
}

#[test]
fn journal_emptied_with_and_without_a_store() {
    let (scene, _) = served("journal-emptied", 45);
    let records = read_topic(&scene.bootstrap, &scene.journal()).expect("the journal");
    for (partition, records) in records.iter().enumerate() {
        // The last entry and the marker behind it.
        let end = records.last().expect("an entry").offset + 2;
        admin(&scene).delete_records(&scene.journal(), partition as i32, end).expect("deleted");
    }
    // With the store, which is level with the committed offset's entry, nothing is unknown.
    let before = clean_count(&scene);
    let mut one = scene.start("one").expect("started");
    scene
        .wait_readyz("one", 200, "ready")
        .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one"])));
    end(&mut one);
    assert_eq!(clean_count(&scene), before);
    std::fs::remove_dir_all(scene.state_dir("one")).expect("deleted");
    assert_refused(&scene, "journal-cut");
}

#[test]
fn journal_recreated() {
    let (scene, _) = served("journal-recreated", 46);
    recreate(&scene, &scene.journal());
    assert_refused(&scene, "journal-cut");
}

#[test]
fn journal_empty_and_group_forgotten_but_clean_is_not() {
    let (scene, _) = served("clean-left", 47);
    recreate(&scene, &scene.journal());
    forget_group(&scene);
    std::fs::remove_dir_all(scene.state_dir("one")).expect("deleted");
    assert_refused(&scene, "clean-not-empty");
}

#[test]
fn group_moved_forward() {
    let (scene, sent) = served("offset-ahead", 48);
    send(&scene, &sent);
    let offsets: Vec<GroupOffset> = committed(&scene)
        .iter()
        .enumerate()
        .map(|(partition, offset)| GroupOffset {
            topic: scene.raw(),
            partition: partition as i32,
            offset: offset.expect("an offset") + 10,
            metadata: String::new(),
        })
        .collect();
    let (admin, group) = (admin(&scene), scene.group());
    wait_until(Duration::from_secs(30), "the group is empty and takes offsets", || {
        admin.set_group_offsets(&group, &offsets).is_ok()
    })
    .expect("moved");
    assert_refused(&scene, "offset-ahead");
}

#[test]
fn raw_head_deleted_past_the_committed_offset() {
    let (scene, sent) = served("raw-head", 49);
    send(&scene, &sent);
    for partition in 0..scene.options.partitions {
        let next = committed(&scene)[partition as usize].expect("an offset");
        admin(&scene).delete_records(&scene.raw(), partition, next + 5).expect("deleted");
    }
    assert_refused(&scene, "raw-head-deleted");
}

/// The offsets of a group expire when it is away for long: the journal knows where to go on.
#[test]
fn group_offsets_expired_go_on_at_the_journal() {
    let (scene, sent) = served("expired", 50);
    forget_group(&scene);
    let more = sample(51, Kind::Lab, 2_000);
    let again: Vec<Sent> = sent.iter().filter(|one| one.first_of().is_some()).cloned().collect();
    drop(more);
    send(&scene, &again);
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    assert_exact(&scene, &sent, &["one"]);
    end(&mut one);
}

/// The store of partition 0 gets an entry that the journal does not have.
fn lead(scene: &Scene) {
    let stores =
        RocksStores::open(&scene.state_dir("one"), StoreBudget::default()).expect("stores");
    let mut store = stores.open("route", 0).expect("the store");
    let position = store.position().expect("a position").clone();
    let forged =
        encode(position.number + 1, position.hash, position.header.clone(), Rows::default());
    let mut assembler = Assembler::default();
    let entry = assembler.push(&forged.parts[0]).expect("sound").expect("whole");
    let at = (position.journal_next + 1, position.journal_next + 2);
    store.restore(&Receipt::of_journal(&entry, at), &entry).expect("applied");
    store.flush().expect("flushed");
}

#[test]
fn journal_shorter_than_the_store_which_is_set_aside_and_built_anew() {
    let (scene, sent) = served("store-ahead", 52);
    lead(&scene);
    send(&scene, &sent);
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    assert_exact(&scene, &sent, &["one"]);
    end(&mut one);
    let aside = scene.state_dir("one").join("aside");
    assert_eq!(std::fs::read_dir(aside).expect("the folder").count(), 1, "kept, not deleted");
    assert!(scene.log("one").contains("set aside"));
    let twice: Vec<Sent> = sent.iter().chain(&sent).cloned().collect();
    assert_agreement(&scene, &twice, &["one"]);
}

#[test]
fn a_store_of_another_journal_is_set_aside_and_built_anew() {
    let (scene, sent) = served("store-foreign", 53);
    let (other, _) = served("store-other", 54);
    std::fs::remove_dir_all(scene.state_dir("one").join("stores")).expect("deleted");
    std::fs::rename(other.state_dir("one").join("stores"), scene.state_dir("one").join("stores"))
        .expect("moved");
    send(&scene, &sent);
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    assert_exact(&scene, &sent, &["one"]);
    end(&mut one);
    assert_eq!(scene.log("one").matches("was set aside").count(), 4);
    let twice: Vec<Sent> = sent.iter().chain(&sent).cloned().collect();
    assert_agreement(&scene, &twice, &["one"]);
}

#[test]
fn a_state_directory_serves_one_process() {
    let scene = scene("one-directory");
    let mut one = scene.start("one").expect("started");
    scene.wait_readyz("one", 200, "ready").expect("ready");
    let mut second = scene.start("one").expect("started");
    let status = second.wait(Duration::from_secs(30)).expect("it refuses to start");
    assert_eq!(status.code(), Some(1));
    assert!(scene.log("one").contains("in use by another process"));
    end(&mut one);
}

/// Clean takes no record of the day after tomorrow, raw does: the broker refuses the whole batch,
/// and names no culprit.
#[test]
fn a_record_that_the_broker_refuses_is_quarantined_alone() {
    let scene = scene("refused");
    let raw = scene.raw();
    admin(&scene).delete(&[&raw]).expect("deleted");
    let spec = TopicSpec::new(&raw, scene.options.partitions)
        .config("retention.ms", -1)
        .config("message.timestamp.after.max.ms", i64::MAX);
    admin(&scene).create(&[spec]).expect("created");
    let mut sent = sample(55, Kind::Lab, 3_000);
    let now_ms = std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_millis() as i64;
    let mut refused = Vec::new();
    for (nth, one) in sent.iter_mut().enumerate() {
        one.event_time_ms = now_ms;
        if [400, 401, 2_000].contains(&nth) {
            one.event_time_ms = now_ms + 2 * 86_400_000;
            refused.push(one.clone());
        }
    }
    send(&scene, &sent);
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    end(&mut one);
    let quarantine = read_topic(&scene.bootstrap, &scene.quarantine()).expect("quarantine");
    let stamped: Vec<_> = quarantine
        .iter()
        .flatten()
        .filter(|record| record.header("oncegate-reason") == Some("record-timestamp"))
        .map(|record| record.payload.clone())
        .collect();
    let firsts = refused.iter().filter(|one| one.first_of().is_some());
    assert_eq!(stamped.len(), firsts.clone().count(), "{}", logs(&scene, &["one"]));
    for one in firsts {
        assert!(stamped.contains(&one.payload), "the raw bytes are kept");
    }
    let found = scene.compare(&sent).expect("clean");
    assert_eq!((found.twice, found.out_of_order, found.altered), (0, 0, 0), "{found}");
    assert!(found.missing <= stamped.len(), "{found}");
}

#[test]
fn the_broker_is_not_there_at_start() {
    let broker = Broker::start(BrokerOptions { faults: true, ..BrokerOptions::default() })
        .expect("a broker of our own");
    let scene = Scene::new(&broker, "absent", SceneOptions::default()).expect("a scene");
    let sent = sample(56, Kind::Lab, 2_000);
    send(&scene, &sent);
    broker.node(1).expect("the node").terminate().expect("ended");
    let mut one = scene.start("one").expect("started");
    scene.wait_readyz("one", 503, "").expect("not ready");
    wait_until(Duration::from_secs(60), "a line says that the cluster is away", || {
        scene.log("one").contains("the cluster cannot be reached")
    })
    .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one"])));
    assert!(one.is_running());
    broker.start_again(1).expect("started again");
    rest(&scene, &["one"]);
    scene.wait_readyz("one", 200, "ready").expect("ready");
    assert_exact(&scene, &sent, &["one"]);
    end(&mut one);
}

/// fede1024/rust-rdkafka#509: dropping a client hangs when its broker is gone.
#[test]
fn a_stop_ends_in_time_although_the_broker_is_frozen() {
    let broker = Broker::start(BrokerOptions { faults: true, ..BrokerOptions::default() })
        .expect("a broker of our own");
    let scene = Scene::new(&broker, "frozen", SceneOptions::default()).expect("a scene");
    let feeder = common::Feeder::start(&scene, sample(57, Kind::Lab, 300_000));
    let mut one = scene.start("one").expect("started");
    let open = scene.open_transactions().expect("watchers");
    wait_until(Duration::from_secs(60), "a transaction is open", || open.any().expect("ends"))
        .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one"])));
    let sent = feeder.stop();
    let node = broker.node(1).expect("the node");
    node.freeze().expect("frozen");
    one.terminate().expect("it runs");
    let status = one.wait(Duration::from_secs(35)).expect("it ends in time");
    node.thaw().expect("thawed");
    assert!(status.code().is_some(), "it ended by itself: {status}");
    let mut one: Process = scene.start("one").expect("started again");
    rest(&scene, &["one"]);
    assert_exact(&scene, &sent, &["one"]);
    end(&mut one);
    assert_agreement(&scene, &sent, &["one"]);
}
