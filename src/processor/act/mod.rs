//! A person's act on one partition: join the group as a member, take the partition over like any
//! worker, write one transaction under its generation, leave.
//! Must not be in here: who may act, or where the record that is admitted was read.

use super::refusal::Refusal;
use super::restore::{Answer, Job, JobKind, TakenOver};
use super::route::Route;
use super::takeover::{Start, tail_lost};
use super::transaction::{self, End, Outputs, Parcel, TransactionLimits};
use super::worker::Takeovers;
use crate::gate::{Incarnation, Renderer, RouteNames, Sighting, SightingKey, Target};
use crate::journal::never::LetThroughAt;
use crate::journal::{EncodedEntry, Position, Receipt};
use crate::kafka::broker::{Broker, ConsumeError, Polled, TopicIds};
use crate::store::PartitionStore;

mod admit;
mod adopt;
mod undecided;

pub use admit::{Admission, prove_new};
pub use adopt::Adopted;
pub use undecided::Undecided;

/// Who acts, and why; both stand in the journal for good.
#[derive(Clone, Copy, Debug)]
pub struct Signature<'a> {
    /// Name.
    pub by: &'a str,
    /// Reason.
    pub reason: &'a str,
}

/// Why an act was not done. Nothing is written then, unless the message says that it may be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActError {
    /// The group gave the partition to someone else, or to nobody yet.
    #[error(
        "partition {partition} was not assigned within {waited_s} s: another process holds it. Stop the process that serves it, or all of the route's, and do this again"
    )]
    NotAssigned {
        /// Partition.
        partition: i32,
        /// Seconds.
        waited_s: u64,
    },
    /// The partition cannot be taken over.
    #[error("the partition is refused: {0}")]
    Refused(Refusal),
    /// The act makes no sense for this record or partition.
    #[error("{0}")]
    NotFit(String),
    /// The event stands in the clean topic already.
    #[error(
        "the event was let through before: journal entry {entry}, raw offset {offset}, item {item}",
        entry = .0.entry, offset = .0.offset, item = .0.item
    )]
    LetThrough(LetThroughAt),
    /// The cluster did not do its part.
    #[error("{0}")]
    Cluster(String),
}

/// A member that acts on one partition.
pub struct Actor<B, T> {
    route: Route,
    partition: i32,
    broker: B,
    takeovers: T,
    renderer: Renderer,
    limits: TransactionLimits,
}

/// How long one step of taking over may wait.
const STEP_MS: u64 = 50;
const RENEW_MS: u64 = 5000;

impl<B: Broker, T: Takeovers> Actor<B, T> {
    /// An actor on one partition, whose consumer has subscribed to the raw topic.
    pub fn new(
        route: Route,
        partition: i32,
        broker: B,
        takeovers: T,
        limits: TransactionLimits,
    ) -> Actor<B, T> {
        let names = RouteNames {
            raw_topic: route.raw_topic.clone(),
            route: route.full_name.clone(),
            recipe: route.recipe_name(),
        };
        let keep_timestamp = route.policy.keep_timestamp;
        let renderer = Renderer::new(names, keep_timestamp, route.quarantine_bytes_max);
        Actor { route, partition, broker, takeovers, renderer, limits }
    }

    /// Waits for the partition, ends a predecessor's transaction, and takes it over.
    ///
    /// # Errors
    /// [`ActError`].
    pub fn take_over(
        &mut self,
        kind: &JobKind,
        patience_ms: u64,
    ) -> Result<TakenOver<T::Store>, ActError> {
        let partition = self.partition;
        let began_ms = self.broker.now_ms();
        let (mut assigned, mut producing, mut submitted) = (false, false, false);
        // How often the partition came: an answer for an earlier time is none.
        let mut incarnation = Incarnation(0);
        let mut waits_for = None;
        loop {
            let mut failed = None;
            self.broker.poll(STEP_MS, 1000, &mut |polled| match polled {
                Polled::Assigned(list) if list.contains(&partition) => {
                    incarnation = Incarnation(incarnation.0 + 1);
                    (assigned, submitted) = (true, false);
                }
                Polled::Revoked(list) if list.contains(&partition) => {
                    (assigned, submitted) = (false, false);
                }
                Polled::Failed(ConsumeError::Fatal(why)) => failed = Some(why),
                _ => {}
            });
            if let Some(why) = failed {
                return Err(ActError::Cluster(format!("the consumer gave up: {why}")));
            }
            if assigned && !producing {
                producing = self.broker.renew_producer(RENEW_MS).is_ok();
            }
            if assigned && producing && !submitted {
                self.takeovers.submit(Job { partition, incarnation, kind: kind.clone() });
                submitted = true;
            }
            let answer = self.takeovers.answer();
            let of_now = |(job, _): &(Job, _)| submitted && job.incarnation == incarnation;
            match answer.filter(of_now).map(|(_, answer)| answer) {
                Some(Answer::TakenOver(taken)) => return Ok(*taken),
                Some(Answer::Refused(refusal)) => return Err(ActError::Refused(refusal)),
                Some(Answer::Waits(cause)) => waits_for = Some(cause),
                _ => {}
            }
            let waited_ms = self.broker.now_ms().saturating_sub(began_ms);
            if waited_ms >= patience_ms && !assigned {
                let waited_s = waited_ms / 1000;
                return Err(ActError::NotAssigned { partition, waited_s });
            }
            if let (Some(cause), true) = (&waits_for, waited_ms >= patience_ms) {
                let why = format!("the partition cannot be taken over yet: {cause}");
                return Err(ActError::Cluster(why));
            }
        }
    }

    /// Writes an act in one transaction, and brings the store level.
    fn write(
        &mut self,
        taken: &mut TakenOver<T::Store>,
        entry: &EncodedEntry,
        outputs: Outputs<'_>,
        changed: &[(SightingKey, Sighting)],
    ) -> Result<Position, ActError> {
        let partition = self.partition;
        let (clean_end, quarantine_end) = taken.ends.clone();
        // In a journal that is a copy, no markers stand behind entries.
        let journal_next = (taken.position.as_ref())
            .filter(|position| position.header.journal_topic_id == taken.ids.journal)
            .map_or(0, |position| position.journal_next);
        let parcel = Parcel { partition, entry, outputs, clean_end, quarantine_end, journal_next };
        let receipt = self.commit(&parcel, entry, &taken.ids)?;
        let applied = taken.store.apply(&receipt, changed).and_then(|()| taken.store.flush());
        if let Err(error) = applied {
            // The journal has it: the next takeover brings the store level.
            tracing::warn!(partition, "the store was not brought level: {error}");
        }
        Ok(receipt.into_position())
    }

    fn commit(
        &mut self,
        parcel: &Parcel<'_>,
        entry: &EncodedEntry,
        ids: &TopicIds,
    ) -> Result<Receipt, ActError> {
        let ended = transaction::run(
            &mut self.broker,
            &mut self.renderer,
            std::slice::from_ref(parcel),
            ids,
            &self.limits,
        );
        let not_done = |why: String| Err(ActError::Cluster(format!("nothing was written: {why}")));
        match ended.end {
            End::Committed(acknowledged, delivered) => {
                let range = delivered.ranges.get(&(Target::Journal, parcel.partition));
                let Some((first, last)) = range else {
                    let why = "it is committed, but the journal entry's offset was not reported";
                    return Err(ActError::Cluster(why.into()));
                };
                Ok(Receipt::of_commit(&acknowledged, entry, (*first, last + 1)))
            }
            End::RecordRefused(error) => not_done(error.to_string()),
            End::Aborted(error) | End::MembershipLost(error) => not_done(error.to_string()),
            End::TailLost(lost) => Err(ActError::Refused(tail_lost(&self.route, &lost))),
            End::OtherTopics(_) => not_done("the topics were created again meanwhile".into()),
            End::Unknown(error) => Err(ActError::Cluster(format!(
                "whether it is committed is unknown ({error}): look it up before you do it again"
            ))),
        }
    }
}

/// The position from which an act may go on: nothing is replayed.
fn settled_position<S>(taken: &TakenOver<S>, partition: i32) -> Result<Position, ActError> {
    match (&taken.start, &taken.position) {
        (Start::Replay { at }, _) => Err(ActError::NotFit(format!(
            "the group was rewound to offset {at} of partition {partition}: let the gate finish the replay first"
        ))),
        (_, None) => Err(ActError::NotFit(format!("partition {partition} was never served"))),
        (_, Some(position)) => Ok(position.clone()),
    }
}
