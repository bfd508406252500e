//! [`Witnesses`] over librdkafka: committed offsets, watermarks, topic ids, the journal's records.
//! Must not be in here: a subscription, a commit, or a write.

use super::RouteTopics;
use super::broker::TopicIds;
use super::describe::describe_topics;
use super::discard::leave;
use super::witnesses::{Committed, Log, Watermarks, WitnessError, Witnesses};
use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::{Offset, TopicPartitionList};
use sha2::{Digest, Sha256};
use std::time::{Duration, Instant};

/// The header in which a gate's record names its group and route.
const ROUTE_HEADER: &str = "oncegate-route";
/// How long one question may take.
const SLICE: Duration = Duration::from_secs(1);

/// Logs like every other client.
pub struct QuietContext;

impl ClientContext for QuietContext {
    fn log(&self, level: RDKafkaLogLevel, fac: &str, message: &str) {
        super::log_line(level, fac, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(target: "librdkafka", "{error}: {reason}");
    }
}

impl ConsumerContext for QuietContext {}

/// The production [`Witnesses`].
pub struct KafkaWitnesses {
    /// Of the group, but never joins it; reads committed records only.
    asker: BaseConsumer<QuietContext>,
    /// Sees what a `read_uncommitted` client sees.
    observer: BaseConsumer<QuietContext>,
    /// Reads the journal.
    journal: Reader,
    /// Reads the ends of all logs: apart, since a reader reads no partition a second time.
    prober: Reader,
    topics: RouteTopics,
}

/// Reads a log's committed records.
struct Reader {
    consumer: BaseConsumer<QuietContext>,
    config: ClientConfig,
    /// What it has read: given one of them again at another offset, it might tell the position of
    /// its first reading.
    used: Vec<(Log, i32)>,
    /// Topics of which it knows the leaders. Of others it asks only once a second.
    known: Vec<Log>,
    /// Log and partition that it is assigned, and the offset it goes on from.
    at: Option<(Log, i32, i64)>,
}

impl KafkaWitnesses {
    /// Creates the three clients.
    ///
    /// # Errors
    /// The client's words where a configuration is not one that a client can be made of.
    pub fn connect(
        asker: &ClientConfig,
        observer: &ClientConfig,
        reader: &ClientConfig,
        topics: RouteTopics,
    ) -> Result<KafkaWitnesses, String> {
        let create = |config: &ClientConfig| {
            config.create_with_context(QuietContext).map_err(|error: KafkaError| error.to_string())
        };
        Ok(KafkaWitnesses {
            asker: create(asker)?,
            observer: create(observer)?,
            journal: Reader::new(reader)?,
            prober: Reader::new(reader)?,
            topics,
        })
    }
}

/// The topic that a log is.
fn topic_of(topics: &RouteTopics, log: Log) -> &str {
    match log {
        Log::Raw => &topics.raw,
        Log::Clean => &topics.clean,
        Log::Quarantine => &topics.quarantine,
        Log::Journal => &topics.journal,
    }
}

impl Reader {
    fn new(config: &ClientConfig) -> Result<Reader, String> {
        let consumer = config
            .create_with_context(QuietContext)
            .map_err(|error: KafkaError| error.to_string())?;
        Ok(Reader {
            consumer,
            config: config.clone(),
            used: Vec::new(),
            known: Vec::new(),
            at: None,
        })
    }

    fn place(
        &mut self,
        topic: &str,
        (log, partition): (Log, i32),
        from: i64,
    ) -> Result<(), KafkaError> {
        if self.at == Some((log, partition, from)) {
            return Ok(());
        }
        self.at = None;
        if self.used.contains(&(log, partition)) {
            let next = self.config.create_with_context(QuietContext)?;
            leave(std::mem::replace(&mut self.consumer, next));
            self.used.clear();
            self.known.clear();
        }
        if !self.known.contains(&log) {
            self.consumer.fetch_metadata(Some(topic), SLICE)?;
            self.known.push(log);
        }
        self.used.push((log, partition));
        let mut list = TopicPartitionList::with_capacity(1);
        list.add_partition_offset(topic, partition, Offset::Offset(from))?;
        self.consumer.assign(&list)?;
        self.at = Some((log, partition, from));
        Ok(())
    }

    /// The reader's own position, which passes markers and aborted records.
    fn position(&self, topic: &str, partition: i32) -> Option<i64> {
        let positions = self.consumer.position().ok()?;
        match positions.find_partition(topic, partition)?.offset() {
            Offset::Offset(offset) => Some(offset),
            _ => None,
        }
    }

    /// Reads committed records of a log in `[from, until)` for about a second at most; returns
    /// the offset to go on from.
    fn read(
        &mut self,
        topic: &str,
        (log, partition): (Log, i32),
        (from, until): (i64, i64),
        sink: &mut dyn FnMut(&BorrowedMessage<'_>),
    ) -> Result<i64, WitnessError> {
        self.place(topic, (log, partition), from).map_err(not_yet("records"))?;
        let began = Instant::now();
        let mut next = from;
        let mut beyond = false;
        while next < until && began.elapsed() < SLICE {
            match self.consumer.poll(Duration::from_millis(50)) {
                // Of an earlier assignment.
                Some(Ok(message))
                    if message.topic() != topic || message.partition() != partition => {}
                Some(Ok(message)) if message.offset() < until => {
                    if message.offset() >= next {
                        sink(&message);
                        next = message.offset() + 1;
                    }
                }
                // It is not for this call; the next one is not to miss it.
                Some(Ok(_)) => {
                    next = until;
                    beyond = true;
                }
                None | Some(Err(KafkaError::PartitionEOF(_))) => {
                    next = next.max(self.position(topic, partition).unwrap_or(next));
                }
                Some(Err(error)) => {
                    self.at = None;
                    return Err(match error.rdkafka_error_code() {
                        Some(
                            RDKafkaErrorCode::AutoOffsetReset | RDKafkaErrorCode::OffsetOutOfRange,
                        ) => WitnessError::OffsetNotInLog { log, partition, offset: next },
                        _ => not_yet("records")(error),
                    });
                }
            }
        }
        self.at = (!beyond).then_some((log, partition, next));
        Ok(next)
    }
}

/// As `Collected::record_hash` makes it.
fn hash_of(message: &BorrowedMessage<'_>) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in [message.key(), message.payload()] {
        hasher.update(part.map_or(-1, |bytes| bytes.len() as i64).to_be_bytes());
        hasher.update(part.unwrap_or_default());
    }
    hasher.finalize().into()
}

fn not_yet(what: &'static str) -> impl Fn(KafkaError) -> WitnessError {
    move |error| WitnessError::NotYet { what, message: error.to_string() }
}

impl Witnesses for KafkaWitnesses {
    fn committed(&mut self, partition: i32) -> Result<Option<Committed>, WitnessError> {
        const WHAT: &str = "committed offset";
        let mut list = TopicPartitionList::with_capacity(1);
        list.add_partition(&self.topics.raw, partition);
        let answer = self.asker.committed_offsets(list, SLICE).map_err(not_yet(WHAT))?;
        let Some(element) = answer.find_partition(&self.topics.raw, partition) else {
            return Err(WitnessError::NotYet { what: WHAT, message: "not answered".into() });
        };
        element.error().map_err(not_yet(WHAT))?;
        Ok(match element.offset() {
            Offset::Offset(offset) => {
                Some(Committed { offset, metadata: element.metadata().to_owned() })
            }
            _ => None,
        })
    }

    fn watermarks(&mut self, log: Log, partition: i32) -> Result<Watermarks, WitnessError> {
        let topic = topic_of(&self.topics, log);
        match self.observer.fetch_watermarks(topic, partition, SLICE) {
            Ok((low, high)) => Ok(Watermarks { low, high }),
            Err(error) => {
                // The client would go on asking the leader that it remembers.
                let _ = self.observer.fetch_metadata(Some(topic), SLICE);
                Err(not_yet("watermarks")(error))
            }
        }
    }

    fn record_hash(
        &mut self,
        log: Log,
        partition: i32,
        offset: i64,
    ) -> Result<Option<[u8; 32]>, WitnessError> {
        let mut found = None;
        let topic = topic_of(&self.topics, log);
        let range = (offset, offset + 1);
        let next = self.prober.read(topic, (log, partition), range, &mut |message| {
            found = Some(hash_of(message));
        })?;
        if next <= offset {
            let message = format!("offset {offset} of {log:?} was not given");
            return Err(WitnessError::NotYet { what: "a log's last record", message });
        }
        Ok(found)
    }

    fn topic_ids(&mut self) -> Result<TopicIds, WitnessError> {
        let error = |message| WitnessError::NotYet { what: "topic ids", message };
        let names = [self.topics.raw.as_str(), self.topics.journal.as_str()];
        let described = describe_topics(self.observer.client(), &names, SLICE)
            .map_err(|code| error(code.to_string()))?;
        super::topic_ids_of(&self.topics, &described).map_err(error)
    }

    fn read_journal(
        &mut self,
        partition: i32,
        from: i64,
        until: i64,
        sink: &mut dyn FnMut(i64, &[u8]),
    ) -> Result<i64, WitnessError> {
        let topic = topic_of(&self.topics, Log::Journal);
        self.journal.read(topic, (Log::Journal, partition), (from, until), &mut |message| {
            sink(message.offset(), message.payload().unwrap_or_default());
        })
    }

    fn read_routes(
        &mut self,
        log: Log,
        partition: i32,
        from: i64,
        until: i64,
        sink: &mut dyn FnMut(i64, Option<&str>),
    ) -> Result<i64, WitnessError> {
        let topic = topic_of(&self.topics, log);
        self.prober.read(topic, (log, partition), (from, until), &mut |message| {
            let route = message.headers().and_then(|headers| {
                let own = headers.iter().filter(|header| header.key == ROUTE_HEADER).last()?;
                std::str::from_utf8(own.value?).ok()
            });
            sink(message.offset(), route);
        })
    }
}
