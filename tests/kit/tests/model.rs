//! The scripts that the simulation's model cluster plays, on a real broker: what readers see must
//! agree. Must not be in here: an expectation, which the scripts hold.

#[path = "../../sim/script.rs"]
mod script;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use oncegate_testkit::broker::{Broker, BrokerOptions};
use oncegate_testkit::topics::{Admin, TopicSpec};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerGroupMetadata};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};
use rdkafka::{ClientConfig, Message, Offset, TopicPartitionList};
use script::{Act, Member, SCRIPTS, Stage, Who, play};

const WAIT: Duration = Duration::from_secs(15);

struct BrokerStage {
    bootstrap: String,
    name: String,
    producers: BTreeMap<Who, ThreadedProducer<DefaultProducerContext>>,
    plain: ThreadedProducer<DefaultProducerContext>,
    members: BTreeMap<Member, (BaseConsumer, ConsumerGroupMetadata)>,
}

fn config(bootstrap: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", bootstrap)
        .set("retry.backoff.ms", "10")
        .set("reconnect.backoff.ms", "20")
        .set("reconnect.backoff.max.ms", "500");
    config
}

fn word(result: Result<(), KafkaError>) -> String {
    use RDKafkaErrorCode as Code;
    let Err(error) = result else { return "ok".into() };
    match error.rdkafka_error_code() {
        Some(Code::Fenced | Code::ProducerFenced | Code::InvalidProducerEpoch) => "fenced".into(),
        Some(Code::IllegalGeneration | Code::UnknownMemberId | Code::RebalanceInProgress) => {
            "membership".into()
        }
        _ => error.to_string(),
    }
}

/// Makes a call again while it says that it may be.
fn again(mut call: impl FnMut() -> Result<(), KafkaError>) -> Result<(), KafkaError> {
    let began = Instant::now();
    loop {
        match call() {
            Err(KafkaError::Transaction(error))
                if error.is_retriable() && began.elapsed() < WAIT => {}
            result => return result,
        }
    }
}

impl BrokerStage {
    fn new(broker: &Broker, name: String) -> BrokerStage {
        let bootstrap = broker.bootstrap().to_owned();
        let admin = Admin::new(&bootstrap).expect("an admin client");
        let clean = TopicSpec::new(format!("{name}.clean"), 1);
        let raw = TopicSpec::new(format!("{name}.raw"), 2);
        admin.create(&[clean, raw]).expect("created");
        let plain = config(&bootstrap).create().expect("a producer");
        let (producers, members) = (BTreeMap::new(), BTreeMap::new());
        BrokerStage { bootstrap, name, producers, plain, members }
    }

    fn clean(&self) -> String {
        format!("{}.clean", self.name)
    }

    fn raw(&self) -> String {
        format!("{}.raw", self.name)
    }

    fn init(&mut self, who: Who) -> String {
        let id = if who == Who::Other { "other" } else { "one" };
        let producer: ThreadedProducer<DefaultProducerContext> = config(&self.bootstrap)
            .set("transactional.id", format!("{}-{id}", self.name))
            .set("transaction.timeout.ms", "60000")
            .set("linger.ms", "0")
            .create()
            .expect("a producer");
        let result = again(|| producer.init_transactions(WAIT));
        self.producers.insert(who, producer);
        word(result)
    }

    fn send(&self, producer: &ThreadedProducer<DefaultProducerContext>, value: &str) -> String {
        let topic = self.clean();
        let record = BaseRecord::<(), str>::to(&topic).partition(0).payload(value);
        match producer.send(record) {
            Ok(()) => word(producer.flush(WAIT)),
            Err((error, _)) => error.to_string(),
        }
    }

    /// Joins, and polls every member until each has read under one generation.
    fn join(&mut self, member: Member) -> String {
        let consumer: BaseConsumer = config(&self.bootstrap)
            .set("group.id", format!("{}.group", self.name))
            .set("enable.auto.commit", "false")
            .set("session.timeout.ms", "45000")
            .set("partition.assignment.strategy", "cooperative-sticky")
            .set("heartbeat.interval.ms", "200")
            .create()
            .expect("a consumer");
        consumer.subscribe(&[&self.raw()]).expect("subscribed");
        let began = Instant::now();
        let assigned =
            |consumer: &BaseConsumer| consumer.assignment().is_ok_and(|list| list.count() > 0);
        while began.elapsed() < WAIT && !assigned(&consumer) {
            consumer.poll(Duration::from_millis(50));
            for (other, _) in self.members.values() {
                other.poll(Duration::from_millis(50));
            }
        }
        if !assigned(&consumer) {
            return "not assigned".into();
        }
        let metadata = consumer.group_metadata().expect("metadata");
        self.members.insert(member, (consumer, metadata));
        "ok".into()
    }

    fn offsets(&self, who: Who, member: Member, offset: i64, note: &str) -> String {
        let mut list = TopicPartitionList::new();
        let topic = self.raw();
        let mut element = list.add_partition(&topic, 0);
        element.set_offset(Offset::Offset(offset)).expect("an offset");
        element.set_metadata(note);
        let (_, metadata) = &self.members[&member];
        let producer = &self.producers[&who];
        word(again(|| producer.send_offsets_to_transaction(&list, metadata, WAIT)))
    }

    fn read(&self) -> String {
        let consumer: BaseConsumer = config(&self.bootstrap)
            .set("group.id", format!("{}.reader", self.name))
            .set("isolation.level", "read_committed")
            .set("enable.partition.eof", "true")
            .set("enable.auto.commit", "false")
            .set("fetch.wait.max.ms", "50")
            .create()
            .expect("a consumer");
        let topic = self.clean();
        // A marker may be written some time after its commit was acknowledged.
        std::thread::sleep(Duration::from_millis(300));
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(&topic, 0, Offset::Offset(0)).expect("a partition");
        consumer.assign(&list).expect("assigned");
        let mut values = Vec::new();
        let began = Instant::now();
        while began.elapsed() < WAIT {
            match consumer.poll(Duration::from_millis(100)) {
                Some(Ok(message)) => {
                    let value = message.payload().unwrap_or_default();
                    values.push(String::from_utf8_lossy(value).into_owned());
                }
                Some(Err(KafkaError::PartitionEOF(_))) => break,
                _ => {}
            }
        }
        let position = consumer.position().expect("positions");
        let position = position.find_partition(&topic, 0).map(|e| e.offset());
        let observer: BaseConsumer = config(&self.bootstrap)
            .set("isolation.level", "read_uncommitted")
            .create()
            .expect("a consumer");
        let (_, high) = observer.fetch_watermarks(&topic, 0, WAIT).expect("watermarks");
        let end = if position == Some(Offset::Offset(high)) { "end" } else { "held" };
        format!("{}; {end}", values.join(" "))
    }

    fn committed(&self) -> String {
        let asker: BaseConsumer = config(&self.bootstrap)
            .set("group.id", format!("{}.group", self.name))
            .set("isolation.level", "read_committed")
            .create()
            .expect("a consumer");
        let mut list = TopicPartitionList::new();
        list.add_partition(&self.raw(), 0);
        match asker.committed_offsets(list, Duration::from_secs(3)) {
            Err(error) => match error.rdkafka_error_code() {
                Some(RDKafkaErrorCode::OperationTimedOut) => "unstable".into(),
                _ => error.to_string(),
            },
            Ok(list) => match list.find_partition(&self.raw(), 0) {
                Some(element) => match element.offset() {
                    Offset::Offset(offset) => format!("{offset} {}", element.metadata()),
                    _ => "none".into(),
                },
                None => "no answer".into(),
            },
        }
    }
}

impl Stage for BrokerStage {
    fn act(&mut self, act: Act) -> String {
        match act {
            Act::Init(who) => self.init(who),
            Act::Begin(who) => word(self.producers[&who].begin_transaction()),
            Act::Send(who, value) => self.send(&self.producers[&who], value),
            Act::Plain(value) => self.send(&self.plain, value),
            Act::Offsets(who, member, offset, note) => self.offsets(who, member, offset, note),
            Act::Commit(who) => word(again(|| self.producers[&who].commit_transaction(WAIT))),
            Act::Abort(who) => word(again(|| self.producers[&who].abort_transaction(WAIT))),
            Act::Join(member) => self.join(member),
            Act::Read => self.read(),
            Act::Committed => self.committed(),
        }
    }
}

#[test]
fn a_real_broker_plays_the_scripts_as_the_model_does() {
    let broker = Broker::start(BrokerOptions::default()).expect("a broker");
    let nanos = std::time::UNIX_EPOCH.elapsed().expect("a clock after 1970").as_nanos();
    let failures: Vec<String> = SCRIPTS
        .iter()
        .enumerate()
        .filter_map(|(nth, script)| {
            let mut stage =
                BrokerStage::new(&broker, format!("script-{nth}-{}", nanos % 1_000_000_000));
            play(script, &mut stage).err()
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
