//! Clean and quarantine as witnesses at a takeover: what was noted with the committed offset
//! against what the logs hold (design: "Taking over a partition", 5).
//! Must not be in here: how a log is read, or what else a takeover compares.

use super::refusal::{Refusal, RefusalCause};
use crate::journal::{ChainHead, LogEnd, OffsetMetadata};
use crate::kafka::witnesses::{Committed, Log, Watermarks};

/// What stands at the offset of a log's last known record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// No record is known, or its retention is over.
    #[default]
    Unknown,
    /// No committed record.
    Gone,
    /// A committed record with this hash.
    Found([u8; 32]),
}

/// A gate's committed record behind what is accounted for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beyond {
    /// Its offset.
    pub offset: i64,
    /// The group and route in its header `oncegate-route`.
    pub route: String,
}

/// What the committed offset's metadata notes of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// Where it ended.
    pub end: LogEnd,
    /// Whether the metadata names the journal's last entry; else more was written since.
    pub is_last: bool,
}

/// One output log of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    /// Clean or quarantine.
    pub log: Log,
    /// Name of the topic.
    pub topic: String,
    /// Its id now.
    pub topic_id: String,
    /// What was noted, if anything.
    pub noted: Option<Noted>,
    /// The log.
    pub bounds: Watermarks,
    /// What stands where the last noted record was.
    pub last: Standing,
    /// The first record of a gate behind what is accounted for.
    pub beyond: Option<Beyond>,
}

impl Tail {
    /// A log that was not looked at yet.
    pub fn new(
        log: Log,
        (topic, topic_id): (&str, &str),
        noted: Option<Noted>,
        bounds: Watermarks,
    ) -> Tail {
        let (topic, topic_id) = (topic.to_owned(), topic_id.to_owned());
        Tail { log, topic, topic_id, noted, bounds, last: Standing::Unknown, beyond: None }
    }

    /// What was noted of the topic that there is.
    fn noted_here(&self) -> Option<&Noted> {
        self.noted.as_ref().filter(|noted| noted.end.topic_id == self.topic_id)
    }

    /// The offset of the last noted record.
    pub fn last_noted(&self) -> Option<i64> {
        self.noted_here().map(|noted| noted.end.last_offset).filter(|offset| *offset >= 0)
    }

    /// Where to look for records that nobody noted: behind what is accounted for, where that is
    /// known to the last entry.
    pub fn unnoted_from(&self) -> Option<i64> {
        let noted = self.noted_here().filter(|noted| noted.is_last)?;
        let from = noted.end.accounted_to.max(self.bounds.low);
        (from < self.bounds.high).then_some(from)
    }

    /// The end to note with the next entry. Where nothing was noted with the last one, all that
    /// the log holds now is accounted for.
    pub fn end(&self) -> LogEnd {
        match self.noted_here().filter(|noted| noted.is_last) {
            Some(noted) => noted.end.clone(),
            None => LogEnd::based(&self.topic_id, self.bounds.high),
        }
    }
}

/// What the committed metadata notes of clean and quarantine; `last` is the journal's last entry.
pub fn noted_ends(committed: Option<&Committed>, last: &ChainHead) -> Option<(Noted, Noted)> {
    let noted: OffsetMetadata = committed?.metadata.parse().ok()?;
    let is_last = noted.names(last);
    let of = |end| Noted { end, is_last };
    Some((of(noted.clean), of(noted.quarantine)))
}

/// Compares a log with what was noted of it.
///
/// # Errors
/// [`Refusal`] where it lost its tail, or holds what nobody noted.
pub fn compare(tail: &Tail, partition: i32, full_name: &str, journal: &str) -> Result<(), Refusal> {
    let Tail { topic, topic_id, bounds, .. } = tail;
    let Some(Noted { end, .. }) = &tail.noted else { return Ok(()) };
    let (cause, log) = match tail.log {
        Log::Quarantine => (RefusalCause::QuarantineTailLost, "quarantine"),
        _ => (RefusalCause::CleanTailLost, "clean"),
    };
    if end.topic_id != *topic_id {
        if end.accounted_to == 0 {
            return Ok(());
        }
        return Err(Refusal {
            cause,
            message: format!(
                "{log} topic {topic} was deleted and created again: its id is {topic_id}, offsets below {} of partition {partition} were written to {}. What it held is gone. Restore the original topic.",
                end.accounted_to, end.topic_id
            ),
        });
    }
    if bounds.high < end.accounted_to || tail.last == Standing::Gone {
        return Err(Refusal {
            cause,
            message: format!(
                "{log} topic {topic}/{partition} lost its tail (an unclean leader election, or a restored backup): it ends at {}, offset {} was written and committed, and no committed record stands there. Events that the journal counts are gone, and readers may have seen them. Restore the topic.",
                bounds.high,
                end.accounted_to - 1
            ),
        });
    }
    against_beyond(tail, partition, full_name, journal)
}

fn against_beyond(
    tail: &Tail,
    partition: i32,
    full_name: &str,
    journal: &str,
) -> Result<(), Refusal> {
    let topic = &tail.topic;
    let Some(Beyond { offset, route }) = &tail.beyond else { return Ok(()) };
    if route == full_name {
        return Err(Refusal {
            cause: RefusalCause::JournalCut,
            message: format!(
                "{topic}/{partition} holds a committed record of {full_name} at offset {offset} that journal {journal}/{partition} and the committed offset know nothing of: both lost their tails (an unclean leader election, or a restored backup). What was let through since is unknown. Restore the journal topic and the group's offsets."
            ),
        });
    }
    Err(Refusal {
        cause: RefusalCause::TwoDeployments,
        message: format!(
            "{topic}/{partition} holds a record of {route} at offset {offset}, this is {full_name}: two deployments write to one topic. Give each a topic of its own."
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(noted: Option<(&str, i64)>, high: i64) -> Tail {
        let noted = noted.map(|(id, last)| Noted { end: ended(id, last), is_last: true });
        Tail::new(Log::Clean, ("clean", "id"), noted, Watermarks { low: 0, high })
    }

    fn ended(id: &str, last_offset: i64) -> LogEnd {
        match last_offset {
            -1 => LogEnd::empty(id),
            last => LogEnd::empty(id).after(last),
        }
    }

    fn with_beyond(tail: Tail, offset: i64, route: &str) -> Tail {
        Tail { beyond: Some(Beyond { offset, route: route.into() }), ..tail }
    }

    fn cause(tail: &Tail) -> Option<RefusalCause> {
        compare(tail, 3, "g/r", "journal").err().map(|refusal| refusal.cause)
    }

    #[test]
    fn each_contradiction_has_its_cause() {
        use RefusalCause::{CleanTailLost, JournalCut, TwoDeployments};
        let gone = |tail| Tail { last: Standing::Gone, ..tail };
        let cases = [
            (tail(Some(("id", 9)), 11), None),
            (tail(Some(("id", 9)), 10), None),
            (tail(Some(("id", 9)), 9), Some(CleanTailLost)),
            (gone(tail(Some(("id", 9)), 20)), Some(CleanTailLost)),
            (tail(Some(("old", 9)), 20), Some(CleanTailLost)),
            (tail(Some(("old", -1)), 20), None),
            (with_beyond(tail(Some(("id", 9)), 20), 12, "g/r"), Some(JournalCut)),
            (with_beyond(tail(Some(("id", -1)), 20), 0, "g/r"), Some(JournalCut)),
            (with_beyond(tail(Some(("id", 9)), 20), 12, "h/r"), Some(TwoDeployments)),
            (tail(None, 20), None),
        ];
        for (tail, expected) in cases {
            assert_eq!(cause(&tail), expected, "{tail:?}");
        }
    }

    #[test]
    fn what_nobody_noted_begins_behind_what_is_accounted_for() {
        assert_eq!(tail(Some(("id", 9)), 10).unnoted_from(), None);
        assert_eq!(tail(Some(("id", 9)), 12).unnoted_from(), Some(10));
        assert_eq!(tail(Some(("id", -1)), 12).unnoted_from(), Some(0));
        assert_eq!(tail(Some(("old", 9)), 12).unnoted_from(), None);
        assert_eq!(tail(None, 12).unnoted_from(), None);
        let older = Noted { end: ended("id", 9), is_last: false };
        let older = Tail { noted: Some(older), ..tail(None, 12) };
        assert_eq!((older.unnoted_from(), older.last_noted()), (None, Some(9)));
    }

    #[test]
    fn without_a_note_the_log_as_it_is_becomes_the_base() {
        assert_eq!(tail(Some(("id", 9)), 12).end(), ended("id", 9));
        assert_eq!(tail(None, 12).end(), LogEnd::based("id", 12));
        assert_eq!(tail(Some(("old", 9)), 0).end(), LogEnd::empty("id"));
        assert_eq!(
            cause(&Tail {
                bounds: Watermarks { low: 0, high: 5 },
                ..{
                    let based = Noted { end: LogEnd::based("id", 12), is_last: true };
                    Tail { noted: Some(based), ..tail(None, 12) }
                }
            }),
            Some(RefusalCause::CleanTailLost),
            "what the base held is gone"
        );
    }
}
