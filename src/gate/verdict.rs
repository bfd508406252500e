//! The verdict on one event: a function of the event, the sighting and the clock alone.
//! Must not be in here: where sightings are looked up, or what is done with a verdict.

use super::reason::Reason;
use super::sighting::{EventMicros, Sighting};
use super::window::{Placement, Window, WindowState};
use crate::identity::ContentDigest;

/// What a route does with an event whose key is known and whose content is another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConflictPolicy {
    /// It waits in quarantine for a person.
    #[default]
    Quarantine,
    /// It is absorbed and told in the audit topic.
    Absorb,
    /// It is let through as a correction of the first, once for each content.
    Correction,
}

impl ConflictPolicy {
    /// Every policy.
    pub const ALL: [ConflictPolicy; 3] =
        [ConflictPolicy::Quarantine, ConflictPolicy::Absorb, ConflictPolicy::Correction];

    /// The name used in the settings.
    pub fn as_str(&self) -> &'static str {
        match self {
            ConflictPolicy::Quarantine => "quarantine",
            ConflictPolicy::Absorb => "absorb",
            ConflictPolicy::Correction => "correction",
        }
    }
}

/// What becomes of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Never seen: let through to the clean topic.
    First,
    /// Seen with the same content: absorbed.
    Duplicate,
    /// Seen with other content, this content being new: let through as a correction.
    Correction,
    /// Seen with other content: quarantined.
    Conflict,
    /// Seen with other content: absorbed, as the route's policy says.
    ConflictAbsorbed,
    /// Decided in an earlier pass over the same offset and by now too old to look up: absorbed.
    Replayed,
    /// Quarantined for a reason from the closed list.
    Rejected(Reason),
    /// Quarantined as late before, and let through by a person. No gate decides so.
    Admitted,
}

impl Verdict {
    /// The name used in audit records, metrics and documents.
    pub fn as_str(&self) -> &'static str {
        match self {
            Verdict::First => "first",
            Verdict::Duplicate => "duplicate",
            Verdict::Correction => "correction",
            Verdict::Conflict | Verdict::ConflictAbsorbed => "conflict",
            Verdict::Replayed => "replayed",
            Verdict::Rejected(_) => "rejected",
            Verdict::Admitted => "admitted",
        }
    }
}

/// What is remembered of an event.
#[derive(Clone, Copy, Debug)]
pub enum Known<'a> {
    /// Nothing.
    Nothing,
    /// The first delivery, at its event time.
    First {
        /// Its sighting.
        sighting: &'a Sighting,
        /// Whether the content in question was let through as a correction of it.
        corrected: bool,
    },
    /// A late event that a person let through; the store keeps it for ever.
    Admitted(&'a Sighting),
}

/// What is known of one event when its verdict is due.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The event's own time; `None` where the recipe has none.
    pub event_micros: Option<EventMicros>,
    /// Its content digest.
    pub digest: ContentDigest,
    /// When its record arrived, in milliseconds.
    pub arrival_ms: Option<i64>,
    /// Whether an earlier pass has decided the record at this offset.
    pub decided_before: bool,
    /// What is remembered of its key.
    pub known: Known<'a>,
}

/// Decides one event.
pub fn decide(
    question: &Question<'_>,
    (window, conflict): (&Window, ConflictPolicy),
    state: &WindowState,
) -> Verdict {
    if let Some(event) = question.event_micros {
        match state.place(window, event, question.arrival_ms) {
            Placement::Late => return decide_late(question, conflict),
            Placement::Future => return Verdict::Rejected(Reason::Future),
            Placement::Inside => {}
        }
    }
    match question.known {
        // Only what is late can have been admitted, and a horizon never falls.
        Known::Nothing | Known::Admitted(_) => Verdict::First,
        Known::First { sighting, .. } if sighting.digest == question.digest => Verdict::Duplicate,
        Known::First { corrected, .. } => match conflict {
            ConflictPolicy::Quarantine => Verdict::Conflict,
            ConflictPolicy::Absorb => Verdict::ConflictAbsorbed,
            ConflictPolicy::Correction if corrected => Verdict::Duplicate,
            ConflictPolicy::Correction => Verdict::Correction,
        },
    }
}

/// Below the horizon the store may have forgotten, but for what a person has admitted.
fn decide_late(question: &Question<'_>, conflict: ConflictPolicy) -> Verdict {
    if question.decided_before {
        return Verdict::Replayed;
    }
    match (question.known, conflict) {
        (Known::Admitted(sighting), _) if sighting.digest == question.digest => Verdict::Duplicate,
        (Known::Admitted(_), ConflictPolicy::Quarantine) => Verdict::Conflict,
        (Known::Admitted(_), ConflictPolicy::Absorb) => Verdict::ConflictAbsorbed,
        // A correction obeys the window as a first does.
        (Known::Admitted(_), ConflictPolicy::Correction)
        | (Known::Nothing | Known::First { .. }, _) => Verdict::Rejected(Reason::Late),
    }
}
