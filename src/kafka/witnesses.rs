//! What a takeover asks of the cluster: the logs as witnesses of each other.
//!
//! Must not be in here: any type of a client library, or a conclusion drawn from an answer.

use super::broker::TopicIds;

/// An answer that did not come: it is never "none".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WitnessError {
    /// No answer within the slice of time; ask again.
    #[error("{what}: no answer yet ({message})")]
    NotYet {
        /// What was asked.
        what: &'static str,
        /// The client's words.
        message: String,
    },
    /// The offset asked for is not in the log.
    #[error("{log:?} partition {partition}: offset {offset} is not in the log")]
    OffsetNotInLog {
        /// Which log.
        log: Log,
        /// Partition.
        partition: i32,
        /// Offset.
        offset: i64,
    },
}

/// A committed source offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The next offset to read.
    pub offset: i64,
    /// What its committer noted with it.
    pub metadata: String,
}

/// Low and high watermark of a partition, as a `read_uncommitted` client sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    /// First offset in the log.
    pub low: i64,
    /// One past the last.
    pub high: i64,
}

/// One of the route's logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    /// The raw topic.
    Raw,
    /// The clean topic.
    Clean,
    /// The quarantine topic.
    Quarantine,
    /// The journal topic.
    Journal,
}

/// Reads what a takeover needs. Every call answers or gives up within about a second.
pub trait Witnesses {
    /// The group's committed offset of a raw partition, once no transactional commit is pending;
    /// `None` where there is none.
    ///
    /// # Errors
    /// [`WitnessError::NotYet`], also while a transaction is pending.
    fn committed(&mut self, partition: i32) -> Result<Option<Committed>, WitnessError>;

    /// Watermarks of a log's partition.
    ///
    /// # Errors
    /// [`WitnessError::NotYet`].
    fn watermarks(&mut self, log: Log, partition: i32) -> Result<Watermarks, WitnessError>;

    /// The committed record at an offset within the log: SHA-256 over its key and value, as journal
    /// entries note it; `None` where no committed record stands there.
    ///
    /// # Errors
    /// [`WitnessError`]; `NotYet` also while a transaction is open at or before the offset.
    fn record_hash(
        &mut self,
        log: Log,
        partition: i32,
        offset: i64,
    ) -> Result<Option<[u8; 32]>, WitnessError>;

    /// Ids of the raw and journal topics, and the number of raw partitions.
    ///
    /// # Errors
    /// [`WitnessError::NotYet`].
    fn topic_ids(&mut self) -> Result<TopicIds, WitnessError>;

    /// Reads committed journal records from `from` on, for about a second at most; gives offset
    /// and value of each record below `until`, and returns the offset to go on from (cheaply, if
    /// the next call does). The end was reached when that is `until` or more: markers and aborted
    /// records take offsets too.
    ///
    /// # Errors
    /// [`WitnessError`].
    fn read_journal(
        &mut self,
        partition: i32,
        from: i64,
        until: i64,
        sink: &mut dyn FnMut(i64, &[u8]),
    ) -> Result<i64, WitnessError>;

    /// The same for the committed records of clean or quarantine: gives offset and the header
    /// `oncegate-route` of each.
    ///
    /// # Errors
    /// [`WitnessError`].
    fn read_routes(
        &mut self,
        log: Log,
        partition: i32,
        from: i64,
        until: i64,
        sink: &mut dyn FnMut(i64, Option<&str>),
    ) -> Result<i64, WitnessError>;
}
