//! Quarantine, seen from a person's desk: what is held and why, and how it gets back to the raw
//! topic.
//!
//! Pure: records in, values out. Reading and appending are done by the commands through the traits
//! of `kafka`. Must not be in here: a client, or a verdict; whatever is redriven is decided by the
//! gate as ever.

mod copies;
mod held;
mod redrive;
mod selection;

pub use copies::{Copies, Standing, Standings};
pub use held::{Held, HeldId, NotHeld, SourceAt, source_of};
pub use redrive::{REDRIVEN, RawAppend, Redriver, Refused};
pub use selection::Selection;
