//! The store: what a partition has seen, kept on disk.
//!
//! A partition store is a function of the partition's journal. It holds one row a sighting and one
//! row for the position, the last entry applied; both change in one atomic write. Nothing here is
//! logged ahead: after a crash the store stands at some earlier entry, sightings and position
//! together, and is brought level from the journal's tail.
//!
//! This is the only room that names RocksDB. It knows `gate`, `journal` and `identity`; it must
//! not know Kafka, settings, or what a verdict is.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `keys` | the rows: how sightings and the position are written |
//! | `fold` | what an entry of the journal changes |
//! | `expiry` | how what lies below the horizon is forgotten |
//! | `budget` | what all stores of the process may use together |
//! | `options` | how RocksDB is set up |
//! | `handle` | an open database |
//! | `opening` | what is looked at beside the database |
//! | `rocks` | the store of one partition |
//! | `left` | stores of partitions that went elsewhere, within a budget of the disk |
//! | `registry` | which stores are open, and where their files are |
//! | `pressure` | which store gives its memory back when it is short |
//! | `cache` | how often a look-up needed the disk |
//! | `error` | errors, named by what the caller must do |

mod budget;
mod cache;
mod error;
mod expiry;
mod fold;
mod handle;
mod keys;
mod left;
mod opening;
mod options;
mod pressure;
mod registry;
mod rocks;

use crate::gate::{Sighting, SightingKey};
use crate::journal::{Entry, Position, Receipt};
use std::path::PathBuf;

pub use budget::{StoreBudget, open_files_limit};
pub use error::{Mismatch, StoreError};
pub use registry::RocksStores;
pub use rocks::RocksStore;

/// Format of the rows. A store of another format is refused.
pub const FORMAT: u32 = 2;

/// What a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreSize {
    /// Keys, as estimated: a key written again counts twice until its files are merged.
    pub keys_estimate: u64,
    /// Bytes on disk; rows that are still in memory are not counted.
    pub disk_bytes: u64,
    /// Files that wait to be merged; a step of expiry adds one. Where they only grow, the machine
    /// is too slow for its merges.
    pub unmerged_files: u64,
}

/// The sightings of one partition. A simulation drives a model of it.
///
/// A store may forget sightings of an event time below the horizon of its position, at any moment
/// and without being asked: no look-up needs them. It never forgets others.
///
/// After an error of a write the store stays as it is and says the same error again until it is
/// dropped and opened anew.
pub trait PartitionStore: Send {
    /// The last entry applied; `None` for a new store.
    fn position(&self) -> Option<&Position>;

    /// Ordered look-up: `keys` ascend, each once. Clears `found` and pushes one answer a key.
    ///
    /// # Errors
    /// Where the store cannot be read, and where a background write has failed since the last
    /// call: so a full disk shows before the next transaction and not after it.
    fn look_up(
        &mut self,
        keys: &[SightingKey],
        found: &mut Vec<Option<Sighting>>,
    ) -> Result<(), StoreError>;

    /// One atomic write of the changed sightings and the position.
    ///
    /// # Errors
    /// [`StoreError::OutOfStep`] unless the stored position is the entry before the receipt's.
    fn apply(
        &mut self,
        receipt: &Receipt,
        changed: &[(SightingKey, Sighting)],
    ) -> Result<(), StoreError>;

    /// The same for an entry read from the journal: its first sightings and corrections are put,
    /// that of an admitted event where it is kept for ever, then each
    /// absorbed key counts up its sighting once an absorption. A key that the store does not know
    /// (expired, or before the beginning of a cut journal) is left out.
    ///
    /// # Errors
    /// As [`apply`](PartitionStore::apply), and where the entry is not the receipt's or does not
    /// continue the chain.
    fn restore(&mut self, receipt: &Receipt, entry: &Entry) -> Result<(), StoreError>;

    /// Makes everything durable. Dropping a store does not: what was not flushed is restored from
    /// the journal.
    ///
    /// # Errors
    /// Where the store cannot be written.
    fn flush(&mut self) -> Result<(), StoreError>;

    /// For metrics.
    fn size(&self) -> StoreSize;
}

/// The one registry of open stores in a process: a partition can move between workers, and a
/// store must not be opened twice.
pub trait Stores: Send + Sync + 'static {
    /// The store of one partition.
    type Store: PartitionStore;

    /// Opens (or creates) the store of a route's partition.
    ///
    /// # Errors
    /// [`StoreError::InUse`] while another handle lives.
    fn open(&self, route: &str, partition: i32) -> Result<Self::Store, StoreError>;

    /// Moves the store's files aside, under a name with the reason and a counter, and gives the
    /// new path. Never deletes: the files may be the only witness. `reason` is a kebab-case word.
    ///
    /// # Errors
    /// [`StoreError::InUse`] while a handle lives; where there are no files to move.
    fn set_aside(&self, route: &str, partition: i32, reason: &str) -> Result<PathBuf, StoreError>;

    /// A worker of this process serves a partition from now on: its store is kept, open or not, until
    /// each that said so has left.
    fn serve(&self, _route: &str, _partition: i32) {}

    /// A worker serves it no more: another process may.
    fn leave(&self, _route: &str, _partition: i32) {}
}
