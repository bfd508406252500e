//! A database and the right to it, with what it tells of itself.
//! Must not be in here: anything that waits.

use super::StoreError;
use super::opening::{background_error, check_space};
use super::options::LEVEL0_FILES_MAX;
use super::registry::Lease;
use rocksdb::{
    ColumnFamily, DB, DEFAULT_COLUMN_FAMILY_NAME, ErrorKind, FlushOptions, WriteBatch, WriteOptions,
};
use std::path::PathBuf;

/// Files of level 0 that a flush stays away from the limit: others may flush the same store.
const LEVEL0_FILES_MARGIN: u64 = 4;

/// An open database. Its fields are dropped in this order.
pub(super) struct OpenStore {
    pub db: DB,
    pub lease: Lease,
    pub path: PathBuf,
}

/// How a write ended that RocksDB did not refuse for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// It is in memory.
    Done,
    /// Background threads are behind: nothing was written, try again.
    Stalled,
}

impl OpenStore {
    /// Bytes of rows that no flush has begun to write.
    pub fn active_bytes(&self) -> u64 {
        self.property("rocksdb.cur-size-active-mem-table")
    }

    /// Whether rows are on their way to files.
    pub fn is_flushing(&self) -> bool {
        self.property("rocksdb.num-immutable-mem-table") > 0
    }

    /// Whether a flush can begin. Otherwise RocksDB waits within the call until older rows are
    /// written and files are merged: for ever, if merging fails for want of space.
    pub fn can_flush(&self) -> bool {
        let unmerged = self.unmerged_files();
        !self.is_flushing() && unmerged + LEVEL0_FILES_MARGIN < u64::from(LEVEL0_FILES_MAX)
    }

    /// Files of level 0.
    pub fn unmerged_files(&self) -> u64 {
        self.property("rocksdb.num-files-at-level0")
    }

    /// Writes rows to files; without `wait`, a background thread does it some time later.
    pub fn flush(&self, wait: bool) -> Result<(), StoreError> {
        let mut options = FlushOptions::default();
        options.set_wait(wait);
        self.db.flush_opt(&options).map_err(|error| self.error(&error))
    }

    /// Writes a batch without a log ahead, and without waiting within RocksDB: there a full disk
    /// could hold a writer for ever.
    pub fn write(&self, batch: WriteBatch) -> Result<Written, StoreError> {
        let mut options = WriteOptions::default();
        options.disable_wal(true);
        options.set_no_slowdown(true);
        match self.db.write_opt(batch, &options) {
            Ok(()) => Ok(Written::Done),
            Err(error) if is_stall(&error) => Ok(Written::Stalled),
            Err(error) => Err(self.error(&error)),
        }
    }

    /// Whether a background thread has met an error since the store was opened. It need not have
    /// stopped the database.
    pub fn has_background_errors(&self) -> bool {
        self.property("rocksdb.background-errors") > 0
    }

    /// The error of a wait that was too long: for want of space, or because the disk is slow.
    pub fn stalled(&self) -> StoreError {
        let known = check_space(&self.path).err().or_else(|| background_error(&self.path));
        known.unwrap_or_else(|| StoreError::Io {
            path: self.path.clone(),
            detail: "its rows are not written to files; see its file LOG".into(),
        })
    }

    /// The column family of the rows: sorted look-ups ask for it by name.
    pub fn family(&self) -> Result<&ColumnFamily, StoreError> {
        self.db
            .cf_handle(DEFAULT_COLUMN_FAMILY_NAME)
            .ok_or_else(|| StoreError::damaged(&self.path, "it has no default column family"))
    }

    /// A property that is a number; 0 where RocksDB cannot tell.
    pub fn property(&self, name: &str) -> u64 {
        self.db.property_int_value(name).ok().flatten().unwrap_or(0)
    }

    pub fn error(&self, error: &rocksdb::Error) -> StoreError {
        StoreError::of_rocksdb(&self.path, error)
    }
}

fn is_stall(error: &rocksdb::Error) -> bool {
    error.kind() == ErrorKind::Incomplete && error.as_ref().contains("Write stall")
}
