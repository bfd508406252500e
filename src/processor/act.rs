//! A person's act on one partition: join the group as a member, take the partition over like any
//! worker, write one transaction under its generation, leave.
//! Must not be in here: who may act, or where the record that is admitted was read.

use super::refusal::Refusal;
use super::restore::{Answer, Job, JobKind, TakenOver};
use super::route::Route;
use super::takeover::Start;
use super::transaction::{self, End, Outputs, Parcel, TransactionLimits};
use super::worker::Takeovers;
use crate::gate::{
    Collected, FirstSighting, Incarnation, Keyed, RawRecord, Renderer, RouteNames, Sighting,
    SightingKey, Target, unwritable,
};
use crate::identity::{Deriver, EventKey};

use crate::journal::never::{LetThroughAt, NeverLetThrough};
use crate::journal::{EncodedEntry, Position, Receipt, encode_admit};
use crate::kafka::broker::{Broker, ConsumeError, Polled, TopicIds};
use crate::kafka::witnesses::{Log, WitnessError, Witnesses};
use crate::store::PartitionStore;
use std::time::Duration;

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
    broker: B,
    takeovers: T,
    renderer: Renderer,
    limits: TransactionLimits,
}

/// A late event that a person lets through.
pub struct Admission<'a> {
    /// The raw record, as quarantine holds it, at its raw position.
    pub record: &'a RawRecord<'a>,
    /// The event within it.
    pub item: u32,
    /// The key that the quarantine record names.
    pub key: EventKey,
    /// Who lets it through.
    pub by: &'a str,
    /// Why.
    pub reason: &'a str,
}

/// How long one step of taking over may wait.
const STEP_MS: u64 = 50;
const RENEW_MS: u64 = 5000;
/// Between two askings of the same question.
const ASK_AGAIN: Duration = Duration::from_millis(200);
const ONLY: Incarnation = Incarnation(1);

impl<B: Broker, T: Takeovers> Actor<B, T> {
    /// An actor whose consumer has subscribed to the raw topic.
    pub fn new(route: Route, broker: B, takeovers: T, limits: TransactionLimits) -> Actor<B, T> {
        let names = RouteNames {
            raw_topic: route.raw_topic.clone(),
            route: route.full_name.clone(),
            recipe: route.recipe_name(),
        };
        let keep_timestamp = route.policy.keep_timestamp;
        let renderer = Renderer::new(names, keep_timestamp, route.quarantine_bytes_max);
        Actor { route, broker, takeovers, renderer, limits }
    }

    /// Waits for the partition, ends a predecessor's transaction, and takes it over.
    ///
    /// # Errors
    /// [`ActError`].
    pub fn take_over(
        &mut self,
        partition: i32,
        patience_ms: u64,
    ) -> Result<TakenOver<T::Store>, ActError> {
        let began_ms = self.broker.now_ms();
        let (mut assigned, mut producing, mut submitted) = (false, false, false);
        loop {
            let mut failed = None;
            self.broker.poll(STEP_MS, 1000, &mut |polled| match polled {
                Polled::Assigned(list) => assigned |= list.contains(&partition),
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
                self.takeovers.submit(Job {
                    partition,
                    incarnation: ONLY,
                    kind: JobKind::Takeover,
                });
                submitted = true;
            }
            match self.takeovers.answer() {
                Some((_, Answer::TakenOver(taken))) if submitted => return Ok(*taken),
                Some((_, Answer::Refused(refusal))) => return Err(ActError::Refused(refusal)),
                _ => {}
            }
            let waited_ms = self.broker.now_ms().saturating_sub(began_ms);
            if waited_ms >= patience_ms && !assigned {
                let waited_s = waited_ms / 1000;
                return Err(ActError::NotAssigned { partition, waited_s });
            }
        }
    }

    /// Lets a late event through: clean record, journal entry and audit record in one transaction.
    /// The caller has proven by [`prove_new`] that it never was.
    ///
    /// # Errors
    /// [`ActError`].
    pub fn admit(
        &mut self,
        mut taken: TakenOver<T::Store>,
        admission: &Admission<'_>,
    ) -> Result<Position, ActError> {
        let partition = admission.record.partition;
        let position = settled_position(&taken, partition)?;
        let mut collected = Collected::new(partition);
        collected.push(admission.record, &mut Deriver::new(self.route.recipe.clone()));
        let first = self.late_event(&collected, admission, &position)?;
        let context = self.route.entry_context(&taken.ids);
        let by = (admission.by, admission.reason);
        let entry = encode_admit(&context, &position, &first, by);
        let (clean_end, quarantine_end) = self.route.noted_ends(taken.committed.as_ref());
        let parcel = Parcel {
            partition,
            entry: &entry,
            outputs: Outputs::Admitted(&collected, (0, admission.item)),
            clean_end,
            quarantine_end,
        };
        let receipt = self.commit(&parcel, &entry, &taken.ids)?;
        let sighting = Sighting {
            digest: first.digest,
            first_offset: first.offset,
            first_item: first.item,
            load_count: 1,
        };
        let changed = [(SightingKey::kept(first.key.key), sighting)];
        let applied = taken.store.apply(&receipt, &changed).and_then(|()| taken.store.flush());
        if let Err(error) = applied {
            // The journal has it: the next takeover brings the store level.
            tracing::warn!(partition, "the store was not brought level: {error}");
        }
        Ok(receipt.into_position())
    }

    /// The event as the journal keeps it, if it is one that can be admitted.
    fn late_event(
        &self,
        collected: &Collected,
        admission: &Admission<'_>,
        position: &Position,
    ) -> Result<FirstSighting, ActError> {
        let not_fit = |why: &str| Err(ActError::NotFit(why.to_owned()));
        let Some(event) = collected.events_of(0).nth(admission.item as usize) else {
            return not_fit("the record has no such event under the route's recipe");
        };
        let Keyed::Event { key, digest, event_micros, .. } = collected.event(event) else {
            return not_fit("the route's recipe rejects the event");
        };
        if *key != admission.key {
            return not_fit("the route's recipe gives the event another key than quarantine names");
        }
        let Some(event_micros) = *event_micros else {
            return not_fit("the event has no time, so it cannot be late");
        };
        if event_micros >= position.header.horizon_micros {
            return not_fit(
                "the event is not late: it lies above the horizon. `quarantine redrive` lets the gate decide it",
            );
        }
        if let Some(reason) = unwritable(collected, 0, event, &self.route.policy) {
            let why = format!("its clean record cannot be written: {}", reason.as_str());
            return Err(ActError::NotFit(why));
        }
        Ok(FirstSighting {
            key: SightingKey::of_event(*key, Some(event_micros)),
            digest: *digest,
            offset: admission.record.offset,
            item: admission.item,
        })
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
            End::OtherTopics(_) => not_done("the topics were created again meanwhile".into()),
            End::Unknown(error) => Err(ActError::Cluster(format!(
                "whether it is committed is unknown ({error}): look it up before you do it again"
            ))),
        }
    }
}

/// The position from which an act may go on: nothing is under way, and nothing is replayed.
fn settled_position<S>(taken: &TakenOver<S>, partition: i32) -> Result<Position, ActError> {
    match (&taken.start, &taken.position) {
        (Start::Replay { at }, _) => Err(ActError::NotFit(format!(
            "the group was rewound to offset {at} of partition {partition}: let the gate finish the replay first"
        ))),
        (_, None) => Err(ActError::NotFit(format!(
            "partition {partition} was never served, so nothing of it can be late"
        ))),
        (_, Some(position)) => Ok(position.clone()),
    }
}

/// Reads the whole journal of a partition up to `position`, and proves that an event was never let
/// through; gives the number of entries read.
///
/// # Errors
/// [`ActError::LetThrough`], or why there is no proof.
pub fn prove_new<W: Witnesses>(
    witnesses: &mut W,
    journal_topic: &str,
    partition: i32,
    position: &Position,
    key: EventKey,
) -> Result<u64, ActError> {
    let low = again(|| witnesses.watermarks(Log::Journal, partition))?.low;
    let unproven = |why: String| {
        ActError::NotFit(format!(
            "journal {journal_topic}/{partition} is not whole ({why}): it cannot be proven that the event was never let through"
        ))
    };
    let mut proof = NeverLetThrough::new(key);
    let mut next = low;
    while next < position.journal_next {
        let mut broken = None;
        let read = again(|| {
            witnesses.read_journal(partition, next, position.journal_next, &mut |_, value| {
                if broken.is_none() {
                    broken = proof.push(value).err();
                }
            })
        })?;
        if let Some(error) = broken {
            return Err(unproven(error.to_string()));
        }
        next = read;
    }
    match proof.end() {
        (_, Some(at)) => Err(ActError::LetThrough(at)),
        (head, None) if head == position.head() => Ok(head.number),
        (head, None) => Err(unproven(format!("it ends at entry {}", head.number))),
    }
}

/// Asks until there is an answer.
fn again<V>(mut question: impl FnMut() -> Result<V, WitnessError>) -> Result<V, ActError> {
    const TRIES: u32 = 60;
    let mut tries = 0;
    loop {
        match question() {
            Ok(answer) => return Ok(answer),
            Err(error @ WitnessError::NotYet { .. }) if tries >= TRIES => {
                return Err(ActError::Cluster(error.to_string()));
            }
            Err(WitnessError::NotYet { .. }) => {
                tries += 1;
                std::thread::sleep(ASK_AGAIN);
            }
            Err(error) => return Err(ActError::Cluster(error.to_string())),
        }
    }
}
