//! The gate: records, window, sightings, verdicts, and the batch that holds all their effects.
//!
//! Pure: no clock, no IO, no async, no logging. It knows `identity` and nothing else of the house,
//! so that a verdict is a function of record, sighting and clock alone. It builds alone
//! (`default-features = false`), so that other programs can ask what oncegate would decide:
//!
//! ```
//! use oncegate::gate::verdict::{Known, Question, decide};
//! use oncegate::gate::{ConflictPolicy, Reason, Sighting, Verdict, Window, WindowState};
//! use oncegate::identity::ContentDigest;
//!
//! const HOUR_MICROS: i64 = 3_600_000_000;
//! let window = Window { span_micros: Some(24 * HOUR_MICROS), future_micros_max: HOUR_MICROS };
//! // An event of hour 100 was let through, so what is older than hour 76 may be forgotten.
//! let state = WindowState::EMPTY.after(&window, 100 * HOUR_MICROS);
//! let digest = ContentDigest::new([1; 16]);
//! let sighting = Sighting { digest, first_offset: 7, first_item: 0, load_count: 1 };
//! let ask = |hour: i64, digest, known| {
//!     let question = Question {
//!         event_micros: Some(hour * HOUR_MICROS),
//!         digest,
//!         arrival_ms: None,
//!         decided_before: false,
//!         known,
//!     };
//!     decide(&question, (&window, ConflictPolicy::Quarantine), &state)
//! };
//! let seen = Known::First { sighting: &sighting, corrected: false };
//! assert_eq!(ask(100, digest, Known::Nothing), Verdict::First);
//! assert_eq!(ask(100, digest, seen), Verdict::Duplicate);
//! assert_eq!(ask(100, ContentDigest::new([2; 16]), seen), Verdict::Conflict);
//! assert_eq!(ask(75, digest, Known::Nothing), Verdict::Rejected(Reason::Late));
//! ```

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
