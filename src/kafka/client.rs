//! [`Broker`] over librdkafka: the member and the producer of one worker.
//! Must not be in here: anything that the trait's text does not ask for.

use super::RouteTopics;
use super::broker::{
    Broker, ClientFigures, Delivered, DrainError, Membership, Polled, SendError, SourceOffset,
    Stopwatch, TopicIds, TxnError, TxnErrorClass,
};
use super::discard::discard;
use super::member::Member;
use super::producer::TransactionalProducer;
use crate::gate::OutputRecord;
use crate::journal::CommitAcknowledged;
use rdkafka::config::ClientConfig;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The production [`Broker`].
pub struct KafkaBroker {
    producer: Option<TransactionalProducer>,
    member: Member,
    producer_config: ClientConfig,
    topics: RouteTopics,
    straggler_signs: Arc<AtomicU64>,
    started: Instant,
}

impl KafkaBroker {
    /// Creates the consumer and subscribes it to the raw topic; the producer comes with
    /// [`Broker::renew_producer`].
    ///
    /// # Errors
    /// The client's words where the configuration is not one that a client can be made of.
    pub fn subscribe(
        consumer_config: &ClientConfig,
        producer_config: ClientConfig,
        topics: RouteTopics,
    ) -> Result<KafkaBroker, String> {
        let member =
            Member::subscribe(consumer_config, &topics.raw).map_err(|error| error.to_string())?;
        Ok(KafkaBroker {
            producer: None,
            member,
            producer_config,
            topics,
            straggler_signs: Arc::default(),
            started: Instant::now(),
        })
    }

    fn producer(&mut self, step: &'static str) -> Result<&mut TransactionalProducer, TxnError> {
        self.producer.as_mut().ok_or_else(|| TxnError {
            class: TxnErrorClass::Fatal,
            step,
            message: "there is no producer".into(),
        })
    }
}

impl Broker for KafkaBroker {
    fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    fn poll(&mut self, wait_ms: u64, records_max: usize, sink: &mut dyn FnMut(Polled<'_>)) {
        self.member.poll(wait_ms, records_max, sink);
    }

    fn membership(&self) -> Membership {
        self.member.membership()
    }

    fn start_at(&mut self, partition: i32, offset: i64) -> Result<(), String> {
        self.member.start_at(partition, offset).map_err(|error| error.to_string())
    }

    fn pause(&mut self, partition: i32) {
        self.member.pause(partition);
    }

    fn renew_producer(&mut self, wait_ms: u64) -> Result<(), TxnError> {
        // Two producers of one id at a time would only confuse the client's own log.
        if let Some(producer) = self.producer.take() {
            discard("producer", producer);
        }
        let signs = self.straggler_signs.clone();
        let topics = self.topics.clone();
        let producer = TransactionalProducer::init(&self.producer_config, topics, signs, wait_ms)?;
        self.producer = Some(producer);
        Ok(())
    }

    fn begin(&mut self) -> Result<(), TxnError> {
        self.producer("begin")?.begin()
    }

    fn send(&mut self, record: &OutputRecord<'_>) -> Result<(), SendError> {
        match &mut self.producer {
            Some(producer) => producer.send(record),
            // `begin` has failed before this could be asked.
            None => Err(SendError::QueueFull),
        }
    }

    fn drain(&mut self, wait_ms: u64) -> Result<Delivered, DrainError> {
        match &mut self.producer {
            Some(producer) => producer.drain(wait_ms),
            None => Err(DrainError::TimedOut),
        }
    }

    fn topic_ids(&mut self, wait_ms: u64) -> Result<TopicIds, TxnError> {
        self.producer("topic ids")?.topic_ids(wait_ms)
    }

    fn send_offsets(&mut self, offsets: &[SourceOffset], wait_ms: u64) -> Result<(), TxnError> {
        match &mut self.producer {
            Some(producer) => producer.send_offsets(&self.member, offsets, wait_ms),
            None => self.producer("send offsets").map(|_| ()),
        }
    }

    fn commit(&mut self, wait_ms: u64) -> Result<CommitAcknowledged, TxnError> {
        self.producer("commit")?.commit(wait_ms)
    }

    fn abort(&mut self, wait_ms: u64) -> Result<(), TxnError> {
        self.producer("abort")?.abort(wait_ms)
    }

    fn straggler_signs(&self) -> u64 {
        self.straggler_signs.load(Ordering::Relaxed)
    }

    fn stopwatch(&self) -> Stopwatch {
        Stopwatch::started()
    }

    fn raw_end(&self, partition: i32) -> Option<i64> {
        self.member.raw_end(partition)
    }

    fn figures(&self) -> ClientFigures {
        ClientFigures {
            brokers: self.member.brokers(),
            queued: self.producer.as_ref().map_or(0, TransactionalProducer::queued),
        }
    }
}
