//! What the evidence commands ask of a cluster: logs that are read from an offset to an end.
//!
//! Must not be in here: any type of a client library, or what a record means.

use super::witnesses::Committed;
use crate::gate::RawRecord;

/// Why a log could not be asked or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// No answer yet; ask again.
    #[error("no answer yet ({0})")]
    NotYet(String),
    /// There is no such topic, or this user may not know of it.
    #[error("topic {0} is not there, or this user may not read it")]
    NoTopic(String),
    /// The log does not hold the offset that was to be read next.
    #[error(
        "{topic}/{partition}: offset {offset} is no longer in the log. Retention or a person \
         removed records while they were read: run the command again"
    )]
    NotInLog {
        /// Topic.
        topic: String,
        /// Partition.
        partition: i32,
        /// Offset.
        offset: i64,
    },
    /// The client gives up.
    #[error("{0}")]
    Failed(String),
}

/// Where a partition begins and ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogBounds {
    /// First offset in the log.
    pub low: i64,
    /// One past the last offset below which every transaction has ended.
    pub stable: i64,
    /// One past the last offset.
    pub high: i64,
}

/// What one step of reading gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The offset to go on from. Markers and aborted records are passed without being shown.
    pub next: i64,
    /// What the client said meanwhile, if it had trouble.
    pub trouble: Option<String>,
}

/// A partition that is being read. Dropping it ends the reading.
pub trait LogReader {
    /// Reads on for about `wait_ms` at most and shows committed records below the end that was
    /// given, in order. A step that shows nothing is not the end: the end is where `next` says.
    ///
    /// # Errors
    /// [`LogError::NotInLog`] and [`LogError::Failed`]. What may pass by itself is no error.
    fn read(
        &mut self,
        wait_ms: u64,
        records_max: usize,
        sink: &mut dyn FnMut(&RawRecord<'_>),
    ) -> Result<Step, LogError>;
}

/// Logs of a cluster. Every call answers or gives up within some seconds. Nothing is changed, no
/// group is joined, no offset is committed.
pub trait Logs {
    /// How many partitions a topic has.
    ///
    /// # Errors
    /// [`LogError`].
    fn partitions(&mut self, topic: &str) -> Result<i32, LogError>;

    /// The id of a topic, as Kafka prints it; `None` where the cluster gives none.
    ///
    /// # Errors
    /// [`LogError`].
    fn topic_id(&mut self, topic: &str) -> Result<Option<String>, LogError>;

    /// Where a partition begins and ends now.
    ///
    /// # Errors
    /// [`LogError`].
    fn bounds(&mut self, topic: &str, partition: i32) -> Result<LogBounds, LogError>;

    /// The group's committed offset, once no transaction that commits one is pending.
    ///
    /// # Errors
    /// [`LogError`].
    fn committed(&mut self, topic: &str, partition: i32) -> Result<Option<Committed>, LogError>;

    /// Begins to read `[from, until)`.
    ///
    /// # Errors
    /// [`LogError`].
    fn open(
        &mut self,
        topic: &str,
        partition: i32,
        from: i64,
        until: i64,
    ) -> Result<Box<dyn LogReader>, LogError>;
}
