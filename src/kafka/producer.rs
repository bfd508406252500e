//! The transactional producer of a worker.
//!
//! Must not be in here: what a failed step means for a batch; this only classifies it.

use super::RouteTopics;
use super::broker::{
    Delivered, DrainError, SendError, SourceOffset, TopicIds, TxnError, TxnErrorClass,
};
use super::deliveries::{Deliveries, delivery_error, opaque};
use super::describe::DescribeRequest;
use super::discard::discard;
use super::member::{GroupMetadata, Member};
use super::offsets_call::{OffsetsCall, STEP};
use super::outlet::Outlet;
use crate::gate::OutputRecord;
use crate::journal::CommitAcknowledged;
use rdkafka::bindings as rd;
use rdkafka::config::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{Producer, ThreadedProducer};
use rdkafka::{Offset, TopicPartitionList};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// How long the cluster may take to tell the topics' ids.
const TOPIC_IDS_WAIT: Duration = Duration::from_secs(10);

/// A producer whose transactions were initialised.
pub struct TransactionalProducer {
    // Both are dropped before the producer, on whose handle they are.
    topic_ids: Option<DescribeRequest>,
    outlet: Outlet,
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
        let context = Deliveries::new(straggler_signs);
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
        Ok(TransactionalProducer {
            topic_ids: None,
            outlet: Outlet::default(),
            offsets_call,
            producer,
            topics,
            transaction: 0,
            sent: 0,
        })
    }

    /// Records that waited in the client when it last told its statistics.
    pub fn queued(&self) -> u64 {
        self.producer.context().queued()
    }

    /// See [`super::broker::Broker::begin`].
    pub fn begin(&mut self) -> Result<(), TxnError> {
        self.producer.begin_transaction().map_err(|error| txn_error("begin", &error))?;
        self.transaction += 1;
        self.sent = 0;
        self.producer.context().begin(self.transaction);
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
        let opaque = opaque(self.transaction, record.target);
        match self.outlet.send(self.producer.client(), topic, record, opaque) {
            Ok(()) => {
                self.sent += 1;
                Ok(())
            }
            Err(RDKafkaErrorCode::QueueFull) => Err(SendError::QueueFull),
            Err(code) => {
                let error = KafkaError::MessageProduction(code);
                Err(SendError::Refused(delivery_error(&error, record.target, record.partition)))
            }
        }
    }

    /// See [`super::broker::Broker::drain`].
    pub fn drain(&mut self, wait_ms: u64) -> Result<Delivered, DrainError> {
        self.producer.context().drain(self.sent, Duration::from_millis(wait_ms))
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
