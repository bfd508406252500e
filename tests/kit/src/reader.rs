//! Reads a topic from its beginning to where it ended when the reading began: what tests assert
//! on. Committed records only, up to the end that a client sees which reads uncommitted ones;
//! stopping at the last stable offset would read too little and not say so.

use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Headers};
use rdkafka::{ClientConfig, Message, Offset, TopicPartitionList};

use crate::error::{Doing, KitError, Result};
use crate::wait::wait_for;

const ASK_TIMEOUT: Duration = Duration::from_secs(10);
/// How long no record may come before the reading is given up: a transaction that hangs ends
/// after its own time-out plus up to 10 s.
const STALL_TIMEOUT: Duration = Duration::from_secs(90);
const POLL_TIMEOUT: Duration = Duration::from_millis(50);
/// How many records come between two looks at the positions.
const LOOK_EVERY: u32 = 5_000;

/// A record that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Its partition.
    pub partition: i32,
    /// Its offset.
    pub offset: i64,
    /// Its timestamp, if it bears one.
    pub timestamp_ms: Option<i64>,
    /// Its key.
    pub key: Option<Vec<u8>>,
    /// Its value.
    pub payload: Option<Vec<u8>>,
    /// Its headers, in order.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
}

impl Record {
    /// The value of the first header with this name, as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(header, _)| header == name)?;
        std::str::from_utf8(value.as_deref()?).ok()
    }

    fn owned(message: &BorrowedMessage<'_>) -> Record {
        let headers = message.headers().map(|headers| {
            let owned = |h: rdkafka::message::Header<'_, &[u8]>| {
                (h.key.to_owned(), h.value.map(<[u8]>::to_vec))
            };
            headers.iter().map(owned).collect()
        });
        Record {
            partition: message.partition(),
            offset: message.offset(),
            timestamp_ms: message.timestamp().to_millis(),
            key: message.key().map(<[u8]>::to_vec),
            payload: message.payload().map(<[u8]>::to_vec),
            headers: headers.unwrap_or_default(),
        }
    }
}

/// All committed records of a topic, by partition.
pub fn read_topic(bootstrap: &str, topic: &str) -> Result<Vec<Vec<Record>>> {
    let ends = watermarks(bootstrap, topic)?;
    let mut records: Vec<Vec<Record>> = ends.iter().map(|_| Vec::new()).collect();
    read_to(bootstrap, topic, &ends, |message| {
        records[message.partition() as usize].push(Record::owned(message));
    })?;
    Ok(records)
}

/// Shows each committed record of a topic, in order within its partition, without keeping any.
pub fn for_each_record(
    bootstrap: &str,
    topic: &str,
    mut show: impl FnMut(&BorrowedMessage<'_>),
) -> Result<()> {
    read_to(bootstrap, topic, &watermarks(bootstrap, topic)?, |message| show(message))
}

/// How many partitions a topic has.
pub fn partition_count(bootstrap: &str, topic: &str) -> Result<usize> {
    let consumer = new_consumer(bootstrap, "oncegate-testkit", "read_uncommitted")?;
    count_partitions(&consumer, topic)
}

/// The low and high watermark of each partition, aborted and open records included.
pub fn watermarks(bootstrap: &str, topic: &str) -> Result<Vec<(i64, i64)>> {
    let consumer = new_consumer(bootstrap, "oncegate-testkit", "read_uncommitted")?;
    let partitions = count_partitions(&consumer, topic)?;
    (0..partitions as i32)
        .map(|partition| {
            consumer
                .fetch_watermarks(topic, partition, ASK_TIMEOUT)
                .doing(|| format!("cannot ask for the end of {topic}/{partition}"))
        })
        .collect()
}

/// What a group has committed for a partition: offset and metadata. Waits for transactions that
/// are about to commit one.
pub fn committed_offset(
    bootstrap: &str,
    group: &str,
    topic: &str,
    partition: i32,
) -> Result<Option<(i64, String)>> {
    let consumer = new_consumer(bootstrap, group, "read_committed")?;
    let what = format!("the offset of {group} for {topic}/{partition} is known and stable");
    wait_for(STALL_TIMEOUT, &what, || {
        let mut asked = TopicPartitionList::new();
        asked.add_partition(topic, partition);
        let answer = consumer
            .committed_offsets(asked, Duration::from_secs(5))
            .map_err(|error| error.to_string())?;
        let Some(element) = answer.find_partition(topic, partition) else {
            return Err("no answer for the partition".to_owned());
        };
        element.error().map_err(|error| error.to_string())?;
        Ok(match element.offset() {
            Offset::Offset(offset) => Some((offset, element.metadata().to_owned())),
            _ => None,
        })
    })
}

fn read_to(
    bootstrap: &str,
    topic: &str,
    ends: &[(i64, i64)],
    mut show: impl FnMut(&BorrowedMessage<'_>),
) -> Result<()> {
    let consumer = new_consumer(bootstrap, "oncegate-testkit", "read_committed")?;
    let mut open: Vec<i32> = Vec::new();
    let mut assigned = TopicPartitionList::new();
    for (partition, (low, high)) in (0..).zip(ends).filter(|(_, (low, high))| low < high) {
        let added = assigned.add_partition_offset(topic, partition, Offset::Offset(*low));
        added.doing(|| format!("cannot read {topic}/{partition} from {low} to {high}"))?;
        open.push(partition);
    }
    consumer.assign(&assigned).doing(|| format!("cannot read {topic}"))?;
    let mut last_progress = Instant::now();
    let mut since_look = 0;
    while !open.is_empty() {
        let idle = match consumer.poll(POLL_TIMEOUT) {
            Some(Ok(message)) => {
                last_progress = Instant::now();
                if message.offset() < ends[message.partition() as usize].1 {
                    show(&message);
                }
                false
            }
            // Under read_committed this is the last stable offset, which may be below the end.
            Some(Err(KafkaError::PartitionEOF(_))) | None => true,
            Some(Err(error)) if passes(&error) => true,
            Some(Err(error)) => {
                return Err(KitError::new(format!("reading {topic} failed: {error}")));
            }
        };
        since_look += 1;
        if idle || since_look >= LOOK_EVERY {
            since_look = 0;
            let positions = positions(&consumer, topic)?;
            open.retain(|partition| positions[*partition as usize] < ends[*partition as usize].1);
            if last_progress.elapsed() > STALL_TIMEOUT {
                return Err(stalled(topic, &open, &positions, ends));
            }
        }
    }
    Ok(())
}

/// All partitions of a topic, to be read from the first record on.
pub(crate) fn partitions_from_start(topic: &str, partitions: i32) -> Result<TopicPartitionList> {
    let mut list = TopicPartitionList::new();
    for partition in 0..partitions {
        list.add_partition_offset(topic, partition, Offset::Beginning)
            .doing(|| format!("cannot read {topic}/{partition}"))?;
    }
    Ok(list)
}

/// The next offset of each partition; it passes commit markers, which no message shows.
fn positions(consumer: &BaseConsumer, topic: &str) -> Result<Vec<i64>> {
    let list = consumer.position().doing(|| format!("cannot tell the position in {topic}"))?;
    let mut positions = Vec::new();
    for element in list.elements_for_topic(topic) {
        let partition = element.partition() as usize;
        positions.resize(positions.len().max(partition + 1), 0);
        if let Offset::Offset(offset) = element.offset() {
            positions[partition] = offset;
        }
    }
    Ok(positions)
}

/// Errors after which the client goes on by itself, for instance while a broker restarts.
fn passes(error: &KafkaError) -> bool {
    use RDKafkaErrorCode::{AllBrokersDown, BrokerTransportFailure, OperationTimedOut, Resolve};
    matches!(
        error,
        KafkaError::MessageConsumption(
            AllBrokersDown | BrokerTransportFailure | OperationTimedOut | Resolve
        ) | KafkaError::Global(AllBrokersDown | BrokerTransportFailure)
    )
}

fn stalled(topic: &str, open: &[i32], positions: &[i64], ends: &[(i64, i64)]) -> KitError {
    let places: Vec<String> = open
        .iter()
        .map(|p| format!("{p} at {} of {}", positions[*p as usize], ends[*p as usize].1))
        .collect();
    KitError::new(format!(
        "no record of {topic} came for {} s; partitions that are not at their end: {}. A \
         transaction may hang open there",
        STALL_TIMEOUT.as_secs(),
        places.join(", ")
    ))
}

fn count_partitions(consumer: &BaseConsumer, topic: &str) -> Result<usize> {
    let metadata = consumer
        .fetch_metadata(Some(topic), ASK_TIMEOUT)
        .doing(|| format!("cannot ask for the partitions of {topic}"))?;
    match metadata.topics().first() {
        Some(found) if found.error().is_none() && !found.partitions().is_empty() => {
            Ok(found.partitions().len())
        }
        _ => Err(KitError::new(format!("there is no topic {topic}: create it first"))),
    }
}

/// A consumer that reads on from where it is told to.
pub(crate) fn new_consumer(bootstrap: &str, group: &str, isolation: &str) -> Result<BaseConsumer> {
    ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
        .set("group.id", group)
        .set("isolation.level", isolation)
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("enable.partition.eof", "true")
        .set("auto.offset.reset", "error")
        .set("allow.auto.create.topics", "false")
        .set("fetch.wait.max.ms", "50")
        .set("fetch.queue.backoff.ms", "10")
        .set("reconnect.backoff.ms", "20")
        .set("reconnect.backoff.max.ms", "500")
        .set("check.crcs", "true")
        .create()
        .doing(|| format!("cannot make a consumer for {bootstrap}"))
}
