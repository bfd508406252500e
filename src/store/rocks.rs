//! The store of one partition in RocksDB.
//!
//! Writes are not logged ahead. What a crash leaves is a prefix of the writes, because all rows
//! live in one column family and each write is one batch with the position in it.
//!
//! Must not be in here: a write without a receipt.

use super::error::Mismatch;
use super::expiry::{Expiry, Horizon};
use super::fold::Fold;
use super::handle::{OpenStore, Written};
use super::keys::{
    KEY_BYTES, POSITION_KEY, SIGHTING_BYTES_MAX, SightingRow, key_row, position_row, sighting_of,
};
use super::opening::{check_files, check_space, read_position};
use super::options::Engine;
use super::registry::Lease;
use super::{PartitionStore, StoreError, StoreSize};
use crate::gate::{Sighting, SightingKey};
use crate::journal::{ChainHead, Entry, Position, Receipt};
use rocksdb::{DB, ReadOptions, WriteBatch};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Keys in one call of RocksDB: it works in groups of 32, and its answers are held at once.
const LOOK_UP_KEYS: usize = 512;
/// Longest wait for background threads that write files slower than rows come in. Past it the
/// store reports an error: a worker that hangs says nothing.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// The same where a background thread has met an error: it may be the end of waiting.
const WAIT_AFTER_ERROR_MAX: Duration = Duration::from_secs(2);
const WAIT_STEP: Duration = Duration::from_millis(2);
/// Overhead of a row in a batch, roughly.
const BATCH_ROW_BYTES: usize = KEY_BYTES + SIGHTING_BYTES_MAX + 8;

/// The store of one partition. Its owner is one thread; dropping it closes it without a flush.
pub struct RocksStore {
    store: Arc<OpenStore>,
    position: Option<Position>,
    expiry: Expiry,
    /// Whether something was written since the last flush.
    dirty: bool,
    /// The first error of a write: from then on the database's state is not known.
    failed: Option<StoreError>,
    /// Keys of a look-up, kept for the next.
    rows: Vec<[u8; KEY_BYTES]>,
}

impl RocksStore {
    pub(super) fn open(
        path: PathBuf,
        engine: &Engine,
        lease: Lease,
    ) -> Result<RocksStore, StoreError> {
        check_files(&path)?;
        check_space(&path)?;
        let say = |error| StoreError::of_rocksdb(&path, &error);
        let options = engine.database_options(lease.share()).map_err(say)?;
        let horizon = Horizon::none();
        let families = engine.families(lease.share(), horizon.clone()).map_err(say)?;
        let db = DB::open_cf_descriptors(&options, &path, families).map_err(say)?;
        let position = read_position(&db, &path)?;
        let store = Arc::new(OpenStore { db, lease, path });
        store.lease.show(&store);
        let expiry = Expiry::new(horizon, position.as_ref());
        Ok(RocksStore { store, position, expiry, dirty: false, failed: None, rows: Vec::new() })
    }

    /// Checks that an entry follows the stored position.
    fn check_step(&self, receipt: &Receipt) -> Result<(), StoreError> {
        let next = receipt.position();
        let why = match &self.position {
            _ if next.number != self.head().number + 1 => Mismatch::Number,
            Some(last)
                if last.header.journal_topic_id == next.header.journal_topic_id
                    && next.journal_offset < last.journal_next =>
            {
                Mismatch::Offset
            }
            _ => return Ok(()),
        };
        Err(self.out_of_step(receipt, why))
    }

    fn head(&self) -> ChainHead {
        self.position.as_ref().map_or(ChainHead::EMPTY, Position::head)
    }

    fn out_of_step(&self, receipt: &Receipt, why: Mismatch) -> StoreError {
        StoreError::OutOfStep {
            path: self.store.path.clone(),
            stored: self.head().number,
            offered: receipt.position().number,
            why,
        }
    }

    fn check_usable(&self) -> Result<(), StoreError> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn fail(&mut self, error: StoreError) -> StoreError {
        self.failed = Some(error.clone());
        error
    }

    /// Finds an error of a background thread before it costs a transaction.
    fn check_background(&mut self) -> Result<(), StoreError> {
        if !self.store.has_background_errors() {
            return Ok(());
        }
        // That does not tell whether the database has stopped; an empty write does.
        match self.store.write(WriteBatch::default()) {
            Ok(Written::Done | Written::Stalled) => Ok(()),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// One step of a wait for background threads that `begun` then.
    fn wait(&mut self, begun: Instant) -> Result<(), StoreError> {
        self.check_background()?;
        let errors = self.store.has_background_errors();
        if begun.elapsed() > if errors { WAIT_AFTER_ERROR_MAX } else { WAIT_MAX } {
            let error = self.store.stalled();
            return Err(self.fail(error));
        }
        thread::sleep(WAIT_STEP);
        Ok(())
    }

    fn write(
        &mut self,
        changed: &[(SightingKey, Sighting)],
        position: &Position,
    ) -> Result<(), StoreError> {
        let begun = Instant::now();
        loop {
            match self.store.write(batch_of(changed, position)) {
                Ok(Written::Done) => break,
                Ok(Written::Stalled) => self.wait(begun)?,
                Err(error) => return Err(self.fail(error)),
            }
        }
        self.position = Some(position.clone());
        self.dirty = true;
        self.store.lease.make_room();
        let forgotten = self.expiry.after_write(&self.store, position);
        forgotten.map_err(|error| self.fail(error))
    }

    fn look_up_chunk(
        &mut self,
        keys: &[SightingKey],
        found: &mut Vec<Option<Sighting>>,
    ) -> Result<(), StoreError> {
        self.rows.clear();
        self.rows.extend(keys.iter().map(key_row));
        let family = self.store.family()?;
        let sorted = true;
        let answers = self.store.db.batched_multi_get_cf_opt(
            family,
            self.rows.iter(),
            sorted,
            &ReadOptions::default(),
        );
        for answer in answers {
            let row = answer.map_err(|error| self.store.error(&error))?;
            let sighting = match row {
                None => None,
                Some(row) => Some(sighting_of(&row).ok_or_else(|| {
                    StoreError::damaged(&self.store.path, "a sighting's row cannot be read")
                })?),
            };
            found.push(sighting);
        }
        Ok(())
    }
}

impl PartitionStore for RocksStore {
    fn position(&self) -> Option<&Position> {
        self.position.as_ref()
    }

    fn look_up(
        &mut self,
        keys: &[SightingKey],
        found: &mut Vec<Option<Sighting>>,
    ) -> Result<(), StoreError> {
        // RocksDB answers wrongly, without an error, where the order is another; and a wrong
        // "not seen" is a duplicate.
        assert!(keys.is_sorted_by(|a, b| a < b), "keys of a look-up ascend, each once");
        self.check_usable()?;
        self.check_background()?;
        found.clear();
        found.reserve(keys.len());
        let store = Arc::clone(&self.store);
        store.lease.cache().watch(|| {
            keys.chunks(LOOK_UP_KEYS).try_for_each(|chunk| self.look_up_chunk(chunk, found))
        })
    }

    fn apply(
        &mut self,
        receipt: &Receipt,
        changed: &[(SightingKey, Sighting)],
    ) -> Result<(), StoreError> {
        self.check_usable()?;
        self.check_step(receipt)?;
        self.write(changed, receipt.position())
    }

    fn restore(&mut self, receipt: &Receipt, entry: &Entry) -> Result<(), StoreError> {
        self.check_usable()?;
        if receipt.position().head() != (ChainHead { number: entry.number, hash: entry.hash }) {
            return Err(self.out_of_step(receipt, Mismatch::Receipt));
        }
        self.check_step(receipt)?;
        if entry.previous_hash != self.head().hash {
            return Err(self.out_of_step(receipt, Mismatch::Chain));
        }
        let fold = Fold::of(entry);
        let mut found = Vec::new();
        self.look_up(&fold.counted, &mut found)?;
        self.write(&fold.changed(&found), receipt.position())
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.check_usable()?;
        if !self.dirty {
            return Ok(());
        }
        let begun = Instant::now();
        while !self.store.can_flush() {
            self.wait(begun)?;
        }
        self.store.flush(true).map_err(|error| self.fail(error))?;
        self.dirty = false;
        Ok(())
    }

    fn size(&self) -> StoreSize {
        StoreSize {
            keys_estimate: self.store.property("rocksdb.estimate-num-keys"),
            disk_bytes: self.store.property("rocksdb.total-sst-files-size"),
            unmerged_files: self.store.unmerged_files(),
        }
    }
}

impl Drop for RocksStore {
    fn drop(&mut self) {
        self.store.lease.give_up();
    }
}

fn batch_of(changed: &[(SightingKey, Sighting)], position: &Position) -> WriteBatch {
    let position = position_row(position);
    let bytes = changed.len() * BATCH_ROW_BYTES + position.len() + BATCH_ROW_BYTES;
    let mut batch = WriteBatch::with_capacity_bytes(bytes);
    for (key, sighting) in changed {
        batch.put(key_row(key), SightingRow::of(sighting));
    }
    batch.put(POSITION_KEY, position);
    batch
}
