//! The act of adopting: a person goes on at a stated offset although the logs contradict each
//! other, in a new epoch of the journal.
//! Must not be in here: whether that is wise; what can no longer be proven is said.

use super::{ActError, Actor, Signature};
use crate::journal::{Overruled, Position, encode_adopt};
use crate::kafka::broker::Broker;
use crate::processor::refusal::{Refusal, RefusalCause};
use crate::processor::restore::TakenOver;
use crate::processor::transaction::Outputs;
use crate::processor::worker::Takeovers;

/// A partition that a person adopted.
#[derive(Clone, Debug, PartialEq)]
pub struct Adopted {
    /// The journal entry that says so.
    pub position: Position,
    /// The refusal that was overruled.
    pub refusal: Refusal,
    /// What can no longer be proven.
    pub unproven: &'static str,
}

/// What can no longer be proven once a refusal is overruled; `None` where it must not be.
fn unproven(cause: RefusalCause) -> Option<&'static str> {
    Some(match cause {
        RefusalCause::RawRecreated => {
            "that every record of the raw topic that was deleted was decided"
        }
        RefusalCause::RawTailLost => {
            "that every record which took the place of a lost one was decided, where it stands below the offset"
        }
        RefusalCause::JournalCut | RefusalCause::CleanNotEmpty => {
            "that an event which the lost entries let through does not pass once more"
        }
        RefusalCause::JournalRecreated => {
            "that the journal holds all entries which the topic of the other id held"
        }
        RefusalCause::PartitionsChanged => {
            "that an event which passed on one partition does not pass on another"
        }
        RefusalCause::CleanTailLost => "that every event which was let through stands in clean",
        RefusalCause::QuarantineTailLost => {
            "that every event which was held back stands in quarantine"
        }
        RefusalCause::OffsetAhead => {
            "that the records between the journal's end and the offset were decided"
        }
        RefusalCause::RawHeadDeleted
        | RefusalCause::ChainBroken
        | RefusalCause::OtherRecipe
        | RefusalCause::OtherRoute
        | RefusalCause::TwoDeployments => return None,
    })
}

impl<B: Broker, T: Takeovers> Actor<B, T> {
    /// Goes on at raw offset `at`, after a takeover as
    /// [`JobKind::Adopt`](crate::processor::restore::JobKind::Adopt).
    ///
    /// # Errors
    /// [`ActError`], also where nothing contradicts.
    pub fn adopt(
        &mut self,
        mut taken: TakenOver<T::Store>,
        at: i64,
        Signature { by, reason }: Signature<'_>,
    ) -> Result<Adopted, ActError> {
        let (partition, raw) = (self.partition, taken.raw);
        let Some(refusal) = taken.contradiction.take() else {
            return Err(ActError::NotFit(format!(
                "there is nothing to adopt: partition {partition} is not refused, it goes on at {}",
                taken.start.offset()
            )));
        };
        let Some(unproven) = unproven(refusal.cause) else {
            return Err(ActError::Refused(refusal));
        };
        if at < raw.low || at > raw.high {
            return Err(ActError::NotFit(format!(
                "the raw log of partition {partition} is [{}, {}): the offset to go on at must lie within it, or be its end",
                raw.low, raw.high
            )));
        }
        let context = self.route.entry_context(&taken.ids);
        let overruled = Overruled { cause: refusal.cause.as_str(), finding: &refusal.message };
        let last = taken.position.as_ref();
        let entry = encode_adopt(&context, last, at, overruled, (by, reason));
        let position = self.write(&mut taken, &entry, Outputs::None, &[])?;
        Ok(Adopted { position, refusal, unproven })
    }
}
