//! Writes records to a raw topic: fast, idempotent, to the partition that each one names; also
//! in transactions, some of which are aborted first. Makes no records and judges none.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Message};
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, ThreadedProducer};
use rdkafka::{ClientContext, TopicPartitionList};

use crate::error::{Doing, KitError, Result};
use crate::generator::Sent;

const FLUSH_TIMEOUT: Duration = Duration::from_secs(120);
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(60);
/// How long to let the client send before a full queue is tried again.
const QUEUE_FULL_TIMEOUT: Duration = Duration::from_millis(20);

/// The timestamp of the produced records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timestamps {
    /// The time of producing.
    Now,
    /// CreateTime is the event's time. A topic with a retention by time then deletes old events
    /// as soon as it looks: give it `retention.ms=-1`.
    EventTime,
}

/// The raw offsets by partition, in the order of sending: `offsets[partition]`.
pub type Offsets = Vec<Vec<i64>>;

/// Transactions of a producer.
#[derive(Clone, Debug)]
pub struct TransactionOptions {
    /// The `transactional.id`.
    pub id: String,
    /// Records in one transaction.
    pub records: usize,
    /// Every so many transactions the records are first written and aborted, then written again
    /// and committed: each record is committed once, and the log holds aborted ones as well.
    pub abort_every: Option<usize>,
}

impl TransactionOptions {
    /// Transactions of so many records, none aborted.
    pub fn new(id: impl Into<String>, records: usize) -> TransactionOptions {
        TransactionOptions { id: id.into(), records, abort_every: None }
    }
}

/// Produces all records, without transactions.
pub fn produce(
    bootstrap: &str,
    topic: &str,
    sent: &[Sent],
    timestamps: Timestamps,
) -> Result<Offsets> {
    PlainProducer::new(bootstrap)?.send(topic, sent, timestamps)
}

/// A producer without transactions, for who sends bit by bit.
pub struct PlainProducer {
    producer: ThreadedProducer<Deliveries>,
}

impl PlainProducer {
    /// For this cluster.
    pub fn new(bootstrap: &str) -> Result<PlainProducer> {
        Ok(PlainProducer { producer: new_producer(bootstrap, None)? })
    }

    /// Sends records and waits until all are acknowledged; returns where they stand.
    pub fn send(&self, topic: &str, sent: &[Sent], timestamps: Timestamps) -> Result<Offsets> {
        self.producer.context().expect(sent.len());
        send_all(&self.producer, topic, sent, timestamps)?;
        drain(&self.producer, topic)?;
        self.producer.context().by_partition(sent)
    }

    /// Sends records and does not wait for them; see [`PlainProducer::finish`].
    pub fn enqueue(&self, topic: &str, sent: &[Sent], timestamps: Timestamps) -> Result<()> {
        send_all(&self.producer, topic, sent, timestamps)
    }

    /// Waits until all that was enqueued is acknowledged.
    pub fn finish(&self, topic: &str) -> Result<()> {
        drain(&self.producer, topic)?;
        match &self.producer.context().lock().first_failure {
            Some(failure) => {
                Err(KitError::new(format!("a record could not be produced: {failure}")))
            }
            None => Ok(()),
        }
    }
}

/// Produces all records in transactions; returns where the committed ones stand.
pub fn produce_transactional(
    bootstrap: &str,
    topic: &str,
    sent: &[Sent],
    timestamps: Timestamps,
    options: &TransactionOptions,
) -> Result<Offsets> {
    let producer = TransactionalProducer::new(bootstrap, &options.id, TRANSACTION_TIMEOUT)?;
    let mut offsets = Offsets::new();
    for (number, part) in sent.chunks(options.records.max(1)).enumerate() {
        if options.abort_every.is_some_and(|every| number % every.max(1) == 0) {
            producer.begin()?;
            producer.send(topic, part, timestamps)?;
            producer.abort()?;
        }
        producer.begin()?;
        let written = producer.send(topic, part, timestamps)?;
        producer.commit()?;
        offsets.resize(offsets.len().max(written.len()), Vec::new());
        for (all, part) in offsets.iter_mut().zip(written) {
            all.extend(part);
        }
    }
    Ok(offsets)
}

/// A producer whose transactions a test steers itself, for instance to leave one open. Dropping
/// it does not end an open transaction: the cluster does, after its time-out.
pub struct TransactionalProducer {
    producer: ThreadedProducer<Deliveries>,
}

impl TransactionalProducer {
    /// Initialises the producer; an open transaction of the same id ends by this.
    pub fn new(bootstrap: &str, id: &str, timeout: Duration) -> Result<TransactionalProducer> {
        let producer = new_producer(bootstrap, Some((id, timeout)))?;
        retried(|| producer.init_transactions(TRANSACTION_TIMEOUT))
            .doing(|| format!("cannot initialise the transactional producer {id}"))?;
        Ok(TransactionalProducer { producer })
    }

    /// Begins a transaction.
    pub fn begin(&self) -> Result<()> {
        self.producer.begin_transaction().doing(|| "cannot begin a transaction".to_owned())
    }

    /// Sends records in the open transaction and waits until all are acknowledged.
    pub fn send(&self, topic: &str, sent: &[Sent], timestamps: Timestamps) -> Result<Offsets> {
        self.producer.context().expect(sent.len());
        send_all(&self.producer, topic, sent, timestamps)?;
        drain(&self.producer, topic)?;
        self.producer.context().by_partition(sent)
    }

    /// Commits the open transaction.
    pub fn commit(&self) -> Result<()> {
        retried(|| self.producer.commit_transaction(TRANSACTION_TIMEOUT))
            .doing(|| "cannot commit".to_owned())
    }

    /// Aborts the open transaction.
    pub fn abort(&self) -> Result<()> {
        retried(|| self.producer.abort_transaction(TRANSACTION_TIMEOUT))
            .doing(|| "cannot abort".to_owned())
    }

    /// Makes a consumer group's offsets part of the open transaction, as a producer without a
    /// consumer does: unfenced.
    pub fn send_offsets(&self, group: &str, offsets: &[(String, i32, i64)]) -> Result<()> {
        use rdkafka::consumer::{BaseConsumer, Consumer};
        let bootstrap = self.bootstrap();
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", bootstrap)
            .set("group.id", group)
            .create()
            .doing(|| "cannot make a consumer".to_owned())?;
        let metadata = consumer
            .group_metadata()
            .ok_or_else(|| KitError::new(format!("no group metadata for {group}")))?;
        let mut list = TopicPartitionList::new();
        for (topic, partition, offset) in offsets {
            list.add_partition_offset(topic, *partition, rdkafka::Offset::Offset(*offset))
                .doing(|| format!("offset {offset} of {topic}/{partition}"))?;
        }
        retried(|| self.producer.send_offsets_to_transaction(&list, &metadata, TRANSACTION_TIMEOUT))
            .doing(|| format!("cannot send the offsets of {group}"))
    }

    fn bootstrap(&self) -> &str {
        &self.producer.context().bootstrap
    }
}

/// What became of the records that were sent, told from the client's own thread.
struct Deliveries {
    bootstrap: String,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// By number of sending; -1 until it is acknowledged.
    offsets: Vec<i64>,
    first_failure: Option<String>,
}

impl Deliveries {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for so many records. Earlier ones are done with: each sending is drained.
    fn expect(&self, records: usize) {
        let mut seen = self.lock();
        seen.offsets.clear();
        seen.offsets.resize(records, -1);
        seen.first_failure = None;
    }

    fn by_partition(&self, sent: &[Sent]) -> Result<Offsets> {
        let seen = self.lock();
        if let Some(failure) = &seen.first_failure {
            return Err(KitError::new(format!("a record could not be produced: {failure}")));
        }
        let mut offsets = Offsets::new();
        for (one, offset) in sent.iter().zip(&seen.offsets) {
            if *offset < 0 {
                return Err(KitError::new("a record was never acknowledged".to_owned()));
            }
            let partition = one.partition as usize;
            offsets.resize(offsets.len().max(partition + 1), Vec::new());
            offsets[partition].push(*offset);
        }
        Ok(offsets)
    }
}

impl ClientContext for Deliveries {}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, number: usize) {
        let mut seen = self.lock();
        match result {
            Ok(message) => {
                if let Some(offset) = seen.offsets.get_mut(number) {
                    *offset = message.offset();
                }
            }
            Err((error, message)) => {
                let place = format!("{}/{}", message.topic(), message.partition());
                seen.first_failure.get_or_insert_with(|| format!("{error} ({place})"));
            }
        }
    }
}

fn new_producer(
    bootstrap: &str,
    transactional: Option<(&str, Duration)>,
) -> Result<ThreadedProducer<Deliveries>> {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", bootstrap)
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("compression.type", "lz4")
        .set("linger.ms", "5")
        .set("batch.size", "400000")
        .set("batch.num.messages", "20000")
        .set("queue.buffering.max.messages", "200000")
        .set("queue.buffering.max.kbytes", "262144")
        .set("retry.backoff.ms", "10")
        .set("retry.backoff.max.ms", "200")
        .set("message.timeout.ms", "120000");
    if let Some((id, timeout)) = transactional {
        let timeout_ms = timeout.as_millis().to_string();
        config
            .set("transactional.id", id)
            .set("transaction.timeout.ms", &timeout_ms)
            // The client refuses a message time-out above the transaction's.
            .set("message.timeout.ms", &timeout_ms);
    }
    let context = Deliveries { bootstrap: bootstrap.to_owned(), seen: Mutex::new(Seen::default()) };
    config.create_with_context(context).doing(|| format!("cannot make a producer for {bootstrap}"))
}

fn send_all(
    producer: &ThreadedProducer<Deliveries>,
    topic: &str,
    sent: &[Sent],
    timestamps: Timestamps,
) -> Result<()> {
    for (number, one) in sent.iter().enumerate() {
        let mut record = BaseRecord::with_opaque_to(topic, number)
            .partition(one.partition)
            .key(one.key.as_slice());
        record.payload = one.payload.as_deref();
        if timestamps == Timestamps::EventTime {
            record.timestamp = Some(one.event_time_ms);
        }
        loop {
            match producer.send(record) {
                Ok(()) => break,
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => {
                    // Not a guess: returns as soon as all is sent, and full is tried again.
                    let _ = producer.flush(QUEUE_FULL_TIMEOUT);
                    record = back;
                }
                Err((error, _)) => {
                    return Err(KitError::new(format!(
                        "record {number} cannot be sent to {topic}/{}: {error}",
                        one.partition
                    )));
                }
            }
        }
    }
    Ok(())
}

fn drain(producer: &ThreadedProducer<Deliveries>, topic: &str) -> Result<()> {
    producer.flush(FLUSH_TIMEOUT).doing(|| {
        format!("{} records to {topic} were not acknowledged", producer.in_flight_count())
    })
}

/// Calls again as long as the client says that the same call may be tried again.
fn retried(mut call: impl FnMut() -> rdkafka::error::KafkaResult<()>) -> Result<()> {
    const TRIES: usize = 20;
    let mut last = None;
    for _ in 0..TRIES {
        match call() {
            Ok(()) => return Ok(()),
            Err(KafkaError::Transaction(error)) if error.is_retriable() => {
                last = Some(error.to_string());
            }
            Err(error) => return Err(KitError::new(error.to_string())),
        }
    }
    Err(KitError::new(last.unwrap_or_default()))
}
