//! What all stores of a process may use together.
//! Must not be in here: figures times partitions. A bound that grows with them is none.

use super::StoreError;
use std::path::Path;
use std::time::Duration;

/// The fewest files that RocksDB works with in one store.
pub(super) const STORE_FILES_MIN: usize = 20;
/// More would only keep readers of old files in memory.
const STORE_FILES_MAX: usize = 512;
/// Stores for which the fewest files are kept back.
const STORES_LIKELY: usize = 256;

/// A budget of the process for all partition stores together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreBudget {
    /// Block cache, rows not yet written to files, filters and indexes of all stores. On top come
    /// what RocksDB needs for an open store (some 0.4 MB, measured with 200), for the readers of
    /// open files (some 10 kB each) and for background threads (some 10 MB each).
    pub memory_bytes: usize,
    /// Files that all stores may hold open. At most half of what the process may open is used,
    /// the other half is for connections.
    pub open_files_max: usize,
    /// Threads that write files and merge them, for all stores.
    pub background_threads: usize,
    /// Disk for stores of partitions that other processes serve now, in bytes.
    pub left_bytes_max: u64,
    /// For so long after the start none of them is deleted: the process opens its own one by one.
    pub left_grace: Duration,
}

impl Default for StoreBudget {
    fn default() -> StoreBudget {
        StoreBudget {
            memory_bytes: 512 << 20,
            open_files_max: 8192,
            background_threads: 4,
            left_bytes_max: 10 << 30,
            left_grace: Duration::from_secs(600),
        }
    }
}

impl StoreBudget {
    /// Bytes of rows that are not yet in files, of all stores: a quarter, so that the other three
    /// hold filters, indexes and blocks.
    pub(super) fn unflushed_bytes(&self) -> usize {
        self.memory_bytes / 4
    }

    /// Bytes after which a store writes a file, where `open` stores were opened before it. Later
    /// ones get less: each part-filled store keeps its rows, and a filter for as many as it may
    /// hold. Twice as much fits, since rows stay in memory while they are written to a file; not where
    /// there are very many stores, whose files below 1 MB would be too many (`pressure` sees to those).
    pub(super) fn memtable_bytes(&self, open: usize) -> usize {
        (self.unflushed_bytes() / 2 / (open + 1).clamp(4, 64)).clamp(1 << 20, 64 << 20)
    }
}

/// What one store may use of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// Files that it may hold open.
    pub files: usize,
    /// Bytes of rows after which it writes a file.
    pub memtable_bytes: usize,
}

/// The files that stores may hold open, dealt out store by store.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileHandles {
    /// All that there are for stores.
    total: usize,
    /// What the process may open, where the system tells.
    limit: Option<usize>,
}

impl FileHandles {
    pub fn of(budget: &StoreBudget, limit: Option<usize>) -> FileHandles {
        FileHandles { total: budget.open_files_max.min(limit.unwrap_or(usize::MAX) / 2), limit }
    }

    /// What the next store gets, where `open` stores have got `dealt` files; `free` is how many
    /// more files the process can open now.
    ///
    /// The fewest that work are kept for as many stores as a process is likely to have; what is
    /// left beyond them goes to the first stores, a part to each.
    pub fn deal(
        &self,
        path: &Path,
        open: usize,
        dealt: usize,
        free: Option<usize>,
    ) -> Result<usize, StoreError> {
        let rest = self.total.saturating_sub(dealt);
        if rest < STORE_FILES_MIN || free.is_some_and(|free| free < STORE_FILES_MIN) {
            return Err(self.too_few(path, open + 1));
        }
        let to_come = STORES_LIKELY.saturating_sub(open).max(1);
        let spare = rest.saturating_sub(to_come * STORE_FILES_MIN) / 16;
        Ok((STORE_FILES_MIN + spare).min(STORE_FILES_MAX))
    }

    fn too_few(&self, path: &Path, stores: usize) -> StoreError {
        let needed = stores * STORE_FILES_MIN;
        let limit = self.limit.map_or("an unknown number".to_owned(), |limit| limit.to_string());
        StoreError::NoFileHandles {
            path: path.to_owned(),
            detail: format!(
                "with it {stores} stores are open and need at least {needed} files; the process \
                 may open {limit} and stores {}; raise the limit of the process (`ulimit -n`, \
                 LimitNOFILE) to at least {} and the stores' budget of files to at least {needed}",
                self.total,
                needed * 2,
            ),
        }
    }
}

/// How many files the process may open; `None` where the system does not tell.
pub fn open_files_limit() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// How many more files the process can open now.
pub(super) fn open_files_free(limit: Option<usize>) -> Option<usize> {
    let open = std::fs::read_dir("/proc/self/fd").ok();
    // No handle left to read the directory with: none is free.
    Some(limit?.saturating_sub(open.map_or(usize::MAX, Iterator::count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens stores until one is refused or there are enough.
    fn deal_all(files: &FileHandles, stores_max: usize) -> Vec<usize> {
        let mut dealt: Vec<usize> = Vec::new();
        while dealt.len() < stores_max {
            match files.deal(Path::new("/s"), dealt.len(), dealt.iter().sum(), None) {
                Ok(share) => dealt.push(share),
                Err(_) => break,
            }
        }
        dealt
    }

    #[test]
    fn never_more_is_dealt_than_there_is() {
        let budget = StoreBudget::default();
        for limit in [64, 256, 1024, 20_000, 1 << 20] {
            let files = FileHandles::of(&budget, Some(limit));
            let dealt = deal_all(&files, 10_000);
            assert!(dealt.iter().all(|share| (STORE_FILES_MIN..=STORE_FILES_MAX).contains(share)));
            let total: usize = dealt.iter().sum();
            assert!(total <= budget.open_files_max && total <= limit / 2, "{limit}: {total}");
            assert!(total + STORE_FILES_MIN > budget.open_files_max.min(limit / 2), "{limit}");
        }
    }

    #[test]
    fn two_hundred_partitions_fit_the_default() {
        let files = FileHandles::of(&StoreBudget::default(), Some(20_000));
        let dealt = deal_all(&files, 200);
        assert_eq!(dealt.len(), 200);
        assert!(dealt[0] > 100, "{dealt:?}");
    }

    #[test]
    fn too_few_files_are_named_with_how_many_are_needed() {
        let files = FileHandles::of(&StoreBudget::default(), Some(64));
        let path = Path::new("/s");
        assert_eq!(files.deal(path, 0, 0, Some(40)), Ok(STORE_FILES_MIN));
        assert!(files.deal(path, 0, 0, Some(3)).is_err());
        let Err(error) = files.deal(path, 7, 7 * STORE_FILES_MIN, Some(40)) else {
            panic!("eight stores cannot work with 64 files");
        };
        let text = error.to_string();
        assert!(text.contains("8 stores") && text.contains("at least 320"), "{text}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_tells_its_limits() {
        let limit = open_files_limit();
        assert!(limit.is_some_and(|limit| limit > 20));
        assert!(open_files_free(limit) < limit);
    }
}
