//! What happens to a worker and matters to those who run it. One value is both the line in the log
//! and what is counted of it, so that the two cannot disagree.
//! Must not be in here: how it is counted, or what a worker decides.

use super::observer::CommittedBatch;
use super::refusal::Refusal;
use crate::named::named;
use std::fmt::Display;

named! {
    /// How a transaction ended that was not committed.
    pub enum NotCommitted {
        /// Aborted; what it held is sent again.
        Aborted = "aborted",
        /// It could not begin: the producer was not initialised.
        Init = "init",
        /// Aborted, since the consumer is no longer a member.
        Membership = "membership",
        /// Aborted, since the broker refused a record.
        Record = "record",
        /// Aborted, since a log lost its tail.
        Tail = "tail",
        /// Aborted, since a topic is another than before.
        Topics = "topics",
        /// Nobody knows.
        Unknown = "unknown",
    }
}

impl NotCommitted {
    fn message(self) -> &'static str {
        match self {
            NotCommitted::Aborted => "a transaction was aborted",
            NotCommitted::Init => {
                "the transactional producer cannot be initialised, which is tried again"
            }
            NotCommitted::Membership => "the membership was lost: the batch is dropped",
            NotCommitted::Record => "the batch was aborted because a record was refused",
            NotCommitted::Tail => "the batch was aborted because a log lost its tail",
            NotCommitted::Topics => "the batch was aborted because a topic is another than before",
            NotCommitted::Unknown => {
                "the outcome of a transaction is unknown: new producer, and every partition is \
                 taken over anew"
            }
        }
    }
}

/// Where a takeover ended.
#[derive(Clone, Copy, Debug)]
pub struct TakeoverEnd {
    /// Raw partition.
    pub partition: i32,
    /// The source offset that is read first.
    pub offset: i64,
    /// Whether what follows was decided before.
    pub replay: bool,
    /// Journal entries that were read into the store.
    pub entries: u64,
    /// Sightings of them.
    pub sightings: u64,
}

/// What happened to a worker.
pub enum WorkerEvent<'a> {
    /// Partitions were assigned.
    Assigned(&'a [i32]),
    /// Partitions were taken away.
    Revoked(&'a [i32]),
    /// A store is level with its journal, and where to go on is known.
    TakenOver(TakeoverEnd),
    /// A partition that was assigned or given up runs.
    Running {
        /// Raw partition.
        partition: i32,
        /// Since it was assigned or given up.
        milliseconds: u64,
    },
    /// Partitions are not served until an answer to what is wrong is given.
    Refused(i32, &'a Refusal),
    /// What is known of partitions no longer stands: they are taken over anew.
    GivenUp {
        /// Raw partitions.
        partitions: &'a [i32],
        /// What happened.
        why: &'a dyn Display,
    },
    /// A transaction was committed.
    Committed(CommittedBatch<'a>),
    /// A transaction was not committed.
    NotCommitted {
        /// Its outcome.
        how: NotCommitted,
        /// Raw records in it.
        records: usize,
        /// What happened.
        why: &'a dyn Display,
    },
    /// A producer or a member was fenced, or is of no more use.
    Fenced(&'a dyn Display),
}

impl WorkerEvent<'_> {
    /// Writes the event's line.
    pub fn log(&self, route: &str, topic: &str) {
        match self {
            WorkerEvent::Assigned(partitions) => {
                tracing::info!(route, ?partitions, "partitions assigned");
            }
            WorkerEvent::Revoked(partitions) => {
                tracing::info!(route, ?partitions, "partitions revoked");
            }
            WorkerEvent::TakenOver(TakeoverEnd {
                partition,
                offset,
                replay,
                entries,
                sightings,
            }) => {
                tracing::info!(
                    route,
                    topic,
                    partition,
                    offset,
                    replay,
                    entries,
                    sightings,
                    "taken over"
                );
            }
            WorkerEvent::Running { partition, milliseconds } => {
                tracing::info!(route, partition, milliseconds, "running");
            }
            WorkerEvent::Refused(partition, Refusal { cause, message }) => {
                let cause = cause.as_str();
                tracing::error!(route, topic, partition, cause, "refused: {message}");
            }
            WorkerEvent::GivenUp { partitions, why } => {
                tracing::warn!(route, topic, ?partitions, "taking over anew: {why}");
            }
            WorkerEvent::Committed(CommittedBatch { records, transaction_micros, .. }) => {
                tracing::debug!(route, records, transaction_micros, "committed");
            }
            WorkerEvent::NotCommitted { how, records, why } => {
                let outcome = how.as_str();
                tracing::warn!(route, outcome, records, "{} ({why})", how.message());
            }
            WorkerEvent::Fenced(why) => tracing::warn!(route, "a client is of no more use: {why}"),
        }
    }
}
