//! The verdict on one event: a function of the event, the sighting and the clock alone.
//! Must not be in here: where sightings are looked up, or what is done with a verdict.

use super::reason::Reason;
use super::sighting::{EventMicros, Sighting};
use super::window::{Placement, Window, WindowState};
use crate::identity::ContentDigest;

/// What becomes of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Never seen: let through to the clean topic.
    First,
    /// Seen with the same content: absorbed.
    Duplicate,
    /// Seen with other content: quarantined.
    Conflict,
    /// Decided in an earlier pass over the same offset and by now too old to look up: absorbed.
    Replayed,
    /// Quarantined for a reason from the closed list.
    Rejected(Reason),
}

impl Verdict {
    /// The name used in audit records, metrics and documents.
    pub fn as_str(&self) -> &'static str {
        match self {
            Verdict::First => "first",
            Verdict::Duplicate => "duplicate",
            Verdict::Conflict => "conflict",
            Verdict::Replayed => "replayed",
            Verdict::Rejected(_) => "rejected",
        }
    }
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
    pub sighting: Option<&'a Sighting>,
}

/// Decides one event.
pub fn decide(question: &Question<'_>, window: &Window, state: &WindowState) -> Verdict {
    if let Some(event) = question.event_micros {
        match state.place(window, event, question.arrival_ms) {
            Placement::Late if question.decided_before => return Verdict::Replayed,
            Placement::Late => return Verdict::Rejected(Reason::Late),
            Placement::Future => return Verdict::Rejected(Reason::Future),
            Placement::Inside => {}
        }
    }
    match question.sighting {
        None => Verdict::First,
        Some(sighting) if sighting.digest == question.digest => Verdict::Duplicate,
        Some(_) => Verdict::Conflict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000;
    const WINDOW: Window = Window { span_micros: Some(HOUR), future_micros_max: 0 };
    const DIGEST: ContentDigest = ContentDigest::new([1; 16]);
    const OTHER: ContentDigest = ContentDigest::new([2; 16]);

    fn question(event_micros: i64, sighting: Option<&Sighting>) -> Question<'_> {
        Question {
            event_micros: Some(event_micros),
            digest: DIGEST,
            arrival_ms: Some(20 * HOUR / 1000),
            decided_before: false,
            sighting,
        }
    }

    #[test]
    fn every_verdict_has_its_cause() {
        let state = WindowState::EMPTY.after(&WINDOW, 10 * HOUR);
        let same = Sighting { digest: DIGEST, first_offset: 0, first_item: 0, load_count: 1 };
        let other = Sighting { digest: OTHER, ..same };
        let cases = [
            (question(10 * HOUR, None), Verdict::First),
            (question(10 * HOUR, Some(&same)), Verdict::Duplicate),
            (question(10 * HOUR, Some(&other)), Verdict::Conflict),
            (question(8 * HOUR, None), Verdict::Rejected(Reason::Late)),
            (question(8 * HOUR, Some(&same)), Verdict::Rejected(Reason::Late)),
            (question(21 * HOUR, None), Verdict::Rejected(Reason::Future)),
            (Question { decided_before: true, ..question(8 * HOUR, None) }, Verdict::Replayed),
            (Question { decided_before: true, ..question(10 * HOUR, None) }, Verdict::First),
            (Question { event_micros: None, ..question(0, None) }, Verdict::First),
        ];
        for (question, expected) in cases {
            assert_eq!(decide(&question, &WINDOW, &state), expected, "{question:?}");
        }
    }
}
