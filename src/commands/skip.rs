//! `oncegate skip`: goes on behind records that a person leaves undecided.
//! Must not be in here: the act itself; that is the processor's.

use super::act::leave_undecided;
use crate::cli::{Outcome, SkipArgs};
use crate::processor::act::Undecided;

/// Skips to an offset.
pub fn skip(args: &SkipArgs) -> Outcome {
    leave_undecided("skip", &args.place, Undecided::Skip { to: args.to })
}
