//! The act of admitting: a late event is let through, once it is proven that it never was.
//! Must not be in here: where the quarantined record was read.

use super::{ActError, Actor, Signature, settled_position};
use crate::gate::{Collected, FirstSighting, Keyed, RawRecord, Sighting, SightingKey, unwritable};
use crate::identity::{Deriver, EventKey};
use crate::journal::never::NeverLetThrough;
use crate::journal::{Position, encode_admit};
use crate::kafka::broker::Broker;
use crate::kafka::witnesses::{Log, WitnessError, Witnesses};
use crate::processor::restore::TakenOver;
use crate::processor::transaction::Outputs;
use crate::processor::worker::Takeovers;
use std::time::Duration;

/// Between two askings of the same question.
const ASK_AGAIN: Duration = Duration::from_millis(200);

/// A late event that a person lets through.
pub struct Admission<'a> {
    /// The raw record, as quarantine holds it, at its raw position.
    pub record: &'a RawRecord<'a>,
    /// The event within it.
    pub item: u32,
    /// The key that the quarantine record names.
    pub key: EventKey,
    /// Who lets it through, and why.
    pub signature: Signature<'a>,
}

impl<B: Broker, T: Takeovers> Actor<B, T> {
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
        let Signature { by, reason } = admission.signature;
        let entry = encode_admit(&context, &position, &first, (by, reason));
        let sighting = Sighting {
            digest: first.digest,
            first_offset: first.offset,
            first_item: first.item,
            load_count: 1,
        };
        let changed = [(SightingKey::kept(first.key.key), sighting)];
        let outputs = Outputs::Admitted(&collected, (0, admission.item));
        self.write(&mut taken, &entry, outputs, &changed)
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
    let (head, found) = proof.end();
    if let (None, Some(number)) = (found, proof.adopted()) {
        return Err(unproven(format!(
            "a person adopted the partition by entry {number}, after the logs had contradicted each other"
        )));
    }
    match (head, found) {
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
