//! [`Witnesses`] over librdkafka: committed offsets, watermarks, topic ids, the journal's records.
//! Must not be in here: a subscription, a commit, or a write.

use super::RouteTopics;
use super::broker::TopicIds;
use super::describe::describe_topics;
use super::witnesses::{Committed, Log, Watermarks, WitnessError, Witnesses};
use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::{Offset, TopicPartitionList};
use std::time::{Duration, Instant};

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
    /// Reads the journal, committed records only.
    reader: BaseConsumer<QuietContext>,
    /// Partition that the reader is assigned, and the offset it goes on from.
    reader_at: Option<(i32, i64)>,
    topics: RouteTopics,
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
            reader: create(reader)?,
            reader_at: None,
            topics,
        })
    }

    fn place_reader(&mut self, partition: i32, from: i64) -> Result<(), KafkaError> {
        if self.reader_at == Some((partition, from)) {
            return Ok(());
        }
        self.reader_at = None;
        let mut list = TopicPartitionList::with_capacity(1);
        list.add_partition_offset(&self.topics.journal, partition, Offset::Offset(from))?;
        self.reader.assign(&list)?;
        self.reader_at = Some((partition, from));
        Ok(())
    }

    /// The reader's own position, which passes markers and aborted records.
    fn position(&self, partition: i32) -> Option<i64> {
        let positions = self.reader.position().ok()?;
        match positions.find_partition(&self.topics.journal, partition)?.offset() {
            Offset::Offset(offset) => Some(offset),
            _ => None,
        }
    }
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
        let topic = match log {
            Log::Raw => &self.topics.raw,
            Log::Clean => &self.topics.clean,
            Log::Journal => &self.topics.journal,
        };
        let (low, high) = (self.observer)
            .fetch_watermarks(topic, partition, SLICE)
            .map_err(not_yet("watermarks"))?;
        Ok(Watermarks { low, high })
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
        self.place_reader(partition, from).map_err(not_yet("journal"))?;
        let began = Instant::now();
        let mut next = from;
        while next < until && began.elapsed() < SLICE {
            match self.reader.poll(Duration::from_millis(50)) {
                Some(Ok(message)) if message.offset() < until => {
                    if message.offset() >= next {
                        sink(message.offset(), message.payload().unwrap_or_default());
                        next = message.offset() + 1;
                    }
                }
                Some(Ok(_)) => next = until,
                None | Some(Err(KafkaError::PartitionEOF(_))) => {
                    next = next.max(self.position(partition).unwrap_or(next));
                }
                Some(Err(error)) => {
                    self.reader_at = None;
                    return Err(match error.rdkafka_error_code() {
                        Some(
                            RDKafkaErrorCode::AutoOffsetReset | RDKafkaErrorCode::OffsetOutOfRange,
                        ) => WitnessError::OffsetNotInLog { partition, offset: next },
                        _ => not_yet("journal")(error),
                    });
                }
            }
        }
        self.reader_at = Some((partition, next));
        Ok(next)
    }
}
