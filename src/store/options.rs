//! How RocksDB is set up: what all stores share, and the options of one.
//! Must not be in here: an option left to inheritance. A column family does not inherit from its
//! database, so each option is set where it takes effect, and a test reads back what is in force.

use super::budget::{Share, StoreBudget};
use super::expiry::{Horizon, LeaveOutBelow};
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DBCompressionType,
    DEFAULT_COLUMN_FAMILY_NAME, Env, LogLevel, LruCacheOptions, Options, WriteBufferManager,
};
use std::ffi::c_int;

/// Blocks of rows; a look-up of a known key reads one.
const BLOCK_BYTES: usize = 8 << 10;
/// Bits of the filter for each key: one look-up in a hundred reads a block in vain.
const FILTER_BITS_A_KEY: f64 = 10.0;
/// The filter of rows that are not in files yet, as a part of their memory: a row takes some 100
/// bytes of it, so that this gives a key 10 bits.
const MEMTABLE_FILTER_RATIO: f64 = 0.0125;
/// Files of a size that expiry can drop one by one, and whose filter (half a million keys) is a
/// small block of the cache.
const FILE_BYTES: u64 = 32 << 20;
/// The cache is cut into parts that do not wait for each other. Each must hold many filters.
const CACHE_PART_BYTES: usize = 16 << 20;
/// Memory is taken in pieces of this size: small, since each store holds a part-filled one.
const ARENA_BLOCK_BYTES: usize = 16 << 10;
/// Files of level 0 at which writes wait. They are not slowed down before: a wait is bounded by
/// the store, a slow-down is not.
pub(super) const LEVEL0_FILES_MAX: u8 = 24;

/// Options that the Rust interface has no names for.
///
/// - Closing does not flush: what is durable is decided by `flush` alone.
/// - RocksDB does not retry by itself after an error: the store is opened anew by its owner, and
///   retries in the background would hide the error.
/// - Files are not rewritten for their age: the window decides when they go.
/// - Blocks of files that are gone leave the cache, or it would fill with the history.
/// - A row is put into memory from where the last one was: rows of a batch ascend.
/// - A block is kept compressed where that saves a fortieth of it. Most of a row are hashes, so that
///   RocksDB's own measure, an eighth, would throw away what was compressed already.
const NAMED_OPTIONS: &str = "avoid_flush_during_shutdown=true;max_bgerror_resume_count=0;\
                             ttl=0;periodic_compaction_seconds=0;uncache_aggressiveness=10000;\
                             memtable_insert_with_hint_prefix_extractor=rocksdb.FixedPrefix.1;\
                             compression_opts={max_compressed_bytes_per_kb=998}";

/// What all stores of the process share.
pub(super) struct Engine {
    budget: StoreBudget,
    cache: Cache,
    write_buffers: WriteBufferManager,
    env: Env,
}

impl Engine {
    pub fn new(budget: StoreBudget) -> Result<Engine, rocksdb::Error> {
        let mut cache = LruCacheOptions::default();
        cache.set_capacity(budget.memory_bytes);
        cache.set_num_shard_bits(cache_part_bits(budget.memory_bytes));
        let cache = Cache::new_lru_cache_opts(&cache);
        // A stall in here would block writers of all stores, for ever on a full disk.
        let write_buffers = WriteBufferManager::new_write_buffer_manager_with_cache(
            budget.unflushed_bytes(),
            false,
            cache.clone(),
        );
        // The environment of the process, with its threads; not one of its own.
        let mut env = Env::new()?;
        env.set_high_priority_background_threads(c_int_of(flush_threads(&budget)));
        env.set_low_priority_background_threads(c_int_of(merge_threads(&budget)));
        Ok(Engine { budget, cache, write_buffers, env })
    }

    /// Bytes of rows that are not yet in files, of all stores.
    pub fn unflushed_bytes(&self) -> usize {
        self.write_buffers.get_usage()
    }

    /// Bytes of cache in use; the unflushed rows are charged to it.
    pub fn cache_bytes(&self) -> usize {
        self.cache.get_usage()
    }

    /// Options of a store's database.
    pub fn database_options(&self, share: Share) -> Result<Options, rocksdb::Error> {
        let mut options = Options::default().get_options_from_string(NAMED_OPTIONS)?;
        options.create_if_missing(true);
        options.set_env(&self.env);
        options.set_write_buffer_manager(&self.write_buffers);
        options.set_paranoid_checks(true);
        options.set_max_open_files(c_int_of(share.files));
        // The table of open files is cut into parts for many readers; a store has one.
        options.set_table_cache_num_shard_bits(0);
        // Of one store: all threads that merge, and one that flushes.
        options.set_max_background_jobs(c_int_of(merge_threads(&self.budget) + 1));
        // One thread writes to a store.
        options.set_allow_concurrent_memtable_write(false);
        // Opening many stores at once must not read all their files.
        options.set_skip_stats_update_on_db_open(true);
        options.set_max_manifest_file_size(16 << 20);
        // Taken from the disk at once, in every store.
        options.set_manifest_preallocation_size(64 << 10);
        options.set_log_level(LogLevel::Warn);
        options.set_max_log_file_size(1 << 20);
        options.set_keep_log_file_num(4);
        options.set_stats_dump_period_sec(0);
        options.set_stats_persist_period_sec(0);
        Ok(options)
    }

    /// The one column family, with its options. Sightings and position live in it together:
    /// separate families tear apart in a crash.
    ///
    /// Merges leave out what lies below `horizon`.
    pub fn families(
        &self,
        share: Share,
        horizon: Horizon,
    ) -> Result<[ColumnFamilyDescriptor; 1], rocksdb::Error> {
        let mut options = Options::default().get_options_from_string(NAMED_OPTIONS)?;
        options.set_compaction_filter_factory(LeaveOutBelow(horizon));
        options.set_block_based_table_factory(&self.table_options());
        options.set_write_buffer_size(share.memtable_bytes);
        options.set_memtable_prefix_bloom_ratio(MEMTABLE_FILTER_RATIO);
        options.set_memtable_whole_key_filtering(true);
        options.set_max_write_buffer_number(3);
        options.set_arena_block_size(ARENA_BLOCK_BYTES);
        options.set_compression_type(DBCompressionType::Lz4);
        options.set_level_compaction_dynamic_level_bytes(true);
        options.set_target_file_size_base(FILE_BYTES);
        options.set_max_bytes_for_level_base(4 * FILE_BYTES);
        options.set_level_zero_file_num_compaction_trigger(4);
        options.set_level_zero_slowdown_writes_trigger(LEVEL0_FILES_MAX.into());
        options.set_level_zero_stop_writes_trigger(LEVEL0_FILES_MAX.into());
        options.set_soft_pending_compaction_bytes_limit(0);
        options.set_hard_pending_compaction_bytes_limit(0);
        Ok([ColumnFamilyDescriptor::new(DEFAULT_COLUMN_FAMILY_NAME, options)])
    }

    /// Filters and indexes live in the cache: their bound is the cache's. They are not cut into
    /// smaller blocks, which doubles the cost of a look-up and saves memory only where old event
    /// times come again and again.
    fn table_options(&self) -> BlockBasedOptions {
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(&self.cache);
        table.set_block_size(BLOCK_BYTES);
        table.set_bloom_filter(FILTER_BITS_A_KEY, false);
        table.set_cache_index_and_filter_blocks(true);
        table
    }
}

/// Threads that write rows to files: half, since many small stores wait for the disk.
fn flush_threads(budget: &StoreBudget) -> usize {
    (budget.background_threads / 2).max(1)
}

/// Threads that merge files.
fn merge_threads(budget: &StoreBudget) -> usize {
    budget.background_threads.saturating_sub(flush_threads(budget)).max(1)
}

/// Logarithm of the number of parts of the cache.
fn cache_part_bits(memory_bytes: usize) -> c_int {
    c_int_of((memory_bytes / CACHE_PART_BYTES).checked_ilog2().map_or(0, |bits| bits as usize))
        .min(6)
}

/// Budgets beyond 2^31 files or threads are as good as the greatest that RocksDB can be told.
fn c_int_of(count: usize) -> c_int {
    c_int::try_from(count).unwrap_or(c_int::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocksdb::DB;

    /// What RocksDB wrote down as being in force.
    fn effective(path: &std::path::Path) -> String {
        let newest = std::fs::read_dir(path)
            .expect("directory of the store")
            .filter_map(Result::ok)
            .filter(|file| file.file_name().to_string_lossy().starts_with("OPTIONS-"))
            .max_by_key(std::fs::DirEntry::file_name)
            .expect("options file");
        std::fs::read_to_string(newest.path()).expect("readable")
    }

    fn section<'a>(options: &'a str, name: &str) -> &'a str {
        let (_, rest) = options.split_once(&format!("[{name}]")).expect(name);
        rest.split("\n[").next().unwrap_or(rest)
    }

    /// Whether a line is one of options in braces, and this is one of them.
    fn is_within(options: &str, option: &str) -> bool {
        options.trim().split(['{', '}', ';']).skip(1).any(|one| one == option)
    }

    #[test]
    fn what_is_set_is_in_force() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let engine = Engine::new(StoreBudget::default()).expect("engine");
        let share = Share { files: 64, memtable_bytes: 8 << 20 };
        let db = DB::open_cf_descriptors(
            &engine.database_options(share).expect("options"),
            dir.path(),
            engine.families(share, Horizon::none()).expect("families"),
        )
        .expect("opens");
        let options = effective(dir.path());
        let expected = [
            (
                "DBOptions",
                &[
                    "paranoid_checks=true",
                    "max_open_files=64",
                    "max_background_jobs=3",
                    "avoid_flush_during_shutdown=true",
                    "max_bgerror_resume_count=0",
                    "allow_concurrent_memtable_write=false",
                    "use_fsync=false",
                    "manifest_preallocation_size=65536",
                ][..],
            ),
            (
                "CFOptions \"default\"",
                &[
                    "compression=kLZ4Compression",
                    "write_buffer_size=8388608",
                    "memtable_prefix_bloom_size_ratio=0.012500",
                    "memtable_whole_key_filtering=true",
                    "max_write_buffer_number=3",
                    "arena_block_size=16384",
                    "level0_slowdown_writes_trigger=24",
                    "level0_stop_writes_trigger=24",
                    "target_file_size_base=33554432",
                    "ttl=0",
                    "periodic_compaction_seconds=0",
                    "uncache_aggressiveness=10000",
                    "memtable_insert_with_hint_prefix_extractor=rocksdb.FixedPrefix.1",
                    "max_compressed_bytes_per_kb=998",
                    "compaction_filter_factory=oncegate.horizon",
                    "soft_pending_compaction_bytes_limit=0",
                ],
            ),
            (
                "TableOptions/BlockBasedTable \"default\"",
                &[
                    "filter_policy=bloomfilter",
                    "cache_index_and_filter_blocks=true",
                    "whole_key_filtering=true",
                    "block_size=8192",
                ],
            ),
        ];
        for (name, lines) in expected {
            let section = section(&options, name);
            for line in lines {
                let found = section.lines().any(|l| l.trim() == *line || is_within(l, line));
                assert!(found, "{line} in {section}");
            }
        }
        assert_eq!(options.matches("[CFOptions ").count(), 1);
        drop(db);
    }
}
