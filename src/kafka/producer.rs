//! The transactional producer of a worker.
//!
//! Must not be in here: what a failed step means for a batch; this only classifies it.

use super::RouteTopics;
use super::broker::{
    Delivered, DeliveryCause, DeliveryError, DrainError, SendError, SourceOffset, TopicIds,
    TxnError, TxnErrorClass,
};
use super::describe::DescribeRequest;
use super::discard::discard;
use super::member::{GroupMetadata, Member};
use super::offsets_call::{OffsetsCall, STEP};
use crate::gate::{OutputRecord, Target};
use crate::journal::CommitAcknowledged;
use rdkafka::bindings as rd;
use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Header, Message, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, ThreadedProducer};
use rdkafka::{Offset, Statistics, TopicPartitionList};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the cluster may take to tell the topics' ids.
const TOPIC_IDS_WAIT: Duration = Duration::from_secs(10);

/// What the delivery reports of the transaction under way have said.
#[derive(Default)]
struct Reports {
    /// Which transaction: reports of an earlier one may come late and are not counted.
    transaction: usize,
    reported: u64,
    delivered: Delivered,
    first_error: Option<DeliveryError>,
    /// Whether the client threw that record away because of something else.
    is_purged: bool,
    /// Why the coordinator did not take a partition into the transaction. All records are purged
    /// then, and their own errors name no cause.
    not_added: Option<String>,
}

/// Counts deliveries and signs of stragglers; shared with the client's threads.
#[derive(Default)]
pub struct Deliveries {
    reports: Mutex<Reports>,
    /// Woken at the report that the drain waits for.
    drained: Condvar,
    awaited: AtomicU64,
    straggler_signs: Arc<AtomicU64>,
    /// Records that waited in the client when it last told its statistics.
    queued: AtomicU64,
}

const TARGETS: [Target; 4] = [Target::Clean, Target::Quarantine, Target::Audit, Target::Journal];

/// Transaction and target of a record, as the client hands it back with the report.
fn opaque(transaction: usize, target: Target) -> usize {
    transaction * TARGETS.len() + target as usize
}

impl Deliveries {
    fn lock(&self) -> MutexGuard<'_, Reports> {
        // Reports are plain values, each changed in one go.
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientContext for Deliveries {
    fn log(&self, level: RDKafkaLogLevel, fac: &str, message: &str) {
        if is_straggler_sign(fac, message) {
            self.straggler_signs.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(why) = not_added(fac, message) {
            self.lock().not_added.get_or_insert_with(|| why.to_owned());
        }
        super::log_line(level, fac, message);
    }

    fn stats(&self, statistics: Statistics) {
        self.queued.store(statistics.msg_cnt, Ordering::Relaxed);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.straggler_signs.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(target: "librdkafka", "{error}: {reason}");
    }
}

/// The cause, where a line of the client's log says that a partition was not taken into the
/// transaction. Of the partitions that were asked for together with it another line says only
/// that they were not attempted.
fn not_added<'m>(fac: &str, message: &'m str) -> Option<&'m str> {
    let is_cause = fac == "ADDPARTS" && !message.contains("Operation not attempted");
    let cause = message.split_once("Failed to add partition").filter(|_| is_cause);
    cause.map(|(thread, _)| &message[thread.len()..])
}

/// Whether a line of the client's log says that a request may come late: it timed out, or the
/// connection that it was sent on is gone. The line is written before the request is sent again.
fn is_straggler_sign(fac: &str, message: &str) -> bool {
    match fac {
        "REQTMOUT" => true,
        "STATE" => message.contains(" changed state UP -> "),
        _ => false,
    }
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, opaque: usize) {
        let (transaction, target) = (opaque / TARGETS.len(), TARGETS[opaque % TARGETS.len()]);
        let mut reports = self.lock();
        if reports.transaction != transaction {
            return;
        }
        reports.reported += 1;
        match result {
            Ok(message) => {
                let offset = message.offset();
                let range = reports
                    .delivered
                    .ranges
                    .entry((target, message.partition()))
                    .or_insert((offset, offset));
                *range = (range.0.min(offset), range.1.max(offset));
            }
            Err((error, message)) => {
                if reports.first_error.is_none() {
                    reports.is_purged = matches!(
                        error.rdkafka_error_code(),
                        Some(RDKafkaErrorCode::PurgeQueue | RDKafkaErrorCode::PurgeInflight)
                    );
                    reports.first_error = Some(delivery_error(error, target, message.partition()));
                }
            }
        }
        if reports.reported >= self.awaited.load(Ordering::Acquire) {
            self.drained.notify_one();
        }
    }
}

fn delivery_error(error: &KafkaError, target: Target, partition: i32) -> DeliveryError {
    let cause = match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::MessageSizeTooLarge | RDKafkaErrorCode::MessageBatchTooLarge) => {
            DeliveryCause::TooLarge
        }
        Some(RDKafkaErrorCode::InvalidTimestamp) => DeliveryCause::Timestamp,
        // The last one is told of the records that shared a batch with the culprit.
        Some(
            RDKafkaErrorCode::InvalidRecord
            | RDKafkaErrorCode::PolicyViolation
            | RDKafkaErrorCode::InvalidDifferentRecord,
        ) => DeliveryCause::Invalid,
        _ => DeliveryCause::Other,
    };
    DeliveryError { target, partition, cause, message: error.to_string() }
}

/// A producer whose transactions were initialised.
pub struct TransactionalProducer {
    // Dropped before the producer, on whose handle it is.
    topic_ids: Option<DescribeRequest>,
    offsets_call: OffsetsCall,
    producer: Arc<ThreadedProducer<Deliveries>>,
    topics: RouteTopics,
    transaction: usize,
    sent: u64,
}

impl TransactionalProducer {
    /// Creates a client and initialises its transactions. `transactions_before` keeps the
    /// reports of producers of one worker apart; signs of stragglers go to `straggler_signs`.
    ///
    /// # Errors
    /// [`TxnError`] of class `Retriable` or `Fatal`.
    pub fn init(
        config: &ClientConfig,
        topics: RouteTopics,
        straggler_signs: Arc<AtomicU64>,
        wait_ms: u64,
    ) -> Result<TransactionalProducer, TxnError> {
        let context = Deliveries { straggler_signs, ..Deliveries::default() };
        let producer: ThreadedProducer<Deliveries> = config
            .create_with_context(context)
            .map_err(|error| txn_error("create producer", &error))?;
        if let Err(error) = producer.init_transactions(Duration::from_millis(wait_ms)) {
            discard("producer", producer);
            let mut told = txn_error("init transactions", &error);
            let denied = RDKafkaErrorCode::TransactionalIdAuthorizationFailed;
            if let (Some(code), Some(id)) =
                (error.rdkafka_error_code(), config.get("transactional.id"))
                && code == denied
            {
                told.message.push_str(&format!(
                    "; allow WRITE and DESCRIBE on the transactional id {id} (docs/security.md)"
                ));
            }
            return Err(told);
        }
        let producer = Arc::new(producer);
        let offsets_call = OffsetsCall::spawn(Arc::clone(&producer)).map_err(|error| TxnError {
            class: TxnErrorClass::Fatal,
            step: "create producer",
            message: error.to_string(),
        })?;
        let (topic_ids, transaction, sent) = (None, 0, 0);
        Ok(TransactionalProducer { topic_ids, offsets_call, producer, topics, transaction, sent })
    }

    /// Records that waited in the client when it last told its statistics.
    pub fn queued(&self) -> u64 {
        self.producer.context().queued.load(Ordering::Relaxed)
    }

    /// See [`super::broker::Broker::begin`].
    pub fn begin(&mut self) -> Result<(), TxnError> {
        self.producer.begin_transaction().map_err(|error| txn_error("begin", &error))?;
        self.transaction += 1;
        self.sent = 0;
        let deliveries = self.producer.context();
        deliveries.awaited.store(u64::MAX, Ordering::Release);
        *deliveries.lock() = Reports { transaction: self.transaction, ..Reports::default() };
        self.ask_topic_ids();
        Ok(())
    }

    fn ask_topic_ids(&mut self) {
        let names = [self.topics.raw.as_str(), self.topics.journal.as_str()];
        // SAFETY: the request is dropped before the producer: by order of the fields.
        let request =
            unsafe { DescribeRequest::send(self.producer.client(), &names, TOPIC_IDS_WAIT) };
        self.topic_ids = request.ok();
    }

    /// See [`super::broker::Broker::topic_ids`].
    pub fn topic_ids(&mut self, wait_ms: u64) -> Result<TopicIds, TxnError> {
        let error = |class, message: &str| TxnError {
            class,
            step: "topic ids",
            message: message.to_owned(),
        };
        let Some(request) = &self.topic_ids else {
            return Err(error(TxnErrorClass::Abort, "they could not be asked for"));
        };
        let described = match request.receive(Duration::from_millis(wait_ms)) {
            Ok(None) => {
                // The broker that was asked may be gone: the next may be another.
                self.ask_topic_ids();
                return Err(error(TxnErrorClass::Retriable, "no answer yet"));
            }
            Ok(Some(described)) => Ok(described),
            Err(code) => Err(code.to_string()),
        };
        self.topic_ids = None;
        described
            .and_then(|described| super::topic_ids_of(&self.topics, &described))
            .map_err(|message| error(TxnErrorClass::Abort, &message))
    }

    /// See [`super::broker::Broker::send`].
    pub fn send(&mut self, record: &OutputRecord<'_>) -> Result<(), SendError> {
        let topic = self.topics.name(record.target);
        let mut output = BaseRecord::<[u8], [u8], usize>::with_opaque_to(
            topic,
            opaque(self.transaction, record.target),
        )
        .partition(record.partition);
        output.key = record.key;
        output.payload = record.payload;
        output.timestamp = record.timestamp_ms;
        if !record.headers.is_empty() {
            output.headers = Some(native_headers(record));
        }
        match self.producer.send(output) {
            Ok(()) => {
                self.sent += 1;
                Ok(())
            }
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => {
                Err(SendError::QueueFull)
            }
            Err((error, _)) => {
                Err(SendError::Refused(delivery_error(&error, record.target, record.partition)))
            }
        }
    }

    /// See [`super::broker::Broker::drain`].
    pub fn drain(&mut self, wait_ms: u64) -> Result<Delivered, DrainError> {
        let deliveries = self.producer.context();
        deliveries.awaited.store(self.sent, Ordering::Release);
        let until = Instant::now() + Duration::from_millis(wait_ms);
        let mut reports = deliveries.lock();
        while reports.reported < self.sent && reports.first_error.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(DrainError::TimedOut);
            }
            reports = deliveries
                .drained
                .wait_timeout(reports, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        match &reports.first_error {
            Some(error) => {
                let purged = reports.not_added.clone().filter(|_| reports.is_purged);
                let message = purged.unwrap_or_else(|| error.message.clone());
                Err(DrainError::Failed(DeliveryError { message, ..error.clone() }))
            }
            None => Ok(reports.delivered.clone()),
        }
    }

    /// See [`super::broker::Broker::send_offsets`].
    pub fn send_offsets(
        &mut self,
        member: &Member,
        offsets: &[SourceOffset],
        wait_ms: u64,
    ) -> Result<(), TxnError> {
        let refuse = |message: &str| TxnError {
            class: TxnErrorClass::Membership,
            step: STEP,
            message: message.into(),
        };
        if !member.membership().is_fencing() {
            return Err(refuse(
                "the consumer is no member of its group, so that the commit would not be fenced",
            ));
        }
        let list = offset_list(&self.topics.raw, offsets).map_err(|e| txn_error(STEP, &e))?;
        let metadata = GroupMetadata::of(member).ok_or_else(|| refuse("no group metadata"))?;
        if metadata.generation() < 0 || metadata.member_id().is_empty() {
            return Err(refuse("the membership was lost just now"));
        }
        self.offsets_call.send(list, metadata, wait_ms)
    }

    /// See [`super::broker::Broker::commit`].
    pub fn commit(&mut self, wait_ms: u64) -> Result<CommitAcknowledged, TxnError> {
        match self.producer.commit_transaction(Duration::from_millis(wait_ms)) {
            Ok(()) => Ok(CommitAcknowledged::by_broker()),
            Err(error) => Err(txn_error("commit", &error)),
        }
    }

    /// See [`super::broker::Broker::abort`].
    pub fn abort(&mut self, wait_ms: u64) -> Result<(), TxnError> {
        self.topic_ids = None;
        self.producer
            .abort_transaction(Duration::from_millis(wait_ms))
            .map_err(|error| txn_error("abort", &error))
    }
}

pub(super) fn millis(ms: u64) -> i32 {
    i32::try_from(ms).unwrap_or(i32::MAX)
}

fn native_headers(record: &OutputRecord<'_>) -> OwnedHeaders {
    let headers = OwnedHeaders::new_with_capacity(record.headers.len());
    record.headers.iter().fold(headers, |headers, header| {
        // The renderer writes no name that is not UTF-8.
        let key = std::str::from_utf8(header.name).unwrap_or_default();
        headers.insert(Header { key, value: header.value })
    })
}

fn offset_list(
    topic: &str,
    offsets: &[SourceOffset],
) -> rdkafka::error::KafkaResult<TopicPartitionList> {
    let mut list = TopicPartitionList::with_capacity(offsets.len());
    for offset in offsets {
        let mut element = list.add_partition(topic, offset.partition);
        element.set_offset(Offset::Offset(offset.offset))?;
        element.set_metadata(&offset.metadata);
    }
    Ok(list)
}

/// An error of a transactional call, owned.
pub(super) struct NativeError;

impl NativeError {
    /// Takes an error over; none is what the client gives for success.
    pub fn check(step: &'static str, error: *mut rd::rd_kafka_error_t) -> Result<(), TxnError> {
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: the error is live until it is destroyed at the end, once.
        unsafe {
            let flags = Flags {
                code: rd::rd_kafka_error_code(error).into(),
                fatal: rd::rd_kafka_error_is_fatal(error) != 0,
                retriable: rd::rd_kafka_error_is_retriable(error) != 0,
                requires_abort: rd::rd_kafka_error_txn_requires_abort(error) != 0,
            };
            let text = std::ffi::CStr::from_ptr(rd::rd_kafka_error_string(error));
            let message = text.to_string_lossy().into_owned();
            rd::rd_kafka_error_destroy(error);
            Err(TxnError { class: flags.class(), step, message })
        }
    }
}

/// What the client says of an error.
#[derive(Clone, Copy, Debug)]
struct Flags {
    code: RDKafkaErrorCode,
    fatal: bool,
    retriable: bool,
    requires_abort: bool,
}

impl Flags {
    fn class(self) -> TxnErrorClass {
        use RDKafkaErrorCode as Code;
        match self.code {
            // Comes with requires-abort and not as fatal from TxnOffsetCommit, and is fatal.
            Code::Fenced | Code::ProducerFenced | Code::InvalidProducerEpoch => {
                TxnErrorClass::Fatal
            }
            _ if self.fatal => TxnErrorClass::Fatal,
            Code::IllegalGeneration
            | Code::UnknownMemberId
            | Code::StaleMemberEpoch
            | Code::FencedMemberEpoch
            | Code::FencedInstanceId
            | Code::RebalanceInProgress => TxnErrorClass::Membership,
            _ if self.retriable => TxnErrorClass::Retriable,
            _ if self.requires_abort => TxnErrorClass::Abort,
            // A call in a state that does not allow it: our view of the producer is wrong.
            _ => TxnErrorClass::Fatal,
        }
    }
}

fn txn_error(step: &'static str, error: &KafkaError) -> TxnError {
    let class = match error {
        KafkaError::Transaction(native) => Flags {
            code: native.code(),
            fatal: native.is_fatal(),
            retriable: native.is_retriable(),
            requires_abort: native.txn_requires_abort(),
        }
        .class(),
        KafkaError::Flush(RDKafkaErrorCode::OperationTimedOut) => TxnErrorClass::Retriable,
        KafkaError::Flush(_) => TxnErrorClass::Abort,
        _ => TxnErrorClass::Fatal,
    };
    TxnError { class, step, message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_a_partition_that_was_not_added_is_found_among_those_not_attempted() {
        let line = |why| {
            format!(
                "[thrd:main]: Failed to add partition \"clean\" [0] to transaction: Broker: {why}"
            )
        };
        let refused = line("Topic authorization failed");
        let found = not_added("ADDPARTS", &refused);
        assert!(found.is_some_and(|why| why.starts_with("Failed to add partition \"clean\" [0]")));
        assert_eq!(not_added("ADDPARTS", &line("Operation not attempted")), None);
        assert_eq!(not_added("TXNERR", &refused), None);
    }

    #[test]
    fn a_connection_that_ends_is_a_sign_and_one_that_was_never_there_is_none() {
        let state = |message| is_straggler_sign("STATE", message);
        assert!(state("127.0.0.1:9092/1: Broker changed state UP -> DOWN"));
        assert!(state("TxnCoordinator/3: Broker changed state UP -> DOWN"));
        assert!(!state("127.0.0.1:9092/1: Broker changed state CONNECT -> DOWN"));
        assert!(!state("127.0.0.1:9092/1: Broker changed state APIVERSION_QUERY -> UP"));
        assert!(is_straggler_sign("REQTMOUT", "Timed out 1 in-flight requests"));
        assert!(!is_straggler_sign("FAIL", "Connect to 127.0.0.1:9092 failed"));
    }
}
