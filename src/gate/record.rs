//! A record as it stands in a raw partition, borrowed from whoever read it.
//! Must not be in here: where records come from or go to.

/// Who set a record's timestamp, and when, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordTimestamp {
    /// The record has none.
    Absent,
    /// Set by the producer.
    CreateTimeMs(i64),
    /// Set by the broker on arrival.
    LogAppendTimeMs(i64),
}

impl RecordTimestamp {
    /// The milliseconds, whoever set them.
    pub fn ms(&self) -> Option<i64> {
        match self {
            RecordTimestamp::Absent => None,
            RecordTimestamp::CreateTimeMs(ms) | RecordTimestamp::LogAppendTimeMs(ms) => Some(*ms),
        }
    }
}

/// One header. Kafka allows a name more than once and tells null from empty values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// Its name: UTF-8 by Kafka's protocol, which not every producer keeps.
    pub name: &'a [u8],
    /// Its bytes; `None` is Kafka's null.
    pub value: Option<&'a [u8]>,
}

/// A record of the raw topic. Null and empty are different in key, value and headers.
#[derive(Clone, Debug)]
pub struct RawRecord<'a> {
    /// Partition of the raw topic.
    pub partition: i32,
    /// Offset within it.
    pub offset: i64,
    /// Its timestamp.
    pub timestamp: RecordTimestamp,
    /// Its Kafka key.
    pub key: Option<&'a [u8]>,
    /// Its value.
    pub payload: Option<&'a [u8]>,
    /// Its headers in order.
    pub headers: &'a [Header<'a>],
}
