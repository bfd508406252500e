//! Where a partition may go on: facts in, a decision out (design: "Taking over a partition", 5).
//! Must not be in here: how the facts are gathered, or what is done with the decision.

use super::refusal::{Refusal, RefusalCause};
use super::route::Route;
use super::tails::{self, Standing, Tail};
use super::transaction::TailLost;
use crate::gate::Target;
use crate::journal::{OffsetMetadata, Position};
use crate::kafka::broker::TopicIds;
use crate::kafka::witnesses::{Committed, Watermarks};

/// What the logs say of one partition.
pub struct Facts<'a> {
    /// The route.
    pub route: &'a Route,
    /// The raw partition.
    pub partition: i32,
    /// The group's committed offset, once nothing is pending.
    pub committed: Option<&'a Committed>,
    /// The topics' ids and the number of raw partitions.
    pub ids: &'a TopicIds,
    /// The raw log.
    pub raw: Watermarks,
    /// The journal.
    pub journal: Watermarks,
    /// The clean log.
    pub clean: Watermarks,
    /// What stands where the raw record was that the last entry names.
    pub raw_last: Standing,
    /// What stands where the last part of the last entry was.
    pub journal_last: Standing,
    /// Clean and quarantine against what was noted of them.
    pub tails: &'a [Tail],
    /// Whether a person accepts that records were deleted unread.
    pub gap_accepted: bool,
    /// The journal's last entry, its chain verified from the store's position or the beginning.
    pub last_entry: Option<&'a Position>,
    /// Whether the partition's store holds an entry.
    pub store_has_position: bool,
}

/// Where the partition goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// It was never served: at the raw log's start, after an entry that says so.
    Begin {
        /// Offset.
        at: i64,
    },
    /// After the last entry.
    GoOn {
        /// Offset.
        at: i64,
    },
    /// The group was rewound: what follows was decided before.
    Replay {
        /// Offset.
        at: i64,
    },
}

impl Start {
    /// The first offset to read.
    pub fn offset(&self) -> i64 {
        match self {
            Start::Begin { at } | Start::GoOn { at } | Start::Replay { at } => *at,
        }
    }
}

/// Decides where a partition goes on.
///
/// # Errors
/// [`Refusal`] where the logs contradict each other.
pub fn decide_start(facts: &Facts<'_>) -> Result<Start, Refusal> {
    match facts.last_entry {
        None => begin(facts),
        Some(last) => {
            same_world(facts, last)?;
            journal_stands(facts, last)?;
            let start = go_on(facts, last)?;
            let Facts { route, partition, .. } = facts;
            for tail in facts.tails {
                tails::compare(tail, *partition, &route.full_name, &route.journal_topic)?;
            }
            Ok(start)
        }
    }
}

fn refuse<T>(cause: RefusalCause, message: String) -> Result<T, Refusal> {
    Err(Refusal { cause, message })
}

/// A first start: only where nothing was ever written.
fn begin(facts: &Facts<'_>) -> Result<Start, Refusal> {
    let Facts { route, partition, .. } = facts;
    if facts.journal.low > 0 || facts.store_has_position {
        return refuse(
            RefusalCause::JournalCut,
            format!(
                "journal {}/{partition} holds no entry, but entries were written (its log is [{}, {}), the partition's store {}). Without them it is unknown what was let through. Restore the journal topic, or move the group to a new name with new clean and journal topics.",
                route.journal_topic,
                facts.journal.low,
                facts.journal.high,
                if facts.store_has_position { "remembers some" } else { "is empty" },
            ),
        );
    }
    if let Some(committed) = facts.committed {
        return refuse(
            RefusalCause::JournalCut,
            format!(
                "group {} has committed offset {} on {}/{partition}, but journal {}/{partition} is empty. Either the journal was deleted, or another program used this group. Restore the journal topic; if another program did, choose another group name.",
                route.group_id, committed.offset, route.raw_topic, route.journal_topic,
            ),
        );
    }
    if facts.clean.high > 0 {
        return refuse(
            RefusalCause::CleanNotEmpty,
            format!(
                "clean topic {}/{partition} has been written to (its end is {}), but journal {}/{partition} is empty, so it is unknown which events it holds. Restore the journal topic, or name an empty clean topic.",
                route.clean_topic, facts.clean.high, route.journal_topic,
            ),
        );
    }
    Ok(Start::Begin { at: facts.raw.low })
}

/// The entries were written for these topics, this route and this recipe.
fn same_world(facts: &Facts<'_>, last: &Position) -> Result<(), Refusal> {
    let Facts { route, partition, ids, .. } = facts;
    let header = &last.header;
    if header.route != route.full_name {
        return refuse(
            RefusalCause::OtherRoute,
            format!(
                "journal {}/{partition} was written by {}, this is {}. Give each route a journal topic of its own.",
                route.journal_topic, header.route, route.full_name,
            ),
        );
    }
    if header.raw_topic_id != ids.raw {
        return refuse(
            RefusalCause::RawRecreated,
            format!(
                "raw topic {} was deleted and created again: its id is {}, the journal was written for {}. Its offsets mean other records now, and going on at {} would skip the new topic's head. Use a new group name with new clean and journal topics for the new topic.",
                route.raw_topic, ids.raw, header.raw_topic_id, header.to,
            ),
        );
    }
    if header.journal_topic_id != ids.journal {
        return refuse(
            RefusalCause::JournalRecreated,
            format!(
                "journal topic {} has id {}, its entries were written to {}: it is a copy or was created again, and may lack entries. Restore the original topic.",
                route.journal_topic, ids.journal, header.journal_topic_id,
            ),
        );
    }
    if header.raw_partitions != ids.raw_partitions {
        return refuse(
            RefusalCause::PartitionsChanged,
            format!(
                "raw topic {} has {} partitions, the journal was written for {}: known events may now come on another partition, where they would pass as new. The route is halted.",
                route.raw_topic, ids.raw_partitions, header.raw_partitions,
            ),
        );
    }
    if header.recipe_fingerprint != route.recipe.fingerprint() {
        return refuse(
            RefusalCause::OtherRecipe,
            format!(
                "journal {}/{partition} was written under another recipe than {} as it is now: old keys could no longer match. Bring the recipe back as it was, or use a new group name with new clean and journal topics.",
                route.journal_topic,
                route.recipe_name(),
            ),
        );
    }
    Ok(())
}

/// What was read from the journal is still there.
fn journal_stands(facts: &Facts<'_>, last: &Position) -> Result<(), Refusal> {
    if facts.journal_last != Standing::Gone {
        return Ok(());
    }
    let Facts { route, partition, .. } = facts;
    refuse(
        RefusalCause::JournalCut,
        format!(
            "journal {}/{partition} lost entry {} at offset {} while the partition was taken over. Restore the journal topic.",
            route.journal_topic, last.number, last.journal_offset,
        ),
    )
}

/// What is wrong where a transaction's records came to stand before a log's known end.
pub fn tail_lost(route: &Route, lost: &TailLost) -> Refusal {
    let cause = match lost.target {
        Target::Clean => RefusalCause::CleanTailLost,
        Target::Quarantine | Target::Audit => RefusalCause::QuarantineTailLost,
        Target::Journal => RefusalCause::JournalCut,
    };
    let message = format!(
        "the {:?} log of {}, partition {}, lost its tail while it was written: it went on at offset {}, committed records stood up to {} (an unclean leader election, or a topic created again). Nothing was committed beyond. Restore the topic.",
        lost.target,
        route.full_name,
        lost.partition,
        lost.found,
        lost.known_next - 1,
    );
    Refusal { cause, message }
}

fn go_on(facts: &Facts<'_>, last: &Position) -> Result<Start, Refusal> {
    let to = last.committed_next();
    let start = match facts.committed {
        None => Start::GoOn { at: to },
        Some(committed) => against_committed(facts, last, committed)?,
    };
    let Facts { route, partition, raw, .. } = facts;
    if start.offset() > raw.high || last.header.last_raw_offset >= raw.high {
        return refuse(
            RefusalCause::RawTailLost,
            format!(
                "raw topic {}/{partition} ends at {}, but records up to {} were read from it: the log lost its tail (an unclean leader election, or a restored backup). New records would take offsets that were decided before.",
                route.raw_topic,
                raw.high,
                start.offset().max(last.header.last_raw_offset + 1),
            ),
        );
    }
    let same = match facts.raw_last {
        Standing::Unknown => true,
        Standing::Gone => false,
        Standing::Found(hash) => last.header.last_raw_hash == hash,
    };
    if !same {
        return refuse(
            RefusalCause::RawTailLost,
            format!(
                "raw topic {}/{partition} holds another record at offset {} than the one that was read there: the log lost its tail and grew again (an unclean leader election, or a restored backup). New records took offsets that were decided before.",
                route.raw_topic, last.header.last_raw_offset,
            ),
        );
    }
    if start.offset() >= raw.low || facts.gap_accepted {
        return Ok(start);
    }
    // What lies between was decided before, and a replay has not come so far yet; otherwise nobody
    // has read it.
    if raw.low <= last.header.decided_to {
        return Ok(Start::Replay { at: raw.low });
    }
    refuse(
        RefusalCause::RawHeadDeleted,
        format!(
            "raw topic {}/{partition} begins at {}, the next record to read is {}: the records between were deleted unread, {} offsets. Lengthen the topic's retention; `oncegate accept-gap` goes on behind the gap and journals it by a person's name.",
            route.raw_topic,
            raw.low,
            start.offset(),
            raw.low - start.offset(),
        ),
    )
}

fn against_committed(
    facts: &Facts<'_>,
    last: &Position,
    committed: &Committed,
) -> Result<Start, Refusal> {
    let Facts { route, partition, .. } = facts;
    let to = last.committed_next();
    let noted: Option<OffsetMetadata> = committed.metadata.parse().ok();
    if let Some(noted) = &noted {
        let lacks = noted.entry_number > last.number
            || (noted.entry_number == last.number && !noted.names(&last.head()));
        if lacks || noted.journal_topic_id != facts.ids.journal {
            return refuse(
                RefusalCause::JournalCut,
                format!(
                    "the committed offset {} of group {} on {}/{partition} names entry {} of journal topic {}, journal {} (id {}) ends with entry {}: the journal lost entries. Restore it.",
                    committed.offset,
                    route.group_id,
                    route.raw_topic,
                    noted.entry_number,
                    noted.journal_topic_id,
                    route.journal_topic,
                    facts.ids.journal,
                    last.number,
                ),
            );
        }
    }
    if committed.offset > to {
        return refuse(
            RefusalCause::OffsetAhead,
            format!(
                "group {} is at offset {} on {}/{partition}, its journal ends at {to}: somebody moved the group forward, or the journal lost entries. Records between would be skipped undecided. Set the group's offset back to {to}; `oncegate skip` skips records by a person's name.",
                route.group_id, committed.offset, route.raw_topic,
            ),
        );
    }
    if committed.offset < to {
        return Ok(Start::Replay { at: committed.offset });
    }
    Ok(Start::GoOn { at: to })
}

/// What is wrong where a transaction met other topics than its tasks were taken over for.
pub fn other_topics(route: &Route, expected: &TopicIds, found: &TopicIds) -> Refusal {
    let (cause, what) = if expected.raw != found.raw {
        (
            RefusalCause::RawRecreated,
            format!(
                "raw topic {} was deleted and created again while it was read: its id is {}, it was {}. Nothing of the new topic was committed. Use a new group name with new clean and journal topics for it.",
                route.raw_topic, found.raw, expected.raw
            ),
        )
    } else if expected.journal != found.journal {
        (
            RefusalCause::JournalRecreated,
            format!(
                "journal topic {} was deleted and created again: its id is {}, it was {}. Restore the original topic.",
                route.journal_topic, found.journal, expected.journal
            ),
        )
    } else {
        (
            RefusalCause::PartitionsChanged,
            format!(
                "raw topic {} has {} partitions now, it had {}: known events may come on another partition, where they would pass as new. The route is halted.",
                route.raw_topic, found.raw_partitions, expected.raw_partitions
            ),
        )
    };
    Refusal { cause, message: what }
}
