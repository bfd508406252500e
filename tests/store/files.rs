//! Whose the files are, and what happens to them.

use crate::contract::{open, stores};
use crate::journal::{Journal, assert_holds};
use oncegate::store::{PartitionStore, RocksStores, StoreBudget, StoreError, Stores};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[test]
fn a_store_is_open_once() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let stores = stores(dir.path());
    let store = open(&stores);
    let in_use = |result: Result<_, StoreError>| matches!(result, Err(StoreError::InUse { .. }));
    assert!(in_use(stores.clone().open("orders", 0).map(drop)));
    assert!(in_use(stores.set_aside("orders", 0, "hash-differs").map(drop)));
    // Another registry stands for another process: RocksDB's own lock.
    let other = RocksStores::open(dir.path(), StoreBudget::default()).expect("registry");
    assert!(in_use(other.open("orders", 0).map(drop)));
    stores.open("orders", 1).expect("another partition");
    stores.open("returns", 0).expect("another route");
    drop(store);
    stores.open("orders", 0).expect("free again");
}

#[test]
fn stores_that_were_left_keep_within_their_budget() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut journal = Journal::new();
    let entry = journal.write(&(0..100).collect::<Vec<u64>>());
    let fill = |budget: StoreBudget, partition| {
        let stores = RocksStores::open(dir.path(), budget).expect("registry");
        let mut store = stores.open("orders", partition).expect("store");
        if store.position().is_none() {
            store.apply(&entry.receipt(), &entry.changed).expect("applied");
            store.flush().expect("flushed");
        }
    };
    let there = |partition: i32| dir.path().join(format!("stores/orders/{partition}")).exists();
    (0..3).for_each(|partition| fill(StoreBudget::default(), partition));
    assert!(there(0) && there(1) && there(2), "all have room");
    let none = StoreBudget { left_bytes_max: 0, ..StoreBudget::default() };
    fill(none, 1);
    assert!(there(0) && there(2), "right after the start they may be the process's own");
    let none = StoreBudget { left_grace: Duration::ZERO, ..none };
    fill(none, 1);
    assert!(!there(0) && there(1) && !there(2), "only the one in use is left");
    fill(none, 1);
    let stores = RocksStores::open(dir.path(), none).expect("registry");
    let store = stores.open("orders", 1).expect("store");
    assert_eq!(store.position().map(|position| position.number), Some(1), "it is as it was");
}

/// A store that waits for its turn, or whose partition is refused, is not open; nor is it left.
#[test]
fn stores_of_partitions_that_are_served_are_not_left() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let budget =
        StoreBudget { left_bytes_max: 0, left_grace: Duration::ZERO, ..StoreBudget::default() };
    let stores = RocksStores::open(dir.path(), budget).expect("registry");
    let there = |partition: i32| dir.path().join(format!("stores/orders/{partition}")).exists();
    let touch = |partition| {
        stores.serve("orders", partition);
        drop(stores.open("orders", partition).expect("store"));
    };
    (0..3).for_each(touch);
    assert!(there(0) && there(1) && there(2), "all are served");
    stores.leave("orders", 1);
    drop(stores.open("orders", 2).expect("store"));
    assert!(there(0) && !there(1) && there(2), "only that one is served no more");
    // From one worker to another, of which the first is slow to leave.
    stores.serve("orders", 0);
    stores.leave("orders", 0);
    drop(stores.open("orders", 2).expect("store"));
    assert!(there(0), "the second serves it");
}

#[test]
fn handing_over_under_load_never_meets_a_store_that_is_closing() {
    let dir = tempfile::tempdir().expect("temporary directory");
    // So little memory that every write looks for a store to flush, and holds others meanwhile.
    let budget = StoreBudget { memory_bytes: 1 << 18, ..StoreBudget::default() };
    let stores = RocksStores::open(dir.path(), budget).expect("registry");
    std::thread::scope(|scope| {
        for partition in 0..3 {
            let stores = &stores;
            scope.spawn(move || {
                let mut journal = Journal::new();
                let mut store = stores.open("orders", partition).expect("store");
                for round in 0..60_u64 {
                    let keys: Vec<u64> = (round * 200..(round + 1) * 200).collect();
                    let entry = journal.write(&keys);
                    store.apply(&entry.receipt(), &entry.changed).expect("apply");
                    store.flush().expect("flush");
                    if round % 5 == 0 {
                        drop(store);
                        store = stores.open("orders", partition).expect("store");
                    }
                }
                assert_holds(&mut store, 0..60 * 200, &journal);
            });
        }
    });
}

#[test]
fn what_is_set_aside_is_kept() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let stores = stores(dir.path());
    for n in 1..=2 {
        let mut journal = Journal::new();
        let mut store = open(&stores);
        assert_eq!(store.position(), None);
        let entry = journal.write(&[1, 2, 3]);
        store.apply(&entry.receipt(), &entry.changed).expect("apply");
        store.flush().expect("flush");
        drop(store);
        let moved = stores.set_aside("orders", 0, "hash-differs").expect("set aside");
        assert_eq!(moved, dir.path().join(format!("aside/orders-0-hash-differs-{n}")));
        assert!(moved.join("CURRENT").is_file());
    }
    let missing = stores.set_aside("orders", 7, "gone");
    assert!(matches!(missing, Err(StoreError::Io { .. })), "{missing:?}");
}

#[test]
fn a_route_is_no_way_out_of_the_directory() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let stores = stores(dir.path());
    for route in ["", ".", "..", "../x", "a/b", "a b"] {
        assert!(stores.open(route, 0).is_err(), "{route}");
    }
}

/// Makes a store with some files, and closes it.
fn fill(stores: &RocksStores) {
    let mut journal = Journal::new();
    let mut store = open(stores);
    for number in 0..3_u64 {
        let entry = journal.write(&(number * 3000..(number + 1) * 3000).collect::<Vec<_>>());
        store.apply(&entry.receipt(), &entry.changed).expect("apply");
        store.flush().expect("flush");
    }
}

fn files(dir: &Path, end: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir)
        .expect("directory")
        .map(|file| file.expect("file").path())
        .filter(|path| path.extension().is_some_and(|e| e == end))
        .collect();
    files.sort();
    files
}

/// Opens the store and reads all of it.
fn read_all(stores: &RocksStores) -> Result<(), StoreError> {
    let mut store = stores.open("orders", 0)?;
    let mut keys: Vec<_> = (0..9000).map(crate::journal::key).collect();
    keys.sort_unstable();
    store.look_up(&keys, &mut Vec::new())
}

#[test]
fn damage_is_found_and_the_files_stay() {
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 4] = [
        ("a byte of rows flipped", |dir| {
            let path = &files(dir, "sst")[0];
            let mut bytes = fs::read(path).expect("file");
            bytes[1000] ^= 0x40;
            fs::write(path, bytes).expect("file");
        }),
        ("a file gone", |dir| fs::remove_file(&files(dir, "sst")[0]).expect("removed")),
        ("a file cut", |dir| {
            let file = fs::File::options().write(true).open(&files(dir, "sst")[0]);
            file.and_then(|file| file.set_len(1000)).expect("cut");
        }),
        ("CURRENT gone", |dir| fs::remove_file(dir.join("CURRENT")).expect("removed")),
    ];
    for (name, harm) in harms {
        let dir = tempfile::tempdir().expect("temporary directory");
        let stores = stores(dir.path());
        fill(&stores);
        let path = dir.path().join("stores/orders/0");
        harm(&path);
        let kept = files(&path, "sst").len();
        let read = read_all(&stores);
        assert!(matches!(read, Err(StoreError::Damaged { .. })), "{name}: {read:?}");
        let text = read.map_err(|error| error.to_string());
        assert!(text.as_ref().is_err_and(|text| text.contains("set it aside")), "{text:?}");
        let aside = stores.set_aside("orders", 0, "damaged").expect("set aside");
        assert_eq!(files(&aside, "sst").len(), kept, "{name}");
        assert_eq!(open(&stores).position(), None, "{name}");
    }
}
