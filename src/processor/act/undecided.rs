//! The acts of going on behind records that nobody decided: skipped, or deleted before they were
//! read. Must not be in here: whether that is wise.

use super::{ActError, Actor, Signature, settled_position};
use crate::journal::{Position, encode_undecided, pb};
use crate::kafka::broker::Broker;
use crate::processor::restore::TakenOver;
use crate::processor::transaction::Outputs;
use crate::processor::worker::Takeovers;

/// What is left undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// The records from the next one up to this offset, which is the next then.
    Skip {
        /// Offset.
        to: i64,
    },
    /// The records that were deleted from the raw log's head unread.
    Gap,
}

impl<B: Broker, T: Takeovers> Actor<B, T> {
    /// Goes on behind undecided records: a journal entry by name and reason, and the offset.
    ///
    /// # Errors
    /// [`ActError`].
    pub fn leave_undecided(
        &mut self,
        mut taken: TakenOver<T::Store>,
        undecided: Undecided,
        Signature { by, reason }: Signature<'_>,
    ) -> Result<Position, ActError> {
        let position = settled_position(&taken, self.partition)?;
        let (next, raw) = (position.committed_next(), taken.raw);
        let (kind, to) = match undecided {
            Undecided::Skip { to } if to <= next || to > raw.high || next < raw.low => {
                return Err(ActError::NotFit(format!(
                    "the next record of partition {} is {next}, its log is [{}, {}): the offset to go on at must lie behind the one and not beyond the other",
                    self.partition, raw.low, raw.high
                )));
            }
            Undecided::Skip { to } => (pb::EntryKind::Skip, to),
            Undecided::Gap if next >= raw.low => {
                return Err(ActError::NotFit(format!(
                    "there is no gap: the next record of partition {} is {next}, its log begins at {}",
                    self.partition, raw.low
                )));
            }
            Undecided::Gap => (pb::EntryKind::Gap, raw.low),
        };
        let context = self.route.entry_context(&taken.ids);
        let entry = encode_undecided(&context, &position, kind, to, (by, reason));
        self.write(&mut taken, &entry, Outputs::None, &[])
    }
}
