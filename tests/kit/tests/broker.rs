//! The kit against a real broker: what is produced is read back exactly, aborted transactions
//! leave no trace for readers, and a broker that was restarted or killed still has it all.

use std::time::Duration;

use oncegate_testkit::broker::{Broker, BrokerOptions};
use oncegate_testkit::compare::compare;
use oncegate_testkit::generator::{Kind, Sample, SampleOptions, Sent};
use oncegate_testkit::produce::{
    Offsets, Timestamps, TransactionOptions, TransactionalProducer, produce, produce_transactional,
};
use oncegate_testkit::reader::{Record, committed_offset, read_topic, watermarks};
use oncegate_testkit::topics::{Admin, GroupOffset, TopicSpec};

const SEED: u64 = 20_260_701;

fn sample(records: usize) -> Sample {
    let options = SampleOptions { seed: SEED, records, ..SampleOptions::default() };
    Sample::new(options).unwrap()
}

fn raw_topic(name: &str) -> TopicSpec {
    TopicSpec::new(name, 4).config("retention.ms", -1)
}

/// What a reader must see: each partition's records in the order of sending.
fn assert_read_back(read: &[Vec<Record>], sent: &[Sent], offsets: &Offsets) {
    for (partition, records) in read.iter().enumerate() {
        let expected: Vec<&Sent> =
            sent.iter().filter(|one| one.partition as usize == partition).collect();
        assert_eq!(records.len(), expected.len(), "seed {SEED}, partition {partition}");
        for ((record, one), offset) in records.iter().zip(&expected).zip(&offsets[partition]) {
            assert_eq!(record.offset, *offset, "seed {SEED}");
            assert_eq!(record.payload, one.payload, "seed {SEED}");
            assert_eq!(record.key.as_ref(), Some(&one.key), "seed {SEED}");
            assert_eq!(record.timestamp_ms, Some(one.event_time_ms), "seed {SEED}");
        }
    }
}

#[test]
fn a_transactional_sample_is_read_back_exactly_also_after_restarts() {
    let broker = Broker::start(BrokerOptions { faults: true, ..Default::default() }).unwrap();
    let admin = Admin::new(broker.bootstrap()).unwrap();
    admin.create(&[raw_topic("raw.lab")]).unwrap();
    let sent = sample(15_000).sent(Kind::Lab);
    assert_eq!(sent.len(), 5_000);
    let transactions =
        TransactionOptions { id: "kit".to_owned(), records: 500, abort_every: Some(3) };
    let offsets = produce_transactional(
        broker.bootstrap(),
        "raw.lab",
        &sent,
        Timestamps::EventTime,
        &transactions,
    )
    .unwrap();
    let ends = watermarks(broker.bootstrap(), "raw.lab").unwrap();
    let in_log: i64 = ends.iter().map(|(low, high)| high - low).sum();
    assert!(in_log > 5_000 + 2_000, "the aborted records are in the log as well: {in_log}");
    assert_read_back(&read_topic(broker.bootstrap(), "raw.lab").unwrap(), &sent, &offsets);

    let node = broker.node(1).unwrap();
    node.terminate().unwrap();
    broker.start_again(1).unwrap();
    assert_read_back(&read_topic(broker.bootstrap(), "raw.lab").unwrap(), &sent, &offsets);

    node.kill().unwrap();
    broker.start_again(1).unwrap();
    let read = read_topic(broker.bootstrap(), "raw.lab").unwrap();
    assert_read_back(&read, &sent, &offsets);

    node.freeze().unwrap();
    assert!(!node.is_up());
    node.thaw().unwrap();
    broker.wait_ready(Duration::from_secs(60)).unwrap();

    // The raw topic taken for a clean one: every later delivery is there twice, broken ones too.
    let found = compare(Kind::Lab, &sent, &read);
    assert_eq!((found.twice, found.missing), (found.again, 0), "seed {SEED}: {found}");
    assert_eq!(found.unknown, found.broken, "seed {SEED}: {found}");
}

#[test]
fn topics_groups_and_hanging_transactions() {
    let broker = Broker::start(BrokerOptions::default()).unwrap();
    let bootstrap = broker.bootstrap();
    let admin = Admin::new(bootstrap).unwrap();
    let topic = format!("kit.{}", std::process::id());
    admin.create(&[raw_topic(&topic)]).unwrap();
    let first_id = admin.topic_id(&topic).unwrap().unwrap();
    let sent = sample(900).sent(Kind::Inventory);
    let offsets = produce(bootstrap, &topic, &sent, Timestamps::EventTime).unwrap();
    assert_read_back(&read_topic(bootstrap, &topic).unwrap(), &sent, &offsets);

    admin.delete_records(&topic, 2, 10).unwrap();
    assert_eq!(watermarks(bootstrap, &topic).unwrap()[2].0, 10);
    assert_eq!(read_topic(bootstrap, &topic).unwrap()[2][0].offset, 10);

    let group = format!("{topic}.group");
    assert_eq!(committed_offset(bootstrap, &group, &topic, 1).unwrap(), None);
    let metadata = "entry 7 of a journal".to_owned();
    let offset =
        GroupOffset { topic: topic.clone(), partition: 1, offset: 42, metadata: metadata.clone() };
    admin.set_group_offsets(&group, &[offset]).unwrap();
    let committed = committed_offset(bootstrap, &group, &topic, 1).unwrap();
    assert_eq!(committed, Some((42, metadata)));
    admin.delete_group(&group).unwrap();
    assert_eq!(committed_offset(bootstrap, &group, &topic, 1).unwrap(), None);

    // A reader waits for an open transaction; the next producer of its id ends it.
    let open = TransactionalProducer::new(bootstrap, &topic, Duration::from_secs(60)).unwrap();
    open.begin().unwrap();
    open.send(&topic, &sent[..50], Timestamps::Now).unwrap();
    let reader = std::thread::scope(|scope| {
        let reading = scope.spawn(|| read_topic(bootstrap, &topic));
        let heir = TransactionalProducer::new(bootstrap, &topic, Duration::from_secs(60)).unwrap();
        heir.begin().unwrap();
        heir.send_offsets(&group, &[(topic.clone(), 3, 5)]).unwrap();
        heir.commit().unwrap();
        reading.join().unwrap().unwrap()
    });
    assert_eq!(reader.iter().map(Vec::len).sum::<usize>(), sent.len() - 10);
    let committed = committed_offset(bootstrap, &group, &topic, 3).unwrap();
    assert_eq!(committed, Some((5, String::new())));

    admin.add_partitions(&topic, 6).unwrap();
    assert_eq!(watermarks(bootstrap, &topic).unwrap().len(), 6);
    admin.delete(&[&topic]).unwrap();
    assert_eq!(admin.topic_id(&topic).unwrap(), None);
    admin.create(&[raw_topic(&topic)]).unwrap();
    assert_ne!(admin.topic_id(&topic).unwrap().unwrap(), first_id);
    admin.delete(&[&topic]).unwrap();
}

#[test]
fn three_brokers_outlive_the_loss_of_one() {
    let options = BrokerOptions { brokers: 3, faults: true, ..Default::default() };
    let broker = Broker::start(options).unwrap();
    let bootstrap = broker.bootstrap();
    let admin = Admin::new(bootstrap).unwrap();
    admin.create(&[raw_topic("raw.epcis").replication(3)]).unwrap();
    let sent = sample(3_000).sent(Kind::Epcis);
    let (before, after) = sent.split_at(500);
    let mut offsets = produce(bootstrap, "raw.epcis", before, Timestamps::EventTime).unwrap();
    let leader = admin.leader("raw.epcis", 0).unwrap();
    broker.node(leader).unwrap().kill().unwrap();
    let later = produce(bootstrap, "raw.epcis", after, Timestamps::EventTime).unwrap();
    for (all, later) in offsets.iter_mut().zip(later) {
        all.extend(later);
    }
    assert_ne!(admin.leader("raw.epcis", 0).unwrap(), leader);
    broker.start_again(leader).unwrap();
    assert_read_back(&read_topic(bootstrap, "raw.epcis").unwrap(), &sent, &offsets);
}
