//! A store in a folder of its own.
//! Must not be in here: what is written into it.

use oncegate::gate::{Sighting, SightingKey};
use oncegate::journal::entry::{NO_ENTRY, begin_header, encode};
use oncegate::journal::packed::Rows;
use oncegate::journal::{CommitAcknowledged, EncodedEntry, Receipt};
use oncegate::store::{PartitionStore, RocksStore, RocksStores, StoreBudget, Stores};
use tempfile::TempDir;

/// A store whose journal has begun.
pub struct Kept {
    // It is closed before its folder goes.
    store: RocksStore,
    _stores: RocksStores,
    _folder: TempDir,
    next: i64,
}

impl Kept {
    /// An empty store.
    pub fn new() -> Kept {
        let folder = tempfile::tempdir().expect("a folder");
        let stores = RocksStores::open(folder.path(), StoreBudget::default()).expect("stores");
        let store = stores.open("lab", 0).expect("a store");
        let mut kept = Kept { store, _stores: stores, _folder: folder, next: 0 };
        let begin = begin_header(&super::batch::context(), 0);
        kept.apply(&encode(1, NO_ENTRY, begin, Rows::default()), &[]);
        kept
    }

    /// What is known of these keys.
    pub fn look_up(&mut self, keys: &[SightingKey]) -> Vec<Option<Sighting>> {
        let mut found = Vec::new();
        self.store.look_up(keys, &mut found).expect("the store answers");
        found
    }

    /// Brings all rows to files.
    pub fn flush(&mut self) {
        self.store.flush().expect("the store takes it");
    }

    /// Writes what an entry changed.
    pub fn apply(&mut self, entry: &EncodedEntry, changed: &[(SightingKey, Sighting)]) {
        let from = self.next;
        self.next += entry.parts.len() as i64;
        let receipt =
            Receipt::of_commit(&CommitAcknowledged::by_broker(), entry, (from, self.next));
        self.store.apply(&receipt, changed).expect("the store takes it");
    }
}
