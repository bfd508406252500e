//! Memory, disk and file handles that run out.

use crate::contract::{open, stores};
use crate::journal::{Journal, Written, assert_holds, keys_of_entry};
use oncegate::store::{PartitionStore, RocksStore, RocksStores, StoreBudget, StoreError, Stores};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const DIR: &str = "ONCEGATE_TEST_STORE_DIR";

fn sst_count(dir: &Path, partition: i32) -> usize {
    fs::read_dir(dir.join(format!("stores/orders/{partition}")))
        .expect("directory of the store")
        .filter(|file| {
            let file = file.as_ref().expect("file");
            file.path().extension().is_some_and(|end| end == "sst")
        })
        .count()
}

#[test]
fn small_batches_stay_in_memory() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut store = open(&stores(dir.path()));
    let mut journal = Journal::new();
    for number in 1..=500 {
        let entry = journal.write(&keys_of_entry(number, 50));
        store.apply(&entry.receipt(), &entry.changed).expect("apply");
    }
    assert_eq!(sst_count(dir.path(), 0), 0);
    assert_holds(&mut store, 0..26_000, &journal);
}

/// Quiet partitions hold their rows in memory. The busy one must not pay for them with a file at
/// every batch.
#[test]
fn the_fullest_store_gives_way() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let budget = StoreBudget { memory_bytes: 64 << 20, ..StoreBudget::default() };
    let stores = RocksStores::open(dir.path(), budget).expect("registry");
    let quiet: Vec<RocksStore> = (1..=20)
        .map(|partition| {
            let mut store = stores.open("orders", partition).expect("store");
            let entry = Journal::new().write(&(0..6000).collect::<Vec<_>>());
            store.apply(&entry.receipt(), &entry.changed).expect("apply");
            store
        })
        .collect();
    let mut busy = stores.open("orders", 0).expect("store");
    let mut journal = Journal::new();
    for number in 1..=400 {
        let entry = journal.write(&keys_of_entry(number, 100));
        busy.apply(&entry.receipt(), &entry.changed).expect("apply");
    }
    let written = sst_count(dir.path(), 0);
    assert!(written < 10, "the busy store wrote {written} files in 400 batches");
    let quiet_written: usize =
        quiet.iter().zip(1..).map(|(_, partition)| sst_count(dir.path(), partition)).sum();
    assert!(quiet_written > 0, "no quiet store gave way");
    assert_holds(&mut busy, 0..41_000, &journal);
}

/// Memory is a budget of the process, not a figure times partitions.
#[test]
fn two_hundred_partitions_stay_within_the_budget() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let budget = StoreBudget { memory_bytes: 64 << 20, ..StoreBudget::default() };
    let stores = RocksStores::open(dir.path(), budget).expect("registry");
    let mut partitions: Vec<(RocksStore, Journal)> = (0..200)
        .map(|partition| (stores.open("orders", partition).expect("store"), Journal::new()))
        .collect();
    let mut used_max = 0;
    for number in 1..=3 {
        for (store, journal) in &mut partitions {
            let entry = journal.write(&keys_of_entry(number, 1000));
            store.apply(&entry.receipt(), &entry.changed).expect("apply");
            used_max = used_max.max(stores.memory_bytes());
        }
    }
    for (store, journal) in &mut partitions {
        assert_holds(store, 0..3100, journal);
        used_max = used_max.max(stores.memory_bytes());
    }
    assert!(used_max <= 70 << 20, "{used_max} bytes were used");
}

/// Runs one test of this file in a shell, where limits hold for it alone.
fn run_limited(child: &str, dir: &Path, shell: &[&str], before: &str) -> Output {
    let test = std::env::current_exe().expect("this test");
    let script = format!(
        "{before} && exec '{}' limits::{child} --exact --ignored --nocapture",
        test.display()
    );
    Command::new(shell[0]).args(&shell[1..]).arg(script).env(DIR, dir).output().expect("a shell")
}

fn assert_success(output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{text}\n{errors}", output.status);
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "run by another test in a process of its own"]
fn child_with_few_handles() {
    let dir = std::env::var(DIR).expect("run by another test");
    let stores = stores(Path::new(&dir));
    let mut open = Vec::new();
    let error = loop {
        match stores.open("orders", open.len() as i32) {
            Ok(store) => open.push(store),
            Err(error) => break error,
        }
        assert!(open.len() < 8, "eight stores with 64 file handles");
    };
    let text = error.to_string();
    assert!(matches!(error, StoreError::NoFileHandles { .. }), "{text}");
    assert!(text.contains("may open 64") && text.contains("ulimit -n"), "{text}");
}

#[test]
fn too_few_file_handles_are_one_clear_line() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let output = run_limited("child_with_few_handles", dir.path(), &["sh", "-c"], "ulimit -n 64");
    assert_success(&output);
    open(&stores(dir.path()));
}

/// Applies entries until the store refuses; gives the entry that it refused, and why.
fn fill(store: &mut RocksStore, journal: &mut Journal) -> (Written, StoreError) {
    loop {
        let entry = journal.write(&keys_of_entry(journal.head.number + 1, 2000));
        let applied = store.apply(&entry.receipt(), &entry.changed);
        match applied.and_then(|()| store.flush()) {
            Ok(()) => {}
            Err(error) => return (entry, error),
        }
    }
}

/// On a file system of 24 MB: written full, met full at opening, and freed again.
#[test]
#[ignore = "run by another test in a process of its own"]
fn child_on_a_full_disk() {
    let dir = std::env::var(DIR).expect("run by another test");
    let dir = Path::new(&dir);
    let stores = stores(dir);
    let mut journal = Journal::new();
    let mut store = open(&stores);
    let first = journal.write(&keys_of_entry(1, 2000));
    store.apply(&first.receipt(), &first.changed).expect("apply");
    store.flush().expect("flush");
    let ballast = dir.join("ballast");
    fs::write(&ballast, vec![1; 20 << 20]).expect("ballast");
    let (_, error) = fill(&mut store, &mut journal);
    assert!(matches!(error, StoreError::NoSpace { .. }), "{error}");
    assert_eq!(store.look_up(&[], &mut Vec::new()), Err(error.clone()));
    assert_eq!(store.flush(), Err(error));
    drop(store);
    // To the last byte.
    let mut filler = fs::File::create(dir.join("filler")).expect("file");
    while std::io::Write::write(&mut filler, &[1; 4096]).is_ok_and(|written| written > 0) {}
    for partition in [0, 1] {
        let refused = stores.open("orders", partition).map(drop);
        assert!(matches!(refused, Err(StoreError::NoSpace { .. })), "{refused:?}");
    }
    fs::remove_file(&ballast).expect("removed");
    let mut store = open(&stores);
    let number = store.position().expect("position").number;
    assert!(number >= 1, "the first entry was durable");
    let mut again = Journal::new();
    for n in 1..=journal.head.number {
        let entry = again.write(&keys_of_entry(n, 2000));
        if n > number {
            store.restore(&entry.receipt_of_journal(), &entry.read).expect("restore");
        }
    }
    store.flush().expect("flush");
    assert_eq!(store.position().map(|position| position.head()), Some(journal.head));
    assert_holds(&mut store, 0..journal.head.number * 2000, &journal);
}

/// A file system of its own needs a namespace of its own; where the system grants none, the test
/// says so and ends.
#[test]
fn a_full_disk_stops_the_store_until_there_is_room() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let shell = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"];
    let mount = format!("mount -t tmpfs -o size=24m tmpfs '{}'", dir.path().display());
    let granted = Command::new(shell[0]).args(&shell[1..]).arg(&mount).output();
    if !granted.is_ok_and(|output| output.status.success()) {
        eprintln!("not tested: this system grants no mount namespace");
        return;
    }
    let output = run_limited("child_on_a_full_disk", dir.path(), &shell, &mount);
    assert_success(&output);
}
