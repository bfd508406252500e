//! Which stores are open, and where their files are.
//!
//! ```text
//! <state_dir>/stores/<route>/<partition>/                    a store
//! <state_dir>/aside/<route>-<partition>-<reason>-<n>/        one that was set aside
//! ```
//!
//! Must not be in here: which of the stores that nobody uses are deleted.

use super::budget::{FileHandles, Share, StoreBudget, open_files_free, open_files_limit};
use super::cache::CacheCounts;
use super::handle::OpenStore;
use super::left;
use super::options::Engine;
use super::pressure::{self, Unflushed};
use super::rocks::RocksStore;
use super::{StoreError, Stores};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

/// The stores of one state directory. Clones are handles of the same registry.
#[derive(Clone)]
pub struct RocksStores {
    shared: Arc<Shared>,
}

type StoreName = (String, i32);

struct Shared {
    state_dir: PathBuf,
    began: Instant,
    budget: StoreBudget,
    engine: Engine,
    handles: FileHandles,
    files_limit: Option<usize>,
    open: Mutex<HashMap<StoreName, Slot>>,
    closed: Condvar,
    served: Mutex<HashMap<StoreName, Served>>,
    cache: CacheCounts,
}

/// Whether this process serves a store's partition, which may be while nobody has the store open:
/// its takeover waits for its turn, or it is refused. Counted, since one worker may leave it only
/// after another has begun to serve it.
struct Served {
    workers: i64,
    changed: Instant,
}

/// A store that is open or about to be closed.
struct Slot {
    share: Share,
    /// The owner has dropped it; another thread, that was looking at it, closes it any moment.
    closing: bool,
    store: Weak<OpenStore>,
}

/// The right to a store's files. While it lives, nobody else has it.
pub(super) struct Lease {
    shared: Arc<Shared>,
    name: StoreName,
    share: Share,
}

impl RocksStores {
    /// Stores below a state directory, which must be this process's alone.
    ///
    /// # Errors
    /// Where the directory cannot be made.
    pub fn open(state_dir: &Path, budget: StoreBudget) -> Result<RocksStores, StoreError> {
        let files_limit = open_files_limit();
        let engine =
            Engine::new(budget).map_err(|error| StoreError::of_rocksdb(state_dir, &error))?;
        make_dir(&state_dir.join("stores"))?;
        let shared = Shared {
            state_dir: state_dir.to_owned(),
            began: Instant::now(),
            budget,
            engine,
            handles: FileHandles::of(&budget, files_limit),
            files_limit,
            open: Mutex::default(),
            closed: Condvar::new(),
            served: Mutex::default(),
            cache: CacheCounts::default(),
        };
        Ok(RocksStores { shared: Arc::new(shared) })
    }

    /// Blocks that look-ups found in the cache since the start, and blocks that they had to read. For
    /// metrics.
    pub fn cache_hits_and_misses(&self) -> (u64, u64) {
        self.shared.cache.hits_and_misses()
    }

    /// Bytes in use of the memory that the budget bounds: cache, with the unflushed rows charged
    /// to it. For metrics.
    pub fn memory_bytes(&self) -> usize {
        self.shared.engine.cache_bytes()
    }
}

impl Stores for RocksStores {
    type Store = RocksStore;

    fn open(&self, route: &str, partition: i32) -> Result<RocksStore, StoreError> {
        let path = self.shared.path(route, partition)?;
        let lease = self.shared.lease(route, partition, &path)?;
        self.shared.keep_within_budget();
        make_dir(&path)?;
        RocksStore::open(path, &self.shared.engine, lease)
    }

    fn set_aside(&self, route: &str, partition: i32, reason: &str) -> Result<PathBuf, StoreError> {
        let path = self.shared.path(route, partition)?;
        let _lease = self.shared.lease(route, partition, &path)?;
        let aside = self.shared.state_dir.join("aside");
        make_dir(&aside)?;
        let free = (1..)
            .map(|n: u64| aside.join(format!("{route}-{partition}-{}-{n}", kebab(reason))))
            .find(|target| !target.exists());
        let Some(target) = free else {
            return Err(other(&aside, "it has no free name left"));
        };
        fs::rename(&path, &target)
            .map_err(|error| StoreError::of_io(&path, "setting it aside", &error))?;
        Ok(target)
    }

    fn serve(&self, route: &str, partition: i32) {
        self.shared.count_served(route, partition, 1);
    }

    fn leave(&self, route: &str, partition: i32) {
        self.shared.count_served(route, partition, -1);
    }
}

impl Shared {
    fn path(&self, route: &str, partition: i32) -> Result<PathBuf, StoreError> {
        let stores = self.state_dir.join("stores");
        let is_name = !route.is_empty()
            && !route.starts_with('.')
            && route.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
        if !is_name {
            return Err(other(&stores, "the route's name is none for a directory"));
        }
        Ok(stores.join(route).join(partition.to_string()))
    }

    /// Deletes stores of partitions that this process has not served for a while and that are more
    /// than the budget allows: whoever needs one again builds it from the journal.
    fn keep_within_budget(self: &Arc<Self>) {
        if self.began.elapsed() < self.budget.left_grace {
            return;
        }
        let mut left = left::on_disk(&self.state_dir.join("stores"));
        {
            let open = self.lock();
            let served = self.served();
            left.retain(|store| {
                let left = served.get(&store.name).is_none_or(|served| {
                    served.workers <= 0 && served.changed.elapsed() >= self.budget.left_grace
                });
                left && !open.contains_key(&store.name)
            });
        }
        for store in left::beyond(left, self.budget.left_bytes_max) {
            let (route, partition) = &store.name;
            let Ok(_lease) = self.lease(route, *partition, &store.path) else { continue };
            match fs::remove_dir_all(&store.path) {
                Ok(()) => tracing::info!(
                    route,
                    partition,
                    bytes = store.bytes,
                    "deleted the store of a partition that another process serves: such stores have more than `left` of [store]"
                ),
                Err(error) => tracing::warn!(
                    route,
                    partition,
                    "the store of a partition that another process serves cannot be deleted: {error}"
                ),
            }
        }
    }

    /// Takes a store for oneself, and its part of the files.
    fn lease(
        self: &Arc<Self>,
        route: &str,
        partition: i32,
        path: &Path,
    ) -> Result<Lease, StoreError> {
        let name = (route.to_owned(), partition);
        let mut open = self.lock();
        while let Some(slot) = open.get(&name) {
            if !slot.closing {
                return Err(StoreError::InUse { path: path.to_owned() });
            }
            open = self.closed.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
        let dealt = open.values().map(|slot| slot.share.files).sum();
        let free = open_files_free(self.files_limit);
        let files = self.handles.deal(path, open.len(), dealt, free)?;
        let share = Share { files, memtable_bytes: self.budget.memtable_bytes(open.len()) };
        open.insert(name.clone(), Slot { share, closing: false, store: Weak::new() });
        Ok(Lease { shared: Arc::clone(self), name, share })
    }

    fn count_served(&self, route: &str, partition: i32, by: i64) {
        let now = Instant::now();
        let mut all = self.served();
        let served = (all.entry((route.to_owned(), partition)))
            .or_insert(Served { workers: 0, changed: now });
        *served = Served { workers: served.workers + by, changed: now };
    }

    fn served(&self) -> MutexGuard<'_, HashMap<StoreName, Served>> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread that panicked left the map as it was before or after one change, never between.
    fn lock(&self) -> MutexGuard<'_, HashMap<StoreName, Slot>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    /// What the store may use.
    pub fn share(&self) -> Share {
        self.share
    }

    /// Where look-ups count what the cache gave them.
    pub fn cache(&self) -> &CacheCounts {
        &self.shared.cache
    }

    /// Shows the open store to the others, for [`make_room`](Lease::make_room).
    pub fn show(&self, store: &Arc<OpenStore>) {
        if let Some(slot) = self.shared.lock().get_mut(&self.name) {
            slot.store = Arc::downgrade(store);
        }
    }

    /// The owner drops its store. Whoever opens it next waits until it is closed, should another
    /// thread still be looking at it.
    pub fn give_up(&self) {
        if let Some(slot) = self.shared.lock().get_mut(&self.name) {
            slot.closing = true;
        }
    }

    /// After a write: sees that the unflushed rows of all stores stay within their budget.
    pub fn make_room(&self) {
        pressure::make_room(&*self.shared, self.shared.budget.unflushed_bytes());
    }
}

impl Unflushed for Shared {
    fn bytes(&self) -> usize {
        self.engine.unflushed_bytes()
    }

    fn stores(&self) -> Vec<Arc<OpenStore>> {
        self.lock().values().filter_map(|slot| slot.store.upgrade()).collect()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.shared.lock().remove(&self.name);
        self.shared.closed.notify_all();
    }
}

fn make_dir(path: &Path) -> Result<(), StoreError> {
    fs::create_dir_all(path)
        .map_err(|error| StoreError::of_io(path, "making its directory", &error))
}

/// Makes a word that is safe in a file name.
fn kebab(reason: &str) -> String {
    reason.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn other(path: &Path, detail: &str) -> StoreError {
    StoreError::Other { path: path.to_owned(), detail: detail.to_owned() }
}
