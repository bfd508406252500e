//! Which held records still wait: of the copies that `redrive` made of one raw record only the one
//! that was appended last, and none of an event that a person admitted.
//!
//! A mark is a raw header, and anybody may write one: it counts only where the record that it names
//! holds the same key and value. Must not be in here: reading, or what the gate let through after a
//! redrive; nothing in quarantine tells of that.

use super::held::{Held, HeldId};
use super::redrive::REDRIVEN;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Where a held record stands among the copies of its raw record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It waits.
    Current,
    /// It was redriven, and what is still bad of it is held again elsewhere.
    Superseded,
    /// A person has let its event through.
    Admitted,
}

impl Standing {
    /// The name used in lists.
    pub fn as_str(self) -> &'static str {
        match self {
            Standing::Current => "held",
            Standing::Superseded => "superseded",
            Standing::Admitted => "admitted",
        }
    }
}

/// Partition and offset in the raw topic.
type Source = (i32, i64);

/// What is to be known of a record that is a copy or has one.
struct Copy {
    source: Source,
    content: [u8; 32],
}

/// Gathers the copies: first every held record is shown to [`Copies::mark`], then, if
/// [`Copies::wants_named`], to [`Copies::named`]. It keeps a hundred bytes for each redriven record.
pub struct Copies {
    quarantine_topic: String,
    raw_topic: String,
    route: String,
    /// Copies, and the record that each was made of.
    marked: BTreeMap<HeldId, (HeldId, Copy)>,
    named: BTreeMap<HeldId, Option<Copy>>,
    late: BTreeSet<i32>,
    admitted: BTreeSet<(Source, u32)>,
}

impl Copies {
    /// For the quarantine topic of `route` (`group/route`) with this raw topic.
    pub fn new(quarantine_topic: &str, raw_topic: &str, route: &str) -> Copies {
        Copies {
            quarantine_topic: quarantine_topic.to_owned(),
            raw_topic: raw_topic.to_owned(),
            route: route.to_owned(),
            marked: BTreeMap::new(),
            named: BTreeMap::new(),
            late: BTreeSet::new(),
            admitted: BTreeSet::new(),
        }
    }

    /// Takes note of a copy. Of every held record, in any order.
    pub fn mark(&mut self, held: &Held) {
        if !self.is_ours(held) {
            return;
        }
        if held.reason == "late" {
            self.late.insert(held.id.partition);
        }
        let Some(named) = self.mark_of(held) else { return };
        self.named.insert(named, None);
        self.marked.insert(held.id, (named, copy(held)));
    }

    /// Whether there are copies at all.
    pub fn wants_named(&self) -> bool {
        !self.named.is_empty()
    }

    /// Takes note of what a copy was made of. Of every held record, in any order.
    pub fn named(&mut self, held: &Held) {
        let is_ours = self.is_ours(held);
        if let Some(place) = self.named.get_mut(&held.id).filter(|_| is_ours) {
            *place = Some(copy(held));
        }
    }

    /// The partitions that hold late events: only of such a person can have admitted any.
    pub fn late_partitions(&self) -> BTreeSet<i32> {
        self.late.clone()
    }

    /// Takes note of an admission, if this value of an audit record tells of one.
    pub fn admitted(&mut self, audit: &[u8]) {
        const TOLD: &[u8] = br#""verdict":"admitted""#;
        if !audit.windows(TOLD.len()).any(|bytes| bytes == TOLD) {
            return;
        }
        let Ok(told) = serde_json::from_slice::<Audit>(audit) else { return };
        if told.verdict == "admitted" && told.this.topic == self.raw_topic {
            self.admitted.insert(((told.this.partition, told.this.offset), told.this.item));
        }
    }

    /// What was gathered, ready to be asked.
    pub fn finish(self) -> Standings {
        let mut origins: BTreeMap<Source, Source> = BTreeMap::new();
        let mut latest: BTreeMap<Source, Source> = BTreeMap::new();
        // A mark names a record further ahead in the same partition: its origin is known by then.
        for (named, copy) in self.marked.values() {
            let Some(Some(original)) = self.named.get(named) else { continue };
            if original.content != copy.content || original.source >= copy.source {
                continue;
            }
            let origin = *origins.get(&original.source).unwrap_or(&original.source);
            origins.insert(copy.source, origin);
            let last = latest.entry(origin).or_insert(copy.source);
            *last = copy.source.max(*last);
        }
        let admitted = (self.admitted.iter())
            .map(|(source, item)| (*origins.get(source).unwrap_or(source), *item))
            .collect();
        Standings { raw_topic: self.raw_topic, route: self.route, origins, latest, admitted }
    }

    fn is_ours(&self, held: &Held) -> bool {
        held.route == self.route && held.topic == self.raw_topic
    }

    /// The record that a copy was made of, as its last mark says.
    fn mark_of(&self, held: &Held) -> Option<HeldId> {
        let (_, mark) = held.headers.iter().rev().find(|(name, _)| name == REDRIVEN.as_bytes())?;
        let text = std::str::from_utf8(mark.as_deref()?).ok()?;
        let id = text.strip_prefix(&self.quarantine_topic)?.strip_prefix('/')?;
        let named: HeldId = id.parse().ok()?;
        (named.partition == held.id.partition && named.offset < held.id.offset).then_some(named)
    }
}

fn copy(held: &Held) -> Copy {
    Copy { source: (held.id.partition, held.offset), content: held.content_hash() }
}

#[derive(Deserialize)]
struct Audit {
    verdict: String,
    this: AuditPlace,
}

#[derive(Deserialize)]
struct AuditPlace {
    topic: String,
    partition: i32,
    offset: i64,
    item: u32,
}

/// Tells of each held record whether it still waits.
pub struct Standings {
    raw_topic: String,
    route: String,
    /// Of copies: the raw record that was sent first.
    origins: BTreeMap<Source, Source>,
    /// Of those: the copy that was appended last.
    latest: BTreeMap<Source, Source>,
    /// Events by their first raw record.
    admitted: BTreeSet<(Source, u32)>,
}

impl Standings {
    /// Where a held record stands.
    pub fn of(&self, held: &Held) -> Standing {
        if held.route != self.route || held.topic != self.raw_topic {
            return Standing::Current;
        }
        let source = (held.id.partition, held.offset);
        let origin = *self.origins.get(&source).unwrap_or(&source);
        if self.admitted.contains(&(origin, held.item.unwrap_or(0))) {
            return Standing::Admitted;
        }
        match self.latest.get(&origin) {
            Some(latest) if *latest > source => Standing::Superseded,
            _ => Standing::Current,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quarantine::held::held_sample as held;

    /// A held record: offset in quarantine, raw offset, item, and the record that its mark names.
    type Row = (i64, i64, Option<u32>, Option<i64>);

    fn record((offset, source, item, mark): Row) -> Held {
        let mark = mark.map(|named| (REDRIVEN.into(), Some(format!("q/1/{named}").into())));
        Held { headers: mark.into_iter().collect(), ..held(offset, source, item) }
    }

    fn standings(rows: &[Held], audits: &[&str]) -> Vec<Standing> {
        let mut copies = Copies::new("q", "raw", "g/r");
        rows.iter().for_each(|held| copies.mark(held));
        rows.iter().for_each(|held| copies.named(held));
        audits.iter().for_each(|audit| copies.admitted(audit.as_bytes()));
        let standings = copies.finish();
        rows.iter().map(|held| standings.of(held)).collect()
    }

    use Standing::{Admitted, Current, Superseded};

    #[test]
    fn of_copies_the_last_one_waits() {
        let rows = [
            (4, 9, Some(0), None),
            (5, 9, Some(3), None),
            (6, 10, None, None),
            // Redriven twice before the gate came to it.
            (8, 20, Some(0), Some(4)),
            (9, 20, Some(3), Some(4)),
            (10, 21, Some(0), Some(4)),
            // Redriven again, from the last copy and by its id from the first.
            (12, 30, Some(0), Some(10)),
            (13, 31, Some(0), Some(4)),
        ]
        .map(record);
        let expected = [
            Superseded, Superseded, Current, Superseded, Superseded, Superseded, Superseded,
            Current,
        ];
        assert_eq!(standings(&rows, &[]), expected);
        assert_eq!(standings(&rows[..4], &[])[..3], [Superseded, Superseded, Current]);
    }

    #[test]
    fn a_mark_that_was_not_made_by_redrive_hides_nothing() {
        let other = |row: Row| Held { payload: Some(b"other".to_vec()), ..record(row) };
        let rows = [record((4, 9, None, None)), other((8, 20, None, Some(4)))];
        assert_eq!(standings(&rows, &[]), [Current, Current]);
        let foreign = Held { route: "x/y".into(), ..record((8, 20, None, Some(4))) };
        assert_eq!(standings(&[record((4, 9, None, None)), foreign], &[]), [Current, Current]);
        let ahead = [record((4, 9, None, Some(8))), record((8, 20, None, None))];
        assert_eq!(standings(&ahead, &[]), [Current, Current]);
        let older = [record((4, 9, None, None)), record((8, 3, None, Some(4)))];
        assert_eq!(standings(&older, &[]), [Current, Current]);
    }

    #[test]
    fn an_admitted_event_waits_no_more_in_any_copy() {
        let audit = |verdict: &str, offset: i64, item: u32| {
            format!(
                r#"{{"key":"00","verdict":"{verdict}","load_count":1,"first":{{"topic":"raw","partition":1,"offset":{offset},"item":{item}}},"this":{{"topic":"raw","partition":1,"offset":{offset},"item":{item}}},"event_micros":5,"entry":7}}"#
            )
        };
        let rows = [
            (4, 9, Some(0), None),
            (5, 9, Some(1), None),
            (8, 20, Some(0), Some(4)),
            (9, 20, Some(1), Some(4)),
            (10, 21, Some(1), None),
        ]
        .map(record);
        let told = [audit("admitted", 20, 1), audit("duplicate", 21, 1)];
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        let expected = [Superseded, Admitted, Current, Admitted, Current];
        assert_eq!(standings(&rows, &told), expected);
    }
}
