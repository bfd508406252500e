//! `oncegate adopt`: goes on at a stated offset although the logs contradict each other.
//! Must not be in here: the act itself; that is the processor's.

use super::act::on_partition;
use crate::cli::{AdoptArgs, Outcome};
use crate::processor::restore::JobKind;

/// Adopts a partition, and says what can no longer be proven.
pub fn adopt(args: &AdoptArgs) -> Outcome {
    let partition = args.place.partition;
    on_partition("adopt", &args.place, &JobKind::Adopt, |actor, taken, signature, route| {
        let adopted = actor.adopt(taken, args.at, signature)?;
        let position = &adopted.position;
        Ok(format!(
            "{}/{partition} goes on at {}, in epoch {} by journal entry {} of {}\nit was {}\nit can no longer be proven {}",
            route.raw,
            position.header.to,
            position.header.epoch,
            position.number,
            route.journal,
            adopted.refusal,
            adopted.unproven
        ))
    })
}
