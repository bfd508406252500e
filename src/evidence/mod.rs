//! Evidence: what the topics of a route prove, from Kafka alone.
//!
//! | command | what it proves |
//! | --- | --- |
//! | [`reconcile`] | every record and event that was read is in exactly one count, and clean and quarantine hold what the counts say |
//! | [`verify`] | keys and digests follow from the clean payloads, no key stands twice, the journal's chain is whole, clean and journal hold the same events |
//! | [`lookup`] | whether one event was seen, when, and what became of it |
//! | [`survey`] | how many duplicates, conflicts and late events a topic holds |
//!
//! The comparisons are values that are fed with entries and records and know no cluster; `source`
//! reads the logs for them through the traits of `kafka`, always to an end that was captured
//! before. Must not be in here: a client, a store, a change of anything in the cluster, or the
//! value of a payload in any word that comes out.

pub mod clean;
mod cursor;
mod ends;
mod finding;
mod journal_walk;
pub mod lookup;
pub mod quarantined;
pub mod reconcile;
mod route;
mod rows;
mod sorter;
mod source_header;
pub mod survey;
mod table;
pub mod verify;

pub use cursor::{EvidenceError, Reading, Source};
pub use ends::{Ends, OutputEnds};
pub use finding::{Finding, Findings, KINDS};
pub use journal_walk::{JournalWalk, ReadEntry};
pub use route::RouteUnderProof;
pub use rows::{Kind, LetThrough, let_through};
pub use sorter::{SortError, Sorter};
pub use source_header::SourcePosition;
pub use table::Table;
