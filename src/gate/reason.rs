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
    /// The reasons of the gate itself; the others are identity's own.
    pub const OF_GATE: &'static [Reason] = &[
        Reason::Tombstone,
        Reason::Late,
        Reason::Future,
        Reason::Conflict,
        Reason::TooLarge,
        Reason::RecordTimestamp,
        Reason::Refused,
    ];

    /// Every reason, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Reason> {
        let of_identity = identity::Reason::all().iter().map(|reason| Reason::Identity(*reason));
        Reason::OF_GATE.iter().copied().chain(of_identity)
    }

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

    /// One sentence that says what the reason means.
    pub fn meaning(&self) -> &'static str {
        match self {
            Reason::Identity(reason) => reason.meaning(),
            Reason::Tombstone => "The record's value is null, so that it holds no event.",
            Reason::Late => {
                "The event's time lies below the horizon: it can no longer be proven new."
            }
            Reason::Future => {
                "The event's time lies further beyond the record's arrival than the route allows."
            }
            Reason::Conflict => "The event's key is known, its content is another.",
            Reason::TooLarge => "The clean record would be larger than the clean topic takes.",
            Reason::RecordTimestamp => {
                "The record's own timestamp cannot be kept on the clean topic."
            }
            Reason::Refused => {
                "The broker refused the record for a cause that no earlier check names."
            }
        }
    }
}
