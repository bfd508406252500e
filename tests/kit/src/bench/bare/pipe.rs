//! One worker of the bare pipe: its clients and its transactions.
//! Must not be in here: who else works, and which partitions are whose.

use std::sync::Arc;
use std::time::{Duration, Instant};

use oncegate::check::RouteFacts;
use oncegate::kafka::config::{consumer_config, producer_config};
use oncegate::settings::{BatchSettings, ClientProperties, RouteSettings};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::producer::{BaseRecord, Producer, ThreadedProducer};
use rdkafka::{Offset, TopicPartitionList};

use super::ANSWER_TIMEOUT;
use super::deliveries::Deliveries;
use super::membership::{Member, Settling};
use crate::error::{Doing, KitError, Result};

/// One worker: a consumer, a producer, and the transaction under way.
pub(super) struct Pipe {
    consumer: BaseConsumer<Member>,
    settling: Arc<Settling>,
    worker: usize,
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
    /// The worker of this number, as a member of the route's group.
    pub(super) fn new(
        kafka: &ClientProperties,
        route: &RouteSettings,
        facts: &RouteFacts,
        (worker, settling): (usize, &Arc<Settling>),
    ) -> Result<Pipe> {
        let id = format!("bare-{worker}");
        let producer: ThreadedProducer<Deliveries> =
            producer_config(kafka, route, &id, facts.limits)
                .create_with_context(Deliveries::default())
                .doing(|| "cannot make the producer".to_owned())?;
        producer
            .init_transactions(ANSWER_TIMEOUT)
            .doing(|| "cannot initialise transactions".to_owned())?;
        let consumer: BaseConsumer<Member> = consumer_config(kafka, route, &id)
            // Oncegate begins at an offset of its own choice; the pipe has none.
            .set("auto.offset.reset", "earliest")
            .create_with_context(Member::new(settling))
            .doing(|| "cannot make the consumer".to_owned())?;
        consumer.subscribe(&[&route.raw]).doing(|| "cannot subscribe".to_owned())?;
        Ok(Pipe {
            consumer,
            settling: Arc::clone(settling),
            worker,
            producer,
            from: route.raw.clone(),
            to: route.clean.clone(),
            batch: route.batch,
            next: vec![None; facts.raw_partitions as usize],
            sent: 0,
        })
    }

    /// Waits until the partitions are shared out, then copies until it fails.
    pub(super) fn run(mut self) -> Result<()> {
        self.settling.wait(self.worker, &self.consumer)?;
        loop {
            self.transaction()?;
        }
    }

    /// Waits for a first record, and passes on what comes until the batch is full or old.
    fn transaction(&mut self) -> Result<()> {
        let wait = Duration::from_millis(self.batch.wait_ms);
        let mut began: Option<Instant> = None;
        let (mut records, mut bytes) = (0, 0);
        while records < self.batch.records && bytes < self.batch.bytes {
            let left = began.map_or(wait, |began| wait.saturating_sub(began.elapsed()));
            if left.is_zero() {
                break;
            }
            match self.consumer.poll(left) {
                Some(Ok(message)) => {
                    if began.is_none() {
                        self.producer.begin_transaction().doing(|| "cannot begin".to_owned())?;
                        began = Some(Instant::now());
                    }
                    pass_on(&self.producer, &self.to, &message)?;
                    self.next[message.partition() as usize] = Some(message.offset() + 1);
                    records += 1;
                    bytes += message.key_len() + message.payload_len();
                }
                Some(Err(KafkaError::PartitionEOF(_))) | None => {}
                Some(Err(error)) => return Err(KitError::new(format!("cannot read: {error}"))),
            }
        }
        self.settling.still_holds()?;
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
