//! The consumer of a worker: a member of the route's group.
//!
//! Rebalance callbacks run inside its poll. They assign at an explicit offset, paused, and are
//! noted; the worker hears of them before any record that was polled after them. Must not be in
//! here: a commit of offsets, which only a transaction makes.

use super::broker::{BrokerFigures, ConsumeError, Membership, Polled};
use super::statistics::brokers_of;
use super::upstream::{Stand, Upstream};
use crate::gate::{Header, RawRecord, RecordTimestamp};
use rdkafka::bindings as rd;
use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, RebalanceProtocol};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Message, Timestamp};
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{Offset, Statistics, TopicPartitionList};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::CStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a seek may take before the partition is assigned anew instead.
const SEEK_WAIT: Duration = Duration::from_secs(5);

#[derive(Debug)]
enum Noted {
    Assigned(Vec<i32>),
    Revoked(Vec<i32>),
}

/// Notes what the callbacks say.
#[derive(Default)]
pub struct MemberContext {
    noted: Mutex<VecDeque<Noted>>,
    upstream: Mutex<Upstream>,
    heard: Mutex<Heard>,
}

/// What the client's statistics last said.
#[derive(Default)]
struct Heard {
    /// Where the log of each assigned partition ends.
    ends: BTreeMap<i32, i64>,
    brokers: Vec<BrokerFigures>,
}

impl MemberContext {
    fn note(&self, noted: Noted) {
        // A panic elsewhere cannot leave a queue of plain values half-changed.
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).push_back(noted);
    }

    fn next(&self) -> Option<Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

impl ClientContext for MemberContext {
    fn log(&self, level: RDKafkaLogLevel, fac: &str, message: &str) {
        super::log_line(level, fac, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(target: "librdkafka", "{error}: {reason}");
    }

    fn stats(&self, statistics: Statistics) {
        let assigned = (statistics.topics.values()).flat_map(|read| read.partitions.values());
        let ends = assigned.filter(|of| of.partition >= 0 && of.hi_offset >= 0);
        let heard = Heard {
            ends: ends.map(|of| (of.partition, of.hi_offset)).collect(),
            brokers: brokers_of(&statistics),
        };
        // Replaced whole.
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = heard;
        for (topic, read) in &statistics.topics {
            let stands: Vec<Stand> = (read.partitions.values())
                .map(|of| Stand {
                    partition: of.partition,
                    next: of.next_offset,
                    stable: of.ls_offset,
                    high: of.hi_offset,
                })
                .collect();
            // What is known of partitions is replaced whole.
            let mut upstream = self.upstream.lock().unwrap_or_else(PoisonError::into_inner);
            for Stand { partition, stable, high, .. } in upstream.note(&stands, Instant::now()) {
                tracing::warn!(
                    topic,
                    partition,
                    behind = high - stable,
                    "partition {partition} waits at offset {stable}, its log ends at {high}: a transaction of a producer of this topic is open there and does not end. It ends by its own time-out, or by `kafka-transactions.sh abort`"
                );
            }
        }
    }
}

impl ConsumerContext for MemberContext {
    fn rebalance(
        &self,
        consumer: &BaseConsumer<Self>,
        err: RDKafkaRespErr,
        partitions: &mut TopicPartitionList,
    ) {
        let numbers: Vec<i32> =
            partitions.elements().iter().map(|element| element.partition()).collect();
        let cooperative = matches!(consumer.rebalance_protocol(), RebalanceProtocol::Cooperative);
        let assigning = err == RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
        let result = if assigning {
            assign_paused(consumer, partitions, cooperative)
        } else if cooperative {
            consumer.incremental_unassign(partitions)
        } else {
            consumer.unassign()
        };
        if let Err(error) = result {
            // The partitions then stay with the client unread, and the takeover will say so.
            tracing::error!(partitions = ?numbers, "rebalance: {error}");
        }
        self.note(if assigning { Noted::Assigned(numbers) } else { Noted::Revoked(numbers) });
    }
}

/// With an explicit offset a later seek works; paused, nothing comes before the takeover ended.
fn assign_paused(
    consumer: &BaseConsumer<MemberContext>,
    partitions: &mut TopicPartitionList,
    cooperative: bool,
) -> KafkaResult<()> {
    partitions.set_all_offsets(Offset::Offset(0))?;
    if cooperative {
        consumer.incremental_assign(partitions)?;
    } else {
        consumer.assign(partitions)?;
    }
    consumer.pause(partitions)
}

/// A member of the group, subscribed to the raw topic.
pub struct Member {
    consumer: BaseConsumer<MemberContext>,
    topic: String,
}

impl Member {
    /// Creates the consumer and subscribes.
    ///
    /// # Errors
    /// The configuration is not one that a client can be made of.
    pub fn subscribe(config: &ClientConfig, topic: &str) -> KafkaResult<Member> {
        let consumer: BaseConsumer<MemberContext> =
            config.create_with_context(MemberContext::default())?;
        consumer.subscribe(&[topic])?;
        Ok(Member { consumer, topic: topic.to_owned() })
    }

    /// See [`super::broker::Broker::poll`].
    pub fn poll(&self, wait_ms: u64, records_max: usize, sink: &mut dyn FnMut(Polled<'_>)) {
        let mut wait = Duration::from_millis(wait_ms);
        for _ in 0..records_max.max(1) {
            let polled = self.consumer.poll(wait);
            wait = Duration::ZERO;
            let rebalanced = self.hand_over(sink);
            match polled {
                Some(Ok(message)) => give_record(&message, sink),
                Some(Err(KafkaError::PartitionEOF(partition))) => self.give_end(partition, sink),
                Some(Err(error)) => {
                    sink(Polled::Failed(classify(&error)));
                    break;
                }
                None if rebalanced => {}
                None => break,
            }
        }
    }

    fn hand_over(&self, sink: &mut dyn FnMut(Polled<'_>)) -> bool {
        let mut any = false;
        while let Some(noted) = self.consumer.context().next() {
            any = true;
            match &noted {
                Noted::Assigned(partitions) => sink(Polled::Assigned(partitions)),
                Noted::Revoked(partitions) => sink(Polled::Revoked(partitions)),
            }
        }
        any
    }

    fn give_end(&self, partition: i32, sink: &mut dyn FnMut(Polled<'_>)) {
        // The list must not outlive this call: one held while the consumer is dropped hangs it.
        let Ok(positions) = self.consumer.position() else { return };
        let found = positions.find_partition(&self.topic, partition).map(|e| e.offset());
        if let Some(Offset::Offset(next)) = found {
            sink(Polled::End { partition, next });
        }
    }

    /// See [`super::broker::Broker::membership`].
    pub fn membership(&self) -> Membership {
        let assignment_lost = self.consumer.assignment_lost();
        match GroupMetadata::of(self) {
            Some(metadata) => Membership {
                generation: metadata.generation(),
                member_id: metadata.member_id(),
                assignment_lost,
            },
            None => Membership { generation: -1, member_id: String::new(), assignment_lost },
        }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.consumer.context().heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// See [`super::broker::Broker::raw_end`].
    pub fn raw_end(&self, partition: i32) -> Option<i64> {
        self.heard().ends.get(&partition).copied()
    }

    /// The brokers, as last heard.
    pub fn brokers(&self) -> Vec<BrokerFigures> {
        self.heard().brokers.clone()
    }

    fn list(&self, partition: i32, offset: Offset) -> KafkaResult<TopicPartitionList> {
        let mut list = TopicPartitionList::with_capacity(1);
        list.add_partition_offset(&self.topic, partition, offset)?;
        Ok(list)
    }

    /// See [`super::broker::Broker::start_at`].
    pub fn start_at(&self, partition: i32, offset: i64) -> KafkaResult<()> {
        let at = self.list(partition, Offset::Offset(offset))?;
        // The call says Ok with the error inside the element.
        let sought = self
            .consumer
            .seek_partitions(at, SEEK_WAIT)
            .and_then(|list| list.elements().iter().try_for_each(|element| element.error()));
        let at = self.list(partition, Offset::Offset(offset))?;
        if let Err(error) = sought {
            tracing::debug!(partition, offset, "seek failed ({error}), assigning anew");
            self.consumer.incremental_unassign(&at)?;
            self.consumer.incremental_assign(&at)?;
        }
        self.consumer.resume(&at)
    }

    /// See [`super::broker::Broker::pause`].
    pub fn pause(&self, partition: i32) {
        let paused =
            self.list(partition, Offset::Invalid).and_then(|list| self.consumer.pause(&list));
        if let Err(error) = paused {
            // It is not assigned any more; what may still come is dropped by the task.
            tracing::debug!(partition, "pause: {error}");
        }
    }
}

fn classify(error: &KafkaError) -> ConsumeError {
    match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::AutoOffsetReset | RDKafkaErrorCode::OffsetOutOfRange) => {
            ConsumeError::OffsetNotInLog
        }
        Some(RDKafkaErrorCode::FencedInstanceId | RDKafkaErrorCode::Fenced) => {
            ConsumeError::Fatal(error.to_string())
        }
        _ if matches!(error, KafkaError::MessageConsumptionFatal(_)) => {
            ConsumeError::Fatal(error.to_string())
        }
        Some(
            RDKafkaErrorCode::TopicAuthorizationFailed
            | RDKafkaErrorCode::BadMessage
            | RDKafkaErrorCode::InvalidMessage
            | RDKafkaErrorCode::BadCompression
            | RDKafkaErrorCode::NotImplemented
            | RDKafkaErrorCode::MessageSizeTooLarge,
        ) => ConsumeError::Lasting(error.to_string()),
        _ => ConsumeError::Transient(error.to_string()),
    }
}

fn give_record(message: &BorrowedMessage<'_>, sink: &mut dyn FnMut(Polled<'_>)) {
    let headers = headers_of(message);
    sink(Polled::Record(&raw_record(message, &headers)));
}

/// The message as the house knows records; `headers` are its own.
pub(super) fn raw_record<'m>(
    message: &'m BorrowedMessage<'_>,
    headers: &'m [Header<'m>],
) -> RawRecord<'m> {
    RawRecord {
        partition: message.partition(),
        offset: message.offset(),
        timestamp: match message.timestamp() {
            Timestamp::NotAvailable => RecordTimestamp::Absent,
            Timestamp::CreateTime(ms) => RecordTimestamp::CreateTimeMs(ms),
            Timestamp::LogAppendTime(ms) => RecordTimestamp::LogAppendTimeMs(ms),
        },
        key: message.key(),
        payload: message.payload(),
        headers,
    }
}

/// The record's headers. The safe client panics on a name that is not UTF-8, so they are read
/// from the native list.
pub(super) fn headers_of<'m>(message: &'m BorrowedMessage<'_>) -> Vec<Header<'m>> {
    let mut list = std::ptr::null_mut();
    // SAFETY: the message is live for 'm, and owns the list and all that is read from it.
    unsafe {
        let code = rd::rd_kafka_message_headers(message.ptr(), &mut list);
        if code != rd::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR || list.is_null() {
            return Vec::new();
        }
        let count = rd::rd_kafka_header_cnt(list);
        let mut headers = Vec::with_capacity(count);
        for nth in 0..count {
            let (mut name, mut value, mut size) = (std::ptr::null(), std::ptr::null(), 0);
            rd::rd_kafka_header_get_all(list, nth, &mut name, &mut value, &mut size);
            if name.is_null() {
                break;
            }
            headers.push(Header {
                name: CStr::from_ptr(name).to_bytes(),
                value: (!value.is_null())
                    .then(|| std::slice::from_raw_parts(value.cast::<u8>(), size)),
            });
        }
        headers
    }
}

/// Group metadata as it is now; the safe type hides generation and member.
pub struct GroupMetadata(std::ptr::NonNull<rd::rd_kafka_consumer_group_metadata_t>);

impl GroupMetadata {
    /// Asks a member for it.
    pub fn of(member: &Member) -> Option<GroupMetadata> {
        // SAFETY: the handle is live as long as the member.
        let metadata =
            unsafe { rd::rd_kafka_consumer_group_metadata(member.consumer.client().native_ptr()) };
        std::ptr::NonNull::new(metadata).map(GroupMetadata)
    }

    /// Generation; below 0 before the first join.
    pub fn generation(&self) -> i32 {
        // SAFETY: live until `Drop`.
        unsafe { rd::rd_kafka_consumer_group_metadata_generation_id(self.0.as_ptr()) }
    }

    /// Member id.
    pub fn member_id(&self) -> String {
        // SAFETY: live until `Drop`, which also owns the text.
        unsafe {
            let text = rd::rd_kafka_consumer_group_metadata_member_id(self.0.as_ptr());
            if text.is_null() {
                return String::new();
            }
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }

    /// The native object, live as long as this.
    pub fn ptr(&self) -> *const rd::rd_kafka_consumer_group_metadata_t {
        self.0.as_ptr()
    }
}

impl Drop for GroupMetadata {
    fn drop(&mut self) {
        // SAFETY: made by `rd_kafka_consumer_group_metadata`, destroyed once.
        unsafe { rd::rd_kafka_consumer_group_metadata_destroy(self.0.as_ptr()) };
    }
}
