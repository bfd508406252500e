//! Memory of rows that are not yet in files: when it is short, the store that holds most gives
//! its own back.
//!
//! Left to itself, RocksDB flushes the store that happens to be written to. With many partitions
//! of which most are quiet, the quiet ones then keep the memory, and the busy ones write a tiny
//! file at every batch.
//!
//! Must not be in here: an endless wait. Where a disk is full no flush ends, and the owner of the
//! store that failed must get to know.

use super::handle::OpenStore;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait of a writer for others' rows to be written. Then it goes on, beyond the budget.
const WAIT_MAX: Duration = Duration::from_secs(2);
const WAIT_STEP: Duration = Duration::from_millis(2);

/// What is short of memory, and who may give some back.
pub(super) trait Unflushed {
    /// Bytes of rows that are not in files yet, those that are being written included.
    fn bytes(&self) -> usize;
    /// The open stores.
    fn stores(&self) -> Vec<Arc<OpenStore>>;
}

/// After a write: sees that the rows which are not in files yet stay within `limit_bytes`.
///
/// Above three quarters the fullest store is asked to flush (RocksDB's own rule begins at seven
/// eighths); above the limit the writer waits, so that writers are no faster than the disk.
pub(super) fn make_room(unflushed: &impl Unflushed, limit_bytes: usize) {
    let threshold_bytes = limit_bytes / 4 * 3;
    let begun = Instant::now();
    loop {
        let bytes = unflushed.bytes();
        if bytes <= threshold_bytes {
            return;
        }
        flush_fullest(&unflushed.stores(), threshold_bytes as u64);
        if bytes <= limit_bytes || begun.elapsed() > WAIT_MAX {
            return;
        }
        thread::sleep(WAIT_STEP);
    }
}

fn flush_fullest(stores: &[Arc<OpenStore>], threshold_bytes: u64) {
    let sizes: Vec<u64> = stores.iter().map(|store| store.active_bytes()).collect();
    // What is not active is being written to files already.
    if sizes.iter().sum::<u64>() <= threshold_bytes {
        return;
    }
    let fullest = (stores.iter().zip(sizes))
        .filter(|(store, _)| store.can_flush())
        .max_by_key(|(_, bytes)| *bytes);
    if let Some((store, _)) = fullest {
        // An error of this flush is the other store's; its owner meets it at its next call.
        let _ = store.flush(false);
    }
}
