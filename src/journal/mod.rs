//! The journal: write-ahead log, changelog and audit trail in one.
//!
//! Pure: no clock, no IO, no async, no logging. It knows `gate` and `identity`. It builds alone
//! (`default-features = false`), so that other programs can read a journal: an [`Assembler`] puts
//! the values of the topic's records together into entries, a [`ChainHead`] says whether each
//! continues the one before, and an entry's rows are what was let through and absorbed.
//!
//! ```
//! use oncegate::journal::packed::unpack_firsts;
//! use oncegate::journal::{Assembler, ChainHead, EntryError};
//!
//! /// How many events the entries of one journal partition let through. `values` are those of its
//! /// records from the first on, as a consumer with `isolation.level=read_committed` gets them.
//! fn let_through<'a>(values: impl Iterator<Item = &'a [u8]>) -> Result<u64, EntryError> {
//!     let (mut assembler, mut chain, mut count) = (Assembler::default(), ChainHead::EMPTY, 0);
//!     for value in values {
//!         let Some(entry) = assembler.push(value)? else { continue };
//!         chain = chain.follow(&entry)?;
//!         for first in unpack_firsts(&entry.rows.firsts, entry.base()) {
//!             println!("{} at offset {}", first.key.key, first.offset);
//!             count += 1;
//!         }
//!     }
//!     Ok(count)
//! }
//! assert_eq!(let_through(std::iter::empty()), Ok(0));
//! assert_eq!(let_through([&b"not of oncegate"[..]].into_iter()), Err(EntryError::Malformed));
//! ```

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
