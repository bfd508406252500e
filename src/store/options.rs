//! How RocksDB is set up: what all stores share, and the options of one.
//! Must not be in here: an option left to inheritance. A column family does not inherit from its
//! database, so each option is set where it takes effect, and a test reads back what is in force.

use super::budget::StoreBudget;
use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, ColumnFamilyDescriptor, DBCompressionType,
    DEFAULT_COLUMN_FAMILY_NAME, Env, LogLevel, Options, WriteBufferManager,
};
use std::ffi::c_int;

/// Blocks of rows; a look-up of a known key reads one.
const BLOCK_BYTES: usize = 8 << 10;
/// Bits of the filter for each key: one look-up in a hundred reads a block in vain.
const FILTER_BITS_A_KEY: f64 = 10.0;
/// Files of a size that expiry can drop one by one.
const FILE_BYTES: u64 = 64 << 20;
/// Memory is taken in pieces of this size: small, since each store holds a part-filled one.
const ARENA_BLOCK_BYTES: usize = 16 << 10;
/// Files of level 0 at which writes wait. They are not slowed down before: a wait is bounded by
/// the store, a slow-down is not.
const LEVEL0_FILES_MAX: c_int = 24;

/// Options that the Rust interface has no names for.
///
/// - Closing does not flush: what is durable is decided by `flush` alone.
/// - RocksDB does not retry by itself after an error: the store is opened anew by its owner, and
///   retries in the background would hide the error.
/// - Files are not rewritten for their age: the window decides when they go.
const NAMED_OPTIONS: &str = "avoid_flush_during_shutdown=true;max_bgerror_resume_count=0;\
                             ttl=0;periodic_compaction_seconds=0";

/// What all stores of the process share.
pub(super) struct Engine {
    budget: StoreBudget,
    cache: Cache,
    write_buffers: WriteBufferManager,
    env: Env,
}

impl Engine {
    pub fn new(budget: StoreBudget) -> Result<Engine, rocksdb::Error> {
        let cache = Cache::new_lru_cache(budget.memory_bytes);
        // A stall in here would block writers of all stores, for ever on a full disk.
        let write_buffers = WriteBufferManager::new_write_buffer_manager_with_cache(
            budget.unflushed_bytes(),
            false,
            cache.clone(),
        );
        // The environment of the process, with its threads; not one of its own.
        let env = Env::new()?;
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
    pub fn database_options(&self, files_max: usize) -> Result<Options, rocksdb::Error> {
        let mut options = Options::default().get_options_from_string(NAMED_OPTIONS)?;
        options.create_if_missing(true);
        options.set_env(&self.env);
        options.set_write_buffer_manager(&self.write_buffers);
        options.set_paranoid_checks(true);
        options.set_max_open_files(c_int_of(files_max));
        options.set_max_background_jobs(c_int_of(self.budget.background_threads.max(2)));
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
    pub fn families(&self) -> Result<[ColumnFamilyDescriptor; 1], rocksdb::Error> {
        let mut options = Options::default().get_options_from_string(NAMED_OPTIONS)?;
        options.set_block_based_table_factory(&self.table_options());
        options.set_write_buffer_size(self.budget.memtable_bytes());
        options.set_max_write_buffer_number(3);
        options.set_arena_block_size(ARENA_BLOCK_BYTES);
        options.set_compression_type(DBCompressionType::Lz4);
        options.set_level_compaction_dynamic_level_bytes(true);
        options.set_target_file_size_base(FILE_BYTES);
        options.set_max_bytes_for_level_base(4 * FILE_BYTES);
        options.set_level_zero_file_num_compaction_trigger(4);
        options.set_level_zero_slowdown_writes_trigger(LEVEL0_FILES_MAX);
        options.set_level_zero_stop_writes_trigger(LEVEL0_FILES_MAX);
        options.set_soft_pending_compaction_bytes_limit(0);
        options.set_hard_pending_compaction_bytes_limit(0);
        Ok([ColumnFamilyDescriptor::new(DEFAULT_COLUMN_FAMILY_NAME, options)])
    }

    /// Filters and indexes are cut into blocks that live in the cache: their bound is the cache's.
    fn table_options(&self) -> BlockBasedOptions {
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(&self.cache);
        table.set_block_size(BLOCK_BYTES);
        table.set_bloom_filter(FILTER_BITS_A_KEY, false);
        table.set_cache_index_and_filter_blocks(true);
        table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
        table.set_partition_filters(true);
        table.set_pin_top_level_index_and_filter(true);
        table
    }
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

    #[test]
    fn what_is_set_is_in_force() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let engine = Engine::new(StoreBudget::default()).expect("engine");
        let db = DB::open_cf_descriptors(
            &engine.database_options(64).expect("options"),
            dir.path(),
            engine.families().expect("families"),
        )
        .expect("opens");
        let options = effective(dir.path());
        let expected = [
            (
                "DBOptions",
                &[
                    "paranoid_checks=true",
                    "max_open_files=64",
                    "max_background_jobs=4",
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
                    "write_buffer_size=33554432",
                    "max_write_buffer_number=3",
                    "arena_block_size=16384",
                    "level0_slowdown_writes_trigger=24",
                    "level0_stop_writes_trigger=24",
                    "target_file_size_base=67108864",
                    "ttl=0",
                    "periodic_compaction_seconds=0",
                    "soft_pending_compaction_bytes_limit=0",
                ],
            ),
            (
                "TableOptions/BlockBasedTable \"default\"",
                &[
                    "filter_policy=bloomfilter",
                    "cache_index_and_filter_blocks=true",
                    "index_type=kTwoLevelIndexSearch",
                    "partition_filters=true",
                    "block_size=8192",
                ],
            ),
        ];
        for (name, lines) in expected {
            let section = section(&options, name);
            for line in lines {
                assert!(section.lines().any(|l| l.trim() == *line), "{line} in {section}");
            }
        }
        assert_eq!(options.matches("[CFOptions ").count(), 1);
        drop(db);
    }
}
