//! The journal: write-ahead log, changelog and audit trail in one.
//!
//! Pure: no clock, no IO, no async, no logging. It knows `gate` and `identity`.

pub mod acts;
pub mod chain;
pub mod entry;
pub mod metadata;
pub mod never;
pub mod packed;
pub mod position;
pub mod receipt;

/// The messages of `journal.proto`.
pub mod pb {
    #![allow(missing_docs, clippy::all)]
    include!(concat!(env!("OUT_DIR"), "/oncegate.journal.v1.rs"));
}

pub use acts::{Overruled, encode_admit, encode_adopt, encode_undecided};
pub use chain::ChainHead;
pub use entry::{Assembler, EncodedEntry, Entry, EntryContext, EntryError};
pub use metadata::{LogEnd, OffsetMetadata};
pub use position::Position;
pub use receipt::{CommitAcknowledged, Receipt};
