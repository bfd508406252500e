//! The bare exactly-once pipe: consume, produce unchanged, send offsets, commit. One thread over
//! the clients that a worker of oncegate would have, with the very same settings and batch size,
//! and as fast as they go: each record is sent on as it is polled. No gate, no store, no journal.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use oncegate::check::check;
use oncegate::kafka::config::{consumer_config, producer_config};
use oncegate::settings::{BatchSettings, Overrides, Settings};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, DeliveryResult, Headers, Message};
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, ThreadedProducer};
use rdkafka::{ClientContext, Offset, TopicPartitionList};

use crate::error::{Doing, KitError, Result};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
const MEMBER_ID: &str = "bare";

/// Copies the raw topic of the only route of a configuration to its clean topic, until killed.
pub fn run(config: &Path) -> Result<()> {
    let failed = || format!("the settings in {} are not sound", config.display());
    let settings = Settings::load(config, &Overrides::default()).doing(failed)?;
    let report = check(&settings, ANSWER_TIMEOUT).doing(failed)?;
    let (Some(route), Some(facts)) = (settings.routes.first(), report.routes.first()) else {
        return Err(KitError::new(failed()));
    };
    let producer: ThreadedProducer<Deliveries> =
        producer_config(&settings.kafka, route, MEMBER_ID, facts.limits)
            .create_with_context(Deliveries::default())
            .doing(|| "cannot make the producer".to_owned())?;
    producer
        .init_transactions(ANSWER_TIMEOUT)
        .doing(|| "cannot initialise transactions".to_owned())?;
    let consumer: BaseConsumer = consumer_config(&settings.kafka, route, MEMBER_ID)
        // Oncegate begins at an offset of its own choice; the pipe has none.
        .set("auto.offset.reset", "earliest")
        .create()
        .doing(|| "cannot make the consumer".to_owned())?;
    consumer.subscribe(&[&route.raw]).doing(|| "cannot subscribe".to_owned())?;
    let mut pipe = Pipe {
        consumer,
        producer,
        from: route.raw.clone(),
        to: route.clean.clone(),
        batch: route.batch,
        next: vec![None; facts.raw_partitions as usize],
        sent: 0,
    };
    loop {
        pipe.transaction()?;
    }
}

struct Pipe {
    consumer: BaseConsumer,
    producer: ThreadedProducer<Deliveries>,
    from: String,
    to: String,
    batch: BatchSettings,
    /// By partition: the offset after the last record of the transaction.
    next: Vec<Option<i64>>,
    /// Records sent, ever.
    sent: u64,
}

impl Pipe {
    /// Waits for a first record, and passes on what comes until the batch is full or old.
    fn transaction(&mut self) -> Result<()> {
        let wait = Duration::from_millis(self.batch.wait_ms);
        let mut began: Option<Instant> = None;
        let mut records = 0;
        while records < self.batch.records {
            let left = began.map_or(wait, |began| wait.saturating_sub(began.elapsed()));
            match self.consumer.poll(if records % 1_000 == 0 { left } else { wait }) {
                Some(Ok(message)) => {
                    if began.is_none() {
                        self.producer.begin_transaction().doing(|| "cannot begin".to_owned())?;
                        began = Some(Instant::now());
                    }
                    pass_on(&self.producer, &self.to, &message)?;
                    self.next[message.partition() as usize] = Some(message.offset() + 1);
                    records += 1;
                }
                Some(Err(KafkaError::PartitionEOF(_))) | None => {
                    if began.is_some_and(|began| began.elapsed() >= wait) {
                        break;
                    }
                }
                Some(Err(error)) => return Err(KitError::new(format!("cannot read: {error}"))),
            }
        }
        self.sent += records as u64;
        self.commit()
    }

    fn commit(&mut self) -> Result<()> {
        self.producer.context().drain(self.sent)?;
        let mut offsets = TopicPartitionList::new();
        for (partition, next) in self.next.iter_mut().enumerate() {
            if let Some(next) = next.take() {
                offsets
                    .add_partition_offset(&self.from, partition as i32, Offset::Offset(next))
                    .doing(|| "cannot name an offset".to_owned())?;
            }
        }
        let metadata = self
            .consumer
            .group_metadata()
            .ok_or_else(|| KitError::new("the consumer has no group metadata"))?;
        self.producer
            .send_offsets_to_transaction(&offsets, &metadata, ANSWER_TIMEOUT)
            .doing(|| "cannot send offsets".to_owned())?;
        self.producer.commit_transaction(ANSWER_TIMEOUT).doing(|| "cannot commit".to_owned())
    }
}

fn pass_on(
    producer: &ThreadedProducer<Deliveries>,
    topic: &str,
    message: &BorrowedMessage<'_>,
) -> Result<()> {
    let mut record = BaseRecord::<[u8], [u8]>::to(topic).partition(message.partition());
    record.key = message.key();
    record.payload = message.payload();
    record.timestamp = message.timestamp().to_millis();
    record.headers = message.headers().filter(|h| h.count() > 0).map(|h| h.detach());
    producer
        .send(record)
        .map_err(|(error, _)| KitError::new(format!("cannot send to {topic}: {error}")))
}

/// Counts deliveries; shared with the client's thread.
#[derive(Default)]
struct Deliveries {
    delivered: AtomicU64,
    awaited: AtomicU64,
    failed: AtomicBool,
    drained: (Mutex<()>, Condvar),
}

impl Deliveries {
    /// Waits until so many records were delivered, ever.
    fn drain(&self, records: u64) -> Result<()> {
        // A wake-up that comes between the look and the wait is made good by this.
        const WAIT: Duration = Duration::from_millis(2);
        self.awaited.store(records, Ordering::SeqCst);
        let mut held = self.drained.0.lock().unwrap_or_else(PoisonError::into_inner);
        while self.delivered.load(Ordering::SeqCst) < records {
            held =
                self.drained.1.wait_timeout(held, WAIT).unwrap_or_else(PoisonError::into_inner).0;
        }
        if self.failed.load(Ordering::SeqCst) {
            return Err(KitError::new("a record was not delivered"));
        }
        Ok(())
    }
}

impl ClientContext for Deliveries {}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if result.is_err() {
            self.failed.store(true, Ordering::SeqCst);
        }
        let delivered = self.delivered.fetch_add(1, Ordering::SeqCst) + 1;
        if delivered == self.awaited.load(Ordering::SeqCst) {
            self.drained.1.notify_one();
        }
    }
}
