//! Memory of rows that are not yet in files: when it is short, the store that holds most gives
//! its own back.
//!
//! Left to itself, RocksDB flushes the store that happens to be written to. With many partitions
//! of which most are quiet, the quiet ones then keep the memory, and the busy ones write a tiny
//! file at every batch.
//!
//! Must not be in here: waiting. A flush is asked for, a background thread does it.

use super::rocks::OpenStore;
use rocksdb::FlushOptions;
use std::sync::Arc;

/// Asks the fullest store to flush, if more than three quarters of `limit_bytes` are in use.
/// RocksDB's own rule begins at seven eighths.
pub(super) fn relieve(stores: &[Arc<OpenStore>], limit_bytes: usize) {
    let threshold = limit_bytes as u64 / 4 * 3;
    let sizes: Vec<u64> = stores.iter().map(|store| store.active_bytes()).collect();
    // What is not active is being written to files already.
    if sizes.iter().sum::<u64>() <= threshold {
        return;
    }
    let fullest = (stores.iter().zip(sizes))
        .filter(|(store, _)| !store.is_flushing())
        .max_by_key(|(_, bytes)| *bytes);
    if let Some((store, _)) = fullest {
        let mut options = FlushOptions::default();
        options.set_wait(false);
        // An error of this flush is the other store's; its owner meets it at its next call.
        let _ = store.db.flush_opt(&options);
    }
}
