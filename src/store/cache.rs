//! How often look-ups found their blocks in the cache, for metrics.
//! Must not be in here: what is cached, or for how long.

use rocksdb::perf::{PerfContext, PerfMetric, PerfStatsLevel, set_perf_stats};
use std::sync::atomic::{AtomicU64, Ordering};

/// What the look-ups of all stores found since the start, in blocks.
#[derive(Debug, Default)]
pub(super) struct CacheCounts {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl CacheCounts {
    /// Counts what a look-up finds. RocksDB keeps such counts for each thread.
    pub fn watch<T>(&self, look_up: impl FnOnce() -> T) -> T {
        set_perf_stats(PerfStatsLevel::EnableCount);
        let context = PerfContext::default();
        let now = || {
            let hits = context.metric(PerfMetric::BlockCacheHitCount);
            (hits, context.metric(PerfMetric::BlockReadCount))
        };
        let before = now();
        let found = look_up();
        let after = now();
        self.hits.fetch_add(after.0.saturating_sub(before.0), Ordering::Relaxed);
        self.misses.fetch_add(after.1.saturating_sub(before.1), Ordering::Relaxed);
        found
    }

    /// Blocks found, and blocks that had to be read.
    pub fn hits_and_misses(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }
}
