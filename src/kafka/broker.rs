//! What a worker asks of a Kafka cluster: one consumer of a group, one transactional producer.
//!
//! The worker is a state machine that is stepped over this trait, so that a simulation can drive
//! the very same code. Must not be in here: any type of a client library.

use crate::gate::{OutputRecord, RawRecord, Target};
use crate::journal::CommitAcknowledged;
use std::time::Instant;

/// What a poll brought.
#[derive(Debug)]
pub enum Polled<'a> {
    /// A record of the raw topic.
    Record(&'a RawRecord<'a>),
    /// A partition was read to its end; the next offset, if the client knows it. Aborted records
    /// and markers lie below it without ever being delivered.
    End {
        /// Partition.
        partition: i32,
        /// The next offset to read.
        next: i64,
    },
    /// Partitions were assigned; they are paused until [`Broker::start_at`].
    Assigned(&'a [i32]),
    /// Partitions were taken away.
    Revoked(&'a [i32]),
    /// The consumer cannot read on.
    Failed(ConsumeError),
}

/// Why a consumer cannot read on, by what is to be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConsumeError {
    /// An offset asked for is not in the log. The client does not say of which partition: all
    /// that run have to be taken over anew.
    #[error("the next offset of a partition is not in the log")]
    OffsetNotInLog,
    /// The client will retry by itself.
    #[error("{0}")]
    Transient(String),
    /// So it will, but in vain until somebody does something, and it says so only once.
    #[error("{0}")]
    Lasting(String),
    /// The member was fenced or the client gave up: a new client is needed.
    #[error("{0}")]
    Fatal(String),
}

/// Who the consumer is in its group, as the coordinator last said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Generation; below 0 before the first join.
    pub generation: i32,
    /// Member id; empty after the membership was lost.
    pub member_id: String,
    /// Whether the client itself knows that its assignment is lost.
    pub assignment_lost: bool,
}

impl Membership {
    /// Whether a commit under this membership would be fenced by the coordinator. With a negative
    /// generation and an empty member id it skips the check, and the commit would be unfenced.
    pub fn is_fencing(&self) -> bool {
        self.generation >= 0 && !self.member_id.is_empty() && !self.assignment_lost
    }
}

/// What a failed step of a transaction asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxnErrorClass {
    /// The same call again.
    Retriable,
    /// Abort; the batch may be sent again while its incarnations are in force.
    Abort,
    /// Abort and drop the batch: the membership is lost, so ownership is unknown.
    Membership,
    /// The producer is dead and the outcome unknown.
    Fatal,
}

/// A failed step of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{step}: {message}")]
pub struct TxnError {
    /// What to do.
    pub class: TxnErrorClass,
    /// Which call.
    pub step: &'static str,
    /// The client's words.
    pub message: String,
}

/// A record that was not taken into the transaction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The client's queue is full: wait and send again.
    #[error("the producer's queue is full")]
    QueueFull,
    /// The client refuses it. The transaction would commit without it: abort.
    #[error("{0}")]
    Refused(DeliveryError),
}

/// Why a record was not delivered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{target:?} partition {partition}: {message}")]
pub struct DeliveryError {
    /// Topic.
    pub target: Target,
    /// Partition.
    pub partition: i32,
    /// What is wrong with it.
    pub cause: DeliveryCause,
    /// The client's words.
    pub message: String,
}

/// What is wrong with a record that was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryCause {
    /// The topic or client takes no record of this size.
    TooLarge,
    /// The topic takes no record with this timestamp.
    Timestamp,
    /// The topic refuses the record for another reason of its own.
    Invalid,
    /// Nothing is known to be wrong with the record.
    Other,
}

/// Where the records of a drained transaction stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// By topic and partition: the lowest and the highest offset.
    pub ranges: std::collections::BTreeMap<(Target, i32), (i64, i64)>,
}

/// A drain that did not end well.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DrainError {
    /// The time given was too short.
    #[error("deliveries are still under way")]
    TimedOut,
    /// Some records were not delivered; the first of them.
    #[error("{0}")]
    Failed(DeliveryError),
}

/// A source offset that a transaction commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceOffset {
    /// Raw partition.
    pub partition: i32,
    /// The next offset to read.
    pub offset: i64,
    /// Metadata that names the journal entry.
    pub metadata: String,
}

/// What the identity of the route's topics was found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicIds {
    /// Id of the raw topic.
    pub raw: String,
    /// Id of the journal topic.
    pub journal: String,
    /// Number of raw partitions.
    pub raw_partitions: i32,
}

/// Measures how long something takes; decides nothing.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Option<Instant>);

impl Stopwatch {
    /// One that runs.
    pub fn started() -> Stopwatch {
        Stopwatch(Some(Instant::now()))
    }

    /// One that stands at 0, for a simulation.
    pub const STANDING: Stopwatch = Stopwatch(None);

    /// Microseconds since it was started.
    pub fn micros(&self) -> u64 {
        self.nanos() / 1_000
    }

    /// Nanoseconds since it was started.
    pub fn nanos(&self) -> u64 {
        self.0.map_or(0, |started| started.elapsed().as_nanos() as u64)
    }
}

/// What the clients last said of themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientFigures {
    /// Brokers that the consumer has or had a connection to.
    pub brokers: Vec<BrokerFigures>,
    /// Records that wait in the producer.
    pub queued: u64,
}

/// A broker, as a client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokerFigures {
    /// Its id.
    pub id: i32,
    /// Whether a connection stands.
    pub up: bool,
    /// 99th percentile of the time between request and answer lately, in microseconds.
    pub round_trip_micros: u64,
}

/// One consumer and one transactional producer. Every call blocks at most for the time it is
/// given (in milliseconds), plus what the client needs to return.
pub trait Broker {
    /// Milliseconds of a clock that only goes forward.
    fn now_ms(&self) -> u64;

    /// Waits up to `wait_ms` for something, then gives it and up to `records_max` records that
    /// are there already to `sink`. Assignments and revocations come before the records that
    /// were polled after them.
    fn poll(&mut self, wait_ms: u64, records_max: usize, sink: &mut dyn FnMut(Polled<'_>));

    /// Who the consumer is, asked afresh.
    fn membership(&self) -> Membership;

    /// Reads a partition from this offset on: seek, then resume.
    ///
    /// # Errors
    /// The partition is not assigned any more, or the client cannot seek.
    fn start_at(&mut self, partition: i32, offset: i64) -> Result<(), String>;

    /// Stops delivering records of a partition.
    fn pause(&mut self, partition: i32);

    /// Leaves the old producer behind and initialises one under the same transactional id: ends
    /// whatever transaction a predecessor left and fences its late requests.
    ///
    /// # Errors
    /// [`TxnError`] of class `Retriable` or `Fatal`.
    fn renew_producer(&mut self, wait_ms: u64) -> Result<(), TxnError>;

    /// Begins a transaction, and begins to ask for the topics' ids.
    ///
    /// # Errors
    /// See [`TxnErrorClass`].
    fn begin(&mut self) -> Result<(), TxnError>;

    /// Takes a record into the transaction.
    ///
    /// # Errors
    /// [`SendError`]; after `Refused` the transaction must be aborted.
    fn send(&mut self, record: &OutputRecord<'_>) -> Result<(), SendError>;

    /// Waits until every record sent is delivered.
    ///
    /// # Errors
    /// [`DrainError`].
    fn drain(&mut self, wait_ms: u64) -> Result<Delivered, DrainError>;

    /// The topics' ids as asked for at `begin`: an answer given after the batch was polled.
    ///
    /// # Errors
    /// [`TxnError`] of class `Abort` where no answer came.
    fn topic_ids(&mut self, wait_ms: u64) -> Result<TopicIds, TxnError>;

    /// Sends the source offsets into the transaction under fresh group metadata, and refuses to
    /// where that metadata would not be fenced.
    ///
    /// # Errors
    /// See [`TxnErrorClass`].
    fn send_offsets(&mut self, offsets: &[SourceOffset], wait_ms: u64) -> Result<(), TxnError>;

    /// Commits.
    ///
    /// # Errors
    /// See [`TxnErrorClass`].
    fn commit(&mut self, wait_ms: u64) -> Result<CommitAcknowledged, TxnError>;

    /// Aborts.
    ///
    /// # Errors
    /// See [`TxnErrorClass`].
    fn abort(&mut self, wait_ms: u64) -> Result<(), TxnError>;

    /// How often the producer's connections timed out, were retried or dropped so far: signs
    /// that a late request may join the next transaction.
    fn straggler_signs(&self) -> u64;

    /// A stopwatch for figures.
    fn stopwatch(&self) -> Stopwatch {
        Stopwatch::STANDING
    }

    /// The end of a raw partition's log, as the consumer last heard; for figures.
    fn raw_end(&self, _partition: i32) -> Option<i64> {
        None
    }

    /// What the clients last said of themselves; for figures.
    fn figures(&self) -> ClientFigures {
        ClientFigures::default()
    }
}
