//! `oncegate accept-gap`: goes on behind records that were deleted from the raw log unread.
//! Must not be in here: the act itself; that is the processor's.

use super::act::leave_undecided;
use crate::cli::{Outcome, UndecidedArgs};
use crate::processor::act::Undecided;

/// Accepts the gap at the head of the raw log.
pub fn accept_gap(args: &UndecidedArgs) -> Outcome {
    leave_undecided("accept-gap", args, Undecided::Gap)
}
