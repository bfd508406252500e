//! What is looked at when a store is opened: before RocksDB touches its files, and after.
//! Must not be in here: repairing anything.

use super::StoreError;
use super::keys::{POSITION_KEY, position_of};
use crate::journal::Position;
use rocksdb::{DB, IteratorMode};
use std::fs;
use std::path::Path;

/// Room that must be there to open a store: for RocksDB's own files and a little work.
const OPENING_BYTES: usize = 1 << 20;

/// Reads the position. A store without one must be empty.
pub(super) fn read_position(db: &DB, path: &Path) -> Result<Option<Position>, StoreError> {
    let say = |error| StoreError::of_rocksdb(path, &error);
    if let Some(row) = db.get_pinned(POSITION_KEY).map_err(say)? {
        return position_of(path, &row).map(Some);
    }
    match db.iterator(IteratorMode::Start).next() {
        None => Ok(None),
        Some(Ok(_)) => Err(StoreError::damaged(path, "it has sightings and no position")),
        Some(Err(error)) => Err(say(error)),
    }
}

/// Without the file that names its manifest, RocksDB would take a store for a new one and delete
/// what is there.
pub(super) fn check_files(path: &Path) -> Result<(), StoreError> {
    if path.join("CURRENT").exists() {
        return Ok(());
    }
    let files =
        fs::read_dir(path).map_err(|error| StoreError::of_io(path, "listing its files", &error))?;
    for file in files {
        let file = file.map_err(|error| StoreError::of_io(path, "listing its files", &error))?;
        if Path::new(&file.file_name()).extension().is_some_and(|end| end == "sst") {
            return Err(StoreError::damaged(path, "its file CURRENT is gone"));
        }
    }
    Ok(())
}

/// Finds a full disk before RocksDB does, which has been seen to abort the process.
pub(super) fn check_space(path: &Path) -> Result<(), StoreError> {
    let probe = path.join("room");
    let written = fs::write(&probe, vec![0; OPENING_BYTES]);
    let removed = fs::remove_file(&probe);
    written
        .and(removed)
        .map_err(|error| StoreError::of_io(path, "making sure that there is room", &error))
}
