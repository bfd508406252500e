//! The gate: records, window, sightings, verdicts, and the batch that holds all their effects.
//!
//! Pure: no clock, no IO, no async, no logging. It knows `identity` and nothing else of the house,
//! so that a verdict is a function of record, sighting and clock alone.

pub mod batch;
pub mod collected;
pub mod counts;
pub mod deciding;
mod headers;
pub mod lookups;
pub mod output;
mod place;
pub mod reason;
pub mod record;
pub mod sighting;
pub mod size;
pub mod verdict;
pub mod window;

pub use batch::{Case, FirstSighting, Incarnation, Outcome, Part, Policy, Progress, Refused};
pub use collected::{Collected, Keyed};
pub use counts::Counts;
pub use deciding::{decide_part, unwritable};
pub use lookups::{CorrectionLookups, Lookups};
pub use output::{OutputRecord, Renderer, RouteNames, Target};
pub use reason::Reason;
pub use record::{Header, RawRecord, RecordTimestamp};
pub use sighting::{EventMicros, Sighting, SightingKey};
pub use size::NameLengths;
pub use verdict::{ConflictPolicy, Verdict};
pub use window::{Window, WindowState};
