//! Appends records to a topic, each batch in a transaction of its own: for acts of a person.
//! Must not be in here: the gate's own outputs, or offsets.

use super::config::appender_config;
use crate::gate::Header;
use crate::settings::ClientProperties;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Header as NativeHeader, Message, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, ThreadedProducer};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a batch may take in all.
const PATIENCE: Duration = Duration::from_secs(60);
const QUEUE_FULL_WAIT: Duration = Duration::from_millis(5);

/// A record to append.
#[derive(Clone, Copy, Debug)]
pub struct AppendRecord<'a> {
    /// Partition.
    pub partition: i32,
    /// Key.
    pub key: Option<&'a [u8]>,
    /// Value.
    pub payload: Option<&'a [u8]>,
    /// Headers in order; names are UTF-8.
    pub headers: &'a [Header<'a>],
}

/// What became of the records of a batch, by their place in it.
#[derive(Default)]
struct Deliveries(Mutex<Vec<Option<Result<i64, String>>>>);

impl Deliveries {
    fn lock(&self) -> MutexGuard<'_, Vec<Option<Result<i64, String>>>> {
        // Answers are plain values, each set in one go.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientContext for Deliveries {
    fn log(&self, level: RDKafkaLogLevel, fac: &str, message: &str) {
        super::log_line(level, fac, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(target: "librdkafka", "{error}: {reason}");
    }
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, nth: usize) {
        let answer = match result {
            Ok(message) => Ok(message.offset()),
            Err((error, _)) => Err(error.to_string()),
        };
        if let Some(place) = self.lock().get_mut(nth) {
            *place = Some(answer);
        }
    }
}

/// Appends batches of records.
pub struct Appender {
    producer: ThreadedProducer<Deliveries>,
}

impl Appender {
    /// Connects under a transactional id, which ends whatever an earlier holder of it left open.
    ///
    /// # Errors
    /// For the operator.
    pub fn connect(properties: &ClientProperties, id: &str) -> Result<Appender, String> {
        let words = |error: KafkaError| properties.scrub(&error.to_string());
        let producer: ThreadedProducer<Deliveries> = appender_config(properties, id, PATIENCE)
            .create_with_context(Deliveries::default())
            .map_err(words)?;
        producer.init_transactions(PATIENCE).map_err(words)?;
        Ok(Appender { producer })
    }

    /// Appends records in one transaction: all of them, or none. Gives their offsets in order.
    ///
    /// # Errors
    /// For the operator; then nothing of this batch is visible, except where the outcome of the
    /// commit itself is unknown, which the message says.
    pub fn append(&self, topic: &str, records: &[AppendRecord<'_>]) -> Result<Vec<i64>, String> {
        let begun = self.producer.begin_transaction();
        begun.map_err(|error| format!("cannot begin a transaction: {error}"))?;
        match self.send(topic, records) {
            Ok(offsets) => {
                self.commit()?;
                Ok(offsets)
            }
            Err(why) => {
                let aborted = self.producer.abort_transaction(PATIENCE);
                let aborted =
                    aborted.map_or_else(|error| format!(" ({error})"), |()| String::new());
                Err(format!("{why}; the batch was taken back{aborted}"))
            }
        }
    }

    fn send(&self, topic: &str, records: &[AppendRecord<'_>]) -> Result<Vec<i64>, String> {
        let until = Instant::now() + PATIENCE;
        *self.producer.context().lock() = vec![None; records.len()];
        for (nth, record) in records.iter().enumerate() {
            self.send_one(topic, nth, record, until)?;
        }
        self.producer.flush(PATIENCE).map_err(|error| format!("not all was delivered: {error}"))?;
        let answers = self.producer.context().lock();
        (answers.iter().zip(records))
            .map(|(answer, record)| match answer {
                Some(Ok(offset)) => Ok(*offset),
                Some(Err(why)) => Err(format!("{topic}/{}: {why}", record.partition)),
                None => Err(format!("{topic}/{}: a delivery was not reported", record.partition)),
            })
            .collect()
    }

    fn send_one(
        &self,
        topic: &str,
        nth: usize,
        record: &AppendRecord<'_>,
        until: Instant,
    ) -> Result<(), String> {
        let headers = OwnedHeaders::new_with_capacity(record.headers.len());
        let headers = record.headers.iter().fold(headers, |headers, header| {
            let key = String::from_utf8_lossy(header.name);
            headers.insert(NativeHeader { key: &key, value: header.value })
        });
        loop {
            let mut output = BaseRecord::<[u8], [u8], usize>::with_opaque_to(topic, nth)
                .partition(record.partition)
                .headers(headers.clone());
            output.key = record.key;
            output.payload = record.payload;
            match self.producer.send(output) {
                Ok(()) => return Ok(()),
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _))
                    if Instant::now() < until =>
                {
                    std::thread::sleep(QUEUE_FULL_WAIT);
                }
                Err((error, _)) => return Err(format!("{topic}/{}: {error}", record.partition)),
            }
        }
    }

    fn commit(&self) -> Result<(), String> {
        let until = Instant::now() + PATIENCE;
        loop {
            let error = match self.producer.commit_transaction(PATIENCE) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            match &error {
                KafkaError::Transaction(native) if native.is_retriable() => {
                    if Instant::now() >= until {
                        return Err(format!(
                            "the commit was not answered ({error}): whether the batch is visible is unknown; look before you do it again"
                        ));
                    }
                }
                KafkaError::Transaction(native) if native.txn_requires_abort() => {
                    let _ = self.producer.abort_transaction(PATIENCE);
                    return Err(format!("the batch was not committed: {error}"));
                }
                _ => return Err(format!("whether the batch is visible is unknown: {error}")),
            }
        }
    }
}
