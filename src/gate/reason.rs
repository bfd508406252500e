//! The closed list of reasons for which an event is quarantined.
//! Must not be in here: anything that a payload said.

use crate::identity;

/// Why an event was quarantined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The record or item could not be keyed: one of identity's own reasons.
    Identity(identity::Reason),
    /// The record's value is null.
    Tombstone,
    /// The event's time lies below the horizon and the event was not decided before.
    Late,
    /// The event's time lies too far beyond the record's arrival.
    Future,
    /// The event's key is known, its content is another.
    Conflict,
    /// The clean record would exceed what the clean topic takes.
    TooLarge,
    /// The record's own timestamp cannot be kept on the clean topic.
    RecordTimestamp,
    /// The broker refused the record for a cause that no earlier check names.
    Refused,
}

impl Reason {
    /// The name used in headers, metrics, journal and documents.
    pub fn as_str(&self) -> &'static str {
        match self {
            Reason::Identity(reason) => reason.as_str(),
            Reason::Tombstone => "tombstone",
            Reason::Late => "late",
            Reason::Future => "future",
            Reason::Conflict => "conflict",
            Reason::TooLarge => "too-large",
            Reason::RecordTimestamp => "record-timestamp",
            Reason::Refused => "refused",
        }
    }
}
