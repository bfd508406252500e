//! What is looked at beside the database: before RocksDB touches its files, just after, and when
//! it fails without saying why.
//! Must not be in here: repairing anything.

use super::StoreError;
use super::keys::{POSITION_KEY, position_of};
use crate::journal::Position;
use rocksdb::{DB, IteratorMode};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Room that must be there to open a store: for RocksDB's own files and a little work.
const OPENING_BYTES: usize = 1 << 20;

/// How much of the log's end is searched: what failed once is said again and again.
const LOG_BYTES: u64 = 256 << 10;

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

/// The last error of a background thread, from RocksDB's own log: no call tells it.
pub(super) fn background_error(path: &Path) -> Option<StoreError> {
    let mut log = File::open(path.join("LOG")).ok()?;
    let length = log.seek(SeekFrom::End(0)).ok()?;
    log.seek(SeekFrom::Start(length.saturating_sub(LOG_BYTES))).ok()?;
    let mut tail = Vec::new();
    log.read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    let (_, said) = tail.lines().rev().find_map(|line| line.split_once("Background IO error "))?;
    Some(StoreError::of_text(path, said))
}
