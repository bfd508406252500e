//! What is bounded stays so: memory under large records, beside a hot and an idle partition, and
//! with many partitions; and every codec that Kafka has is read.
//! Must not be in here: how fast anything is.

mod common;

use std::fs;

use common::{
    assert_agreement, assert_exact, await_log, await_readyz, broker, end, rest, sample,
    size_of_test, unique,
};
use oncegate_testkit::generator::{Kind, Sample, SampleOptions, Sent};
use oncegate_testkit::produce::{Timestamps, produce};
use oncegate_testkit::reader::committed_offset;
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::topics::{Admin, TopicSpec};
use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use std::time::{Duration, Instant};

/// The store's budget of 64 MiB; 64 that the consumer queues and 50 of a fetch under way; two batches
/// of 32 MiB; 128 that the producer queues; as much again for records on their way between these;
/// code, threads, seven clients.
const RESIDENT_MIB_MAX: u64 = 700;

/// For a restore of millions of sightings.
const LONG: Duration = Duration::from_secs(300);

/// The most memory that a process has had, in MiB.
fn peak_mib(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.trim().split(' ').next().expect("a number").parse::<u64>().expect("a number") / 1024
}

/// The record with a member of about so many bytes more.
fn padded(sent: &Sent, bytes: usize) -> Sent {
    let mut payload = sent.payload.clone().expect("a value");
    let end = payload.pop();
    assert_eq!(end, Some(b'}'), "an object");
    payload.extend_from_slice(b",\"attachment\":\"");
    payload.resize(payload.len() + bytes, b'x');
    payload.extend_from_slice(b"\"}");
    Sent { payload: Some(payload), ..sent.clone() }
}

#[test]
fn large_records_a_hot_and_an_idle_partition() {
    const HOT: i32 = 0;
    const LARGE: i32 = 1;
    const IDLE: i32 = 3;
    let options = SceneOptions { batch_records: 2_000, ..SceneOptions::default() };
    let scene = Scene::new(broker(), &unique("bounds"), options).expect("a scene");
    let mut large = 0;
    let sent: Vec<Sent> = sample(71, Kind::Lab, 120_000)
        .into_iter()
        .filter(|one| one.partition != IDLE && !one.is_broken())
        .filter_map(|one| match one.partition {
            LARGE => {
                large += 1;
                (large <= 400 && one.first_of().is_some()).then(|| padded(&one, 990_000))
            }
            _ => Some(one),
        })
        .collect();
    let of_large = sent.iter().filter(|one| one.partition == LARGE).count();
    assert!(of_large > 200 && sent.iter().filter(|one| one.partition == HOT).count() > 20_000);
    // All of it waits when the process starts.
    for some in sent.chunks(500) {
        produce(&scene.bootstrap, &scene.raw(), some, Timestamps::EventTime).expect("produced");
    }
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    let peak = peak_mib(one.id());
    println!("{of_large} records of 1 MB beside a hot partition: at most {peak} MiB");
    assert!(peak < RESIDENT_MIB_MAX, "{peak} MiB");
    end(&mut one);
    assert_exact(&scene, &sent, &["one"]);
    assert_agreement(&scene, &sent, &["one"]);
}

/// How many sightings takeovers have read, as this part of a log tells.
fn sightings(log: &str) -> usize {
    log.lines()
        .filter_map(|line| line.split_once("sightings=")?.1.split_whitespace().next())
        .map(|count| count.parse::<usize>().expect("a number"))
        .sum()
}

/// P25: the stores' budget is one of the process, not of a partition.
#[test]
fn many_partitions_restore_within_the_budget() {
    const PARTITIONS: i32 = 200;
    let options =
        SceneOptions { partitions: PARTITIONS, batch_records: 5_000, ..SceneOptions::default() };
    let scene = Scene::new(broker(), &unique("many"), options).expect("a scene");
    let sample = Sample::new(SampleOptions {
        seed: 72,
        records: size_of_test("ONCEGATE_TEST_KEYS", 100_000),
        kinds: vec![Kind::Lab],
        partitions: PARTITIONS,
        ..SampleOptions::default()
    });
    let sent = sample.expect("sound options").sent(Kind::Lab);
    produce(&scene.bootstrap, &scene.raw(), &sent, Timestamps::EventTime).expect("produced");
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    end(&mut one);
    fs::remove_dir_all(scene.state_dir("one").join("stores")).expect("the stores are gone");
    let before = scene.log("one");
    let mut one = scene.start("one").expect("started again");
    let began = Instant::now();
    // A member is ready before it is told its partitions.
    let taken = before.matches("taken over").count() + PARTITIONS as usize;
    await_log(&scene, "one", "taken over", taken, LONG);
    await_readyz(&scene, "one", 200, "ready");
    let peak = peak_mib(one.id());
    let restored = sightings(&scene.log("one")[before.len()..]);
    assert!(restored > sent.len() / 2, "{restored} sightings of {} records", sent.len());
    let took = began.elapsed();
    println!("{restored} sightings into {PARTITIONS} stores in {took:?}: at most {peak} MiB");
    assert!(peak < RESIDENT_MIB_MAX, "{peak} MiB");
    end(&mut one);
    assert_exact(&scene, &sent, &["one"]);
}

/// P28: a codec that the client lacks would leave a partition standing.
#[test]
fn every_codec_is_read_and_topics_may_compress_themselves() {
    const CODECS: [&str; 5] = ["none", "gzip", "snappy", "lz4", "zstd"];
    let name = unique("codecs");
    let raw = format!("{name}.in");
    let spec = TopicSpec::new(&raw, 5).config("retention.ms", -1);
    let admin = Admin::new(broker().bootstrap()).expect("an admin client");
    admin.create(&[spec]).expect("created");
    let options = SceneOptions { partitions: 5, raw: Some(raw.clone()), ..SceneOptions::default() };
    let scene = Scene::new(broker(), &name, options).expect("a scene");
    let properties = [
        ("compression.type", "zstd"),
        ("cleanup.policy", "delete"),
        ("retention.ms", "-1"),
        ("retention.bytes", "-1"),
        ("max.message.bytes", "1100000"),
    ];
    admin.set_config(&scene.clean(), &properties).expect("altered");
    let options = SampleOptions {
        seed: 73,
        records: 5_000,
        kinds: vec![Kind::Lab],
        partitions: 5,
        ..SampleOptions::default()
    };
    let sent = Sample::new(options).expect("sound options").sent(Kind::Lab);
    for (partition, codec) in (0..).zip(CODECS) {
        let producer: BaseProducer = ClientConfig::new()
            .set("bootstrap.servers", &scene.bootstrap)
            .set("compression.type", codec)
            .set("linger.ms", "50")
            .create()
            .expect("the client has the codec");
        for one in sent.iter().filter(|one| one.partition == partition) {
            let mut record = BaseRecord::<[u8], [u8]>::to(&raw)
                .partition(partition)
                .key(&one.key)
                .timestamp(one.event_time_ms);
            record.payload = one.payload.as_deref();
            producer.send(record).expect("queued");
        }
        producer.flush(Duration::from_secs(30)).expect("sent");
    }
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    end(&mut one);
    assert_exact(&scene, &sent, &["one"]);
    for partition in 0..5 {
        let at = committed_offset(&scene.bootstrap, &scene.group(), &raw, partition);
        assert!(at.expect("an answer").is_some_and(|(offset, _)| offset > 0), "{partition}");
    }
}
