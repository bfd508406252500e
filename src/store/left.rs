//! Stores of partitions that other processes serve now. They are kept, so that a partition that
//! comes back needs only the journal's tail, but within a budget of the disk.
//! Must not be in here: stores that were set aside, which may be a witness; or one that is open.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A store that is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OnDisk {
    /// Route and partition.
    pub name: (String, i32),
    /// Its directory.
    pub path: PathBuf,
    /// Bytes of its files.
    pub bytes: u64,
    /// When a file of it was last made or deleted.
    pub used: SystemTime,
}

/// The stores below `<state_dir>/stores`. What cannot be read is left out: it is not deleted.
pub(super) fn on_disk(stores: &Path) -> Vec<OnDisk> {
    let mut found = Vec::new();
    for route in entries(stores) {
        for path in entries(&route) {
            let name = (file_name(&route), file_name(&path).parse());
            let (route, Ok(partition)) = name else { continue };
            let Some(used) = modified(&path) else { continue };
            let sizes = entries(&path).into_iter().filter_map(|file| fs::metadata(file).ok());
            let bytes = sizes.map(|metadata| metadata.len()).sum();
            found.push(OnDisk { name: (route, partition), path, bytes, used });
        }
    }
    found
}

/// Those to delete, so that the others have at most `bytes_max`: the ones used longest ago.
pub(super) fn beyond(mut left: Vec<OnDisk>, bytes_max: u64) -> Vec<OnDisk> {
    left.sort_by_key(|store| std::cmp::Reverse(store.used));
    let mut room = bytes_max;
    let keeps = |store: &OnDisk| match room.checked_sub(store.bytes) {
        Some(rest) => {
            room = rest;
            true
        }
        None => {
            room = 0;
            false
        }
    };
    let kept = left.iter().map(keeps).take_while(|kept| *kept).count();
    left.split_off(kept)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(folder).into_iter().flatten();
    read.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn store(partition: i32, bytes: u64, used: u64) -> OnDisk {
        let used = SystemTime::UNIX_EPOCH + Duration::from_secs(used);
        OnDisk { name: ("r".into(), partition), path: PathBuf::new(), bytes, used }
    }

    #[test]
    fn the_ones_used_longest_ago_go() {
        let left = vec![store(0, 50, 3), store(1, 40, 9), store(2, 30, 5), store(3, 10, 1)];
        let gone = |bytes_max| -> Vec<i32> {
            beyond(left.clone(), bytes_max).iter().map(|store| store.name.1).collect()
        };
        assert_eq!(gone(130), [0; 0]);
        assert_eq!(gone(129), [3]);
        assert_eq!(gone(119), [0, 3]);
        assert_eq!(gone(40), [2, 0, 3], "what is older than one that goes, goes too");
        assert_eq!(gone(0), [1, 2, 0, 3]);
    }
}
