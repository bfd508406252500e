//! Logs that lost their tail or head, or that an upstream transaction holds up. The tails are
//! really lost: the folders of partitions are put back as they were some time before, as a backup
//! that was restored, or an unclean election, would leave them.
//! Must not be in here: notes that were moved (`tails`), topics created anew (`refusals`).

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{
    SOON, assert_agreement, assert_exact, await_log, await_readyz, broker, end, entries,
    own_broker, rest, sample, unique,
};
use oncegate_testkit::broker::Broker;
use oncegate_testkit::generator::{Kind, Sent};
use oncegate_testkit::produce::{Timestamps, TransactionalProducer, produce};
use oncegate_testkit::reader::{committed_offset, read_topic};
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::topics::Admin;
use oncegate_testkit::wait::{wait_for, wait_until};
use rdkafka::ClientConfig;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};

fn scene_on(broker: &Broker, name: &str) -> Scene {
    let options = SceneOptions { partitions: 1, ..SceneOptions::default() };
    Scene::new(broker, &unique(name), options).expect("a scene")
}

fn one_partition(seed: u64, records: usize) -> Vec<Sent> {
    let mut sent = sample(seed, Kind::Lab, records);
    sent.iter_mut().for_each(|one| one.partition = 0);
    sent
}

fn send(scene: &Scene, sent: &[Sent]) {
    produce(&scene.bootstrap, &scene.raw(), sent, Timestamps::EventTime).expect("produced");
}

fn serve(scene: &Scene) {
    let mut one = scene.start("one").expect("started");
    rest(scene, &["one"]);
    await_readyz(scene, "one", 200, "ready");
    end(&mut one);
}

fn clean_count(scene: &Scene) -> usize {
    read_topic(&scene.bootstrap, &scene.clean()).expect("the clean topic").iter().flatten().count()
}

fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the folder") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
    }
}

/// A backup of some partitions' folders, taken and put back while the node is down.
struct Backup<'a> {
    broker: &'a Broker,
    kept: tempfile::TempDir,
}

impl Backup<'_> {
    fn data_dir(&self) -> PathBuf {
        self.broker.node(1).expect("the node").data_dir()
    }

    fn folders(&self, topics: &[String]) -> Vec<String> {
        (fs::read_dir(self.data_dir()).expect("the folder"))
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .filter(|name| {
                let topic = name.rsplit_once('-').map(|(topic, _)| topic.to_owned());
                topic.is_some_and(|topic| topics.contains(&topic))
            })
            .collect()
    }

    fn take<'a>(broker: &'a Broker, topics: &[String]) -> Backup<'a> {
        let backup = Backup { broker, kept: tempfile::tempdir().expect("a folder") };
        broker.node(1).expect("the node").terminate().expect("ended");
        for folder in backup.folders(topics) {
            copy_dir(&backup.data_dir().join(&folder), &backup.kept.path().join(&folder));
        }
        broker.start_again(1).expect("started again");
        backup
    }

    fn put_back(&self, topics: &[String]) {
        self.broker.node(1).expect("the node").terminate().expect("ended");
        let folders = self.folders(topics);
        assert!(!folders.is_empty(), "{topics:?} have no folders");
        for folder in folders {
            fs::remove_dir_all(self.data_dir().join(&folder)).expect("removed");
            copy_dir(&self.kept.path().join(&folder), &self.data_dir().join(&folder));
        }
        self.broker.start_again(1).expect("started again");
    }
}

/// Names one of a scene's topics.
type NameOf = fn(&Scene) -> String;

/// The row "one of journal, clean, offsets, raw lost its tail".
#[test]
fn each_log_that_lost_its_tail() {
    let broker = own_broker();
    let cases: [(&str, NameOf, &str); 4] = [
        ("raw-tail", Scene::raw, "raw-tail-lost"),
        ("clean-tail", Scene::clean, "clean-tail-lost"),
        ("quarantine-tail", Scene::quarantine, "quarantine-tail-lost"),
        ("journal-tail", Scene::journal, "journal-cut"),
    ];
    let sent = one_partition(131, 4_000);
    let scenes: Vec<_> = (cases.iter())
        .map(|(name, log, cause)| {
            let scene = scene_on(&broker, name);
            send(&scene, &sent[..2_000]);
            serve(&scene);
            (log(&scene), *cause, scene)
        })
        .collect();
    let lost: Vec<String> = scenes.iter().map(|(topic, ..)| topic.clone()).collect();
    let backup = Backup::take(&broker, &lost);
    for (_, _, scene) in &scenes {
        send(scene, &sent[2_000..]);
        serve(scene);
        assert_exact(scene, &sent, &["one"]);
    }
    backup.put_back(&lost);
    for (topic, cause, scene) in &scenes {
        let before = clean_count(scene);
        for with_store in [true, false] {
            if !with_store {
                fs::remove_dir_all(scene.state_dir("one").join("stores")).expect("removed");
            }
            let mut one = scene.start("one").expect("started");
            let body = await_readyz(scene, "one", 503, &format!("partition 0: refused ({cause}: "));
            assert!(body.contains(topic.as_str()), "it names the log: {body}");
            end(&mut one);
        }
        let store = scene.state_dir("one").join("aside");
        assert!(*cause != "journal-cut" || store.is_dir(), "the store that knows more is kept");
        assert_eq!(clean_count(scene), before, "nothing was let through");
    }
}

/// The group's offsets lost their tail: what lies between was decided, and the journal knows it.
#[test]
fn offsets_that_lost_their_tail_are_a_replay() {
    let broker = own_broker();
    let scene = scene_on(&broker, "offsets-tail");
    let sent = one_partition(132, 4_000);
    send(&scene, &sent[..2_000]);
    serve(&scene);
    let offsets = ["__consumer_offsets".to_owned()];
    let backup = Backup::take(&broker, &offsets);
    send(&scene, &sent[2_000..]);
    serve(&scene);
    backup.put_back(&offsets);
    let committed = committed_offset(&scene.bootstrap, &scene.group(), &scene.raw(), 0);
    let (committed, _) = committed.expect("an answer").expect("an offset");
    assert_eq!(committed, 2_000, "the tail is lost");
    serve(&scene);
    assert_exact(&scene, &sent, &["one"]);
    assert_agreement(&scene, &sent, &["one"]);
    let last = entries(&scene, 0).pop().expect("an entry").header;
    let replayed = last.total_replay_counts.expect("totals");
    assert_eq!((replayed.first, replayed.records), (0, 2_000), "read again, and counted apart");
}

/// Without a store nobody knows what the entries said that are gone.
#[test]
fn journal_head_deleted() {
    let scene = scene_on(broker(), "journal-head");
    let sent = one_partition(133, 3_000);
    send(&scene, &sent);
    serve(&scene);
    let journal = read_topic(&scene.bootstrap, &scene.journal()).expect("the journal");
    assert!(journal[0].len() > 3, "there is more than a head");
    let admin = Admin::new(&scene.bootstrap).expect("an admin client");
    admin.delete_records(&scene.journal(), 0, journal[0][2].offset).expect("deleted");
    // With the store, which is level, nothing is unknown.
    send(&scene, &sent);
    serve(&scene);
    let twice = [&sent[..], &sent].concat();
    assert_exact(&scene, &twice, &["one"]);
    fs::remove_dir_all(scene.state_dir("one").join("stores")).expect("removed");
    let mut one = scene.start("one").expect("started");
    await_readyz(&scene, "one", 503, "partition 0: refused (journal-cut: ");
    end(&mut one);
    assert_exact(&scene, &twice, &["one"]);
}

/// apache/kafka#23298: a log that ends in what was aborted left restores waiting for ever.
#[test]
fn journal_ends_in_aborted_records() {
    let scene = scene_on(broker(), "aborted");
    let sent = one_partition(134, 3_000);
    send(&scene, &sent[..2_000]);
    serve(&scene);
    let aborting =
        TransactionalProducer::new(&scene.bootstrap, &unique("aborting"), SOON).expect("made");
    for some in sent[..1_000].chunks(100) {
        aborting.begin().expect("begun");
        aborting.send(&scene.journal(), some, Timestamps::Now).expect("sent");
        aborting.abort().expect("aborted");
    }
    fs::remove_dir_all(scene.state_dir("one").join("stores")).expect("removed");
    send(&scene, &sent[2_000..]);
    serve(&scene);
    assert_exact(&scene, &sent, &["one"]);
    assert_agreement(&scene, &sent, &["one"]);
}

/// A transaction that took a partition in, and was aborted before a record of it came there,
/// leaves a marker and nothing else.
#[test]
fn quarantine_holds_but_a_marker() {
    let scene = scene_on(broker(), "marker");
    let mut sent = one_partition(136, 3_000);
    sent.retain(|one| one.first_of().is_some());
    send(&scene, &sent[..1_000]);
    serve(&scene);
    let end = || read_end(&scene, &scene.quarantine());
    assert_eq!(end(), 0, "nothing was quarantined");
    let aborting: ThreadedProducer<DefaultProducerContext> = ClientConfig::new()
        .set("bootstrap.servers", &scene.bootstrap)
        .set("transactional.id", unique("marker"))
        .set("transaction.timeout.ms", "120000")
        .set("message.timeout.ms", "110000")
        .set("linger.ms", "100000")
        .create()
        .expect("a producer");
    aborting.init_transactions(SOON).expect("initialised");
    let mut patience = Duration::from_millis(50);
    // The partition is taken in at once, the record would be sent when the linger is over.
    while end() == 0 {
        aborting.begin_transaction().expect("begun");
        let quarantine = scene.quarantine();
        let record = BaseRecord::<[u8], [u8]>::to(&quarantine).partition(0).payload(b"{}");
        aborting.send(record).expect("queued");
        let _ = wait_until(patience, "the partition is taken in", || end() > 0);
        aborting.abort_transaction(SOON).expect("aborted");
        patience *= 2;
    }
    send(&scene, &sent[1_000..]);
    serve(&scene);
    assert_exact(&scene, &sent, &["one"]);
    // Also where a new store begins with it.
    fs::remove_dir_all(scene.state_dir("one").join("stores")).expect("removed");
    serve(&scene);
    assert_exact(&scene, &sent, &["one"]);
}

fn read_end(scene: &Scene, topic: &str) -> i64 {
    oncegate_testkit::reader::watermarks(&scene.bootstrap, topic).expect("ends")[0].1
}

/// The row "an upstream transaction hangs on the raw topic".
#[test]
fn upstream_transaction_hangs_on_raw() {
    let scene = Scene::new(broker(), &unique("upstream"), SceneOptions::default()).expect("scene");
    let sent = sample(135, Kind::Lab, 6_000);
    send(&scene, &sent[..3_000]);
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    let upstream = TransactionalProducer::new(&scene.bootstrap, &unique("up"), SOON * 10);
    let upstream = upstream.expect("made");
    let (held, others): (Vec<Sent>, Vec<Sent>) =
        sent[3_000..].iter().cloned().partition(|one| one.partition == 2);
    upstream.begin().expect("begun");
    let offsets = upstream.send(&scene.raw(), &held, Timestamps::EventTime).expect("sent");
    send(&scene, &others);
    let waits_at = format!("partition 2 waits at offset {}", offsets[2][0]);
    await_log(&scene, "one", &waits_at, 1, SOON);
    let ends = oncegate_testkit::reader::watermarks(&scene.bootstrap, &scene.raw()).expect("ends");
    wait_for(SOON, "the other partitions go on", || {
        let behind = [0, 1, 3].into_iter().find(|partition| {
            let found =
                committed_offset(&scene.bootstrap, &scene.group(), &scene.raw(), *partition);
            found.ok().flatten().is_none_or(|(at, _)| at < ends[*partition as usize].1)
        });
        behind.map_or(Ok(()), |partition| Err(format!("partition {partition}")))
    })
    .expect("others go on");
    upstream.commit().expect("committed");
    rest(&scene, &["one"]);
    let sent = [&sent[..3_000], &others, &held].concat();
    assert_exact(&scene, &sent, &["one"]);
    end(&mut one);
    assert_agreement(&scene, &sent, &["one"]);
}
