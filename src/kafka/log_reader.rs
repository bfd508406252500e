//! [`Logs`] over librdkafka: consumers that are assigned one partition at an explicit offset.
//! Must not be in here: a subscription, a commit, or a write.

use super::config::{log_observer_config, log_reader_config};
use super::describe::describe_topics;
use super::logs::{LogBounds, LogError, LogReader, Logs, Step};
use super::member::{headers_of, raw_record};
use super::reader::QuietContext;
use super::witnesses::Committed;
use crate::gate::RawRecord;
use crate::settings::ClientProperties;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::{Offset, TopicPartitionList};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long one question may take.
const SLICE: Duration = Duration::from_secs(2);
/// Between two looks at the position while no record comes.
const POLL: Duration = Duration::from_millis(50);
/// Idle consumers that are kept for the next partition.
const IDLE_MAX: usize = 4;

type Client = BaseConsumer<QuietContext>;

/// A consumer and the partitions that it has read: given one of them again, it might tell the
/// position of its first reading.
struct Reader {
    consumer: Client,
    used: Vec<(String, i32)>,
}

/// The production [`Logs`].
pub struct KafkaLogs {
    config: ClientConfig,
    /// Reads committed records only: its end of a log is the stable one.
    asker: Client,
    /// Sees what a `read_uncommitted` client sees.
    observer: Client,
    idle: Rc<RefCell<Vec<Reader>>>,
    group_id: String,
}

impl KafkaLogs {
    /// Creates the clients that ask. The group is named for its committed offsets and for the
    /// rights of its readers; it is never joined.
    ///
    /// # Errors
    /// The client's words where a configuration is not one that a client can be made of.
    pub fn connect(properties: &ClientProperties, group_id: &str) -> Result<KafkaLogs, String> {
        let config = log_reader_config(properties, group_id);
        let create = |config: &ClientConfig| {
            config
                .create_with_context(QuietContext)
                .map_err(|error: KafkaError| properties.scrub(&error.to_string()))
        };
        Ok(KafkaLogs {
            asker: create(&config)?,
            observer: create(&log_observer_config(properties, group_id))?,
            config,
            idle: Rc::default(),
            group_id: group_id.to_owned(),
        })
    }

    /// An idle reader that has not read this partition, or a new one.
    fn reader(&self, place: &(String, i32)) -> Result<Reader, LogError> {
        let mut idle = self.idle.borrow_mut();
        if let Some(nth) = idle.iter().position(|reader| !reader.used.contains(place)) {
            return Ok(idle.swap_remove(nth));
        }
        let consumer = self
            .config
            .create_with_context(QuietContext)
            .map_err(|error: KafkaError| LogError::Failed(error.to_string()))?;
        Ok(Reader { consumer, used: Vec::new() })
    }
}

impl Logs for KafkaLogs {
    fn partitions(&mut self, topic: &str) -> Result<i32, LogError> {
        let metadata = self.observer.fetch_metadata(Some(topic), SLICE).map_err(not_yet)?;
        let Some(found) = metadata.topics().iter().find(|found| found.name() == topic) else {
            return Err(LogError::NotYet("the topic is not told of".into()));
        };
        match found.error().map(RDKafkaErrorCode::from) {
            None if found.partitions().is_empty() => Err(LogError::NoTopic(topic.to_owned())),
            None => Ok(i32::try_from(found.partitions().len()).unwrap_or(i32::MAX)),
            Some(
                RDKafkaErrorCode::UnknownTopicOrPartition
                | RDKafkaErrorCode::UnknownTopic
                | RDKafkaErrorCode::TopicAuthorizationFailed,
            ) => Err(LogError::NoTopic(topic.to_owned())),
            Some(code) => Err(LogError::NotYet(code.to_string())),
        }
    }

    fn topic_id(&mut self, topic: &str) -> Result<Option<String>, LogError> {
        let not_yet = |code: RDKafkaErrorCode| LogError::NotYet(code.to_string());
        let described =
            describe_topics(self.observer.client(), &[topic], SLICE).map_err(not_yet)?;
        let Some(described) = described.into_iter().next() else {
            return Err(LogError::NotYet("the topic is not told of".into()));
        };
        match described.answer {
            Ok(found) => Ok(found.id.map(|id| id.as_str().to_owned())),
            Err(
                RDKafkaErrorCode::UnknownTopicOrPartition
                | RDKafkaErrorCode::UnknownTopic
                | RDKafkaErrorCode::TopicAuthorizationFailed,
            ) => Err(LogError::NoTopic(topic.to_owned())),
            Err(code) => Err(not_yet(code)),
        }
    }

    fn bounds(&mut self, topic: &str, partition: i32) -> Result<LogBounds, LogError> {
        // The stable end first: asked for later, it could lie beyond the end.
        let (_, stable) = self.asker.fetch_watermarks(topic, partition, SLICE).map_err(not_yet)?;
        let (low, high) =
            self.observer.fetch_watermarks(topic, partition, SLICE).map_err(not_yet)?;
        Ok(LogBounds { low, stable, high })
    }

    fn committed(&mut self, topic: &str, partition: i32) -> Result<Option<Committed>, LogError> {
        let mut list = TopicPartitionList::with_capacity(1);
        list.add_partition(topic, partition);
        let answer = self
            .asker
            .committed_offsets(list, SLICE)
            .map_err(|error| LogError::NotYet(told(&error, &self.group_id)))?;
        let Some(element) = answer.find_partition(topic, partition) else {
            return Err(LogError::NotYet("not answered".into()));
        };
        element.error().map_err(|error| LogError::NotYet(told(&error, &self.group_id)))?;
        Ok(match element.offset() {
            Offset::Offset(offset) => {
                Some(Committed { offset, metadata: element.metadata().to_owned() })
            }
            _ => None,
        })
    }

    fn open(
        &mut self,
        topic: &str,
        partition: i32,
        from: i64,
        until: i64,
    ) -> Result<Box<dyn LogReader>, LogError> {
        let failed = |error: KafkaError| LogError::Failed(error.to_string());
        let mut reader = self.reader(&(topic.to_owned(), partition))?;
        reader.used.push((topic.to_owned(), partition));
        let mut list = TopicPartitionList::with_capacity(1);
        list.add_partition_offset(topic, partition, Offset::Offset(from)).map_err(failed)?;
        reader.consumer.assign(&list).map_err(failed)?;
        Ok(Box::new(PartitionReader {
            reader: Some(reader),
            idle: self.idle.clone(),
            group_id: self.group_id.clone(),
            topic: topic.to_owned(),
            partition,
            next: from,
            until,
        }))
    }
}

struct PartitionReader {
    /// `None` once it has failed: its partition is dead to it.
    reader: Option<Reader>,
    idle: Rc<RefCell<Vec<Reader>>>,
    group_id: String,
    topic: String,
    partition: i32,
    next: i64,
    until: i64,
}

impl LogReader for PartitionReader {
    fn read(
        &mut self,
        wait_ms: u64,
        records_max: usize,
        sink: &mut dyn FnMut(&RawRecord<'_>),
    ) -> Result<Step, LogError> {
        let Some(Reader { consumer, .. }) = &self.reader else {
            return Err(LogError::Failed(format!(
                "{}/{}: reading has failed before",
                self.topic, self.partition
            )));
        };
        let (began, wait) = (Instant::now(), Duration::from_millis(wait_ms));
        let (mut shown, mut trouble) = (0, None);
        while self.next < self.until && shown < records_max && began.elapsed() < wait {
            match consumer.poll(POLL) {
                Some(Ok(message)) if message.offset() >= self.until => self.next = self.until,
                Some(Ok(message)) => {
                    // A record delivered twice is shown once.
                    if message.offset() >= self.next {
                        let headers = headers_of(&message);
                        sink(&raw_record(&message, &headers));
                        self.next = message.offset() + 1;
                        shown += 1;
                    }
                }
                // Under read_committed this end is the stable one, which may come before `until`.
                None | Some(Err(KafkaError::PartitionEOF(_))) => {
                    let position = position(consumer, &self.topic, self.partition);
                    self.next = self.next.max(position.unwrap_or(self.next));
                    if shown > 0 {
                        break;
                    }
                }
                Some(Err(error)) => match lasting(&error) {
                    None => trouble = Some(error.to_string()),
                    Some(code) => {
                        let (topic, partition) = (self.topic.clone(), self.partition);
                        self.reader = None;
                        return Err(match code {
                            Lasting::NotInLog => {
                                LogError::NotInLog { topic, partition, offset: self.next }
                            }
                            Lasting::Other => {
                                let told = told(&error, &self.group_id);
                                LogError::Failed(format!("{topic}/{partition}: {told}"))
                            }
                        });
                    }
                },
            }
        }
        Ok(Step { next: self.next, trouble })
    }
}

impl Drop for PartitionReader {
    fn drop(&mut self) {
        if let Some(reader) = self.reader.take()
            && self.idle.borrow().len() < IDLE_MAX
            && reader.consumer.unassign().is_ok()
        {
            self.idle.borrow_mut().push(reader);
        }
    }
}

/// The reader's own position, which passes markers and aborted records.
fn position(consumer: &Client, topic: &str, partition: i32) -> Option<i64> {
    let positions = consumer.position().ok()?;
    match positions.find_partition(topic, partition)?.offset() {
        Offset::Offset(offset) => Some(offset),
        _ => None,
    }
}

enum Lasting {
    NotInLog,
    Other,
}

/// Whether an error lasts; the client goes on by itself after the others.
fn lasting(error: &KafkaError) -> Option<Lasting> {
    use RDKafkaErrorCode as Code;
    match error.rdkafka_error_code() {
        Some(Code::AutoOffsetReset | Code::OffsetOutOfRange) => Some(Lasting::NotInLog),
        Some(
            Code::TopicAuthorizationFailed
            | Code::GroupAuthorizationFailed
            | Code::Authentication
            | Code::SaslAuthenticationFailed
            | Code::BadMessage
            | Code::InvalidMessage
            | Code::BadCompression,
        ) => Some(Lasting::Other),
        _ if matches!(error, KafkaError::MessageConsumptionFatal(_)) => Some(Lasting::Other),
        _ => None,
    }
}

/// The client's words; for a right that is missing, which.
fn told(error: &KafkaError, group_id: &str) -> String {
    match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::GroupAuthorizationFailed) => {
            format!("{error}; allow DESCRIBE on the group {group_id} (docs/security.md)")
        }
        _ => error.to_string(),
    }
}

fn not_yet(error: KafkaError) -> LogError {
    LogError::NotYet(error.to_string())
}
