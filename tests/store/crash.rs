//! What a crash leaves: a prefix of the writes, sightings and position together.

use crate::contract::{open, stores};
use crate::journal::{Journal, assert_holds, keys_of_entry};
use oncegate::store::{PartitionStore, RocksStores, StoreBudget, Stores};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const KEYS: u64 = 500;
const DIR: &str = "ONCEGATE_TEST_STORE_DIR";

/// Little memory, so that files are written and merged while entries come.
fn small() -> StoreBudget {
    StoreBudget { memory_bytes: 8 << 20, ..StoreBudget::default() }
}

#[test]
fn a_drop_without_flush_keeps_what_was_flushed() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let stores = stores(dir.path());
    let mut journal = Journal::new();
    let mut store = open(&stores);
    let first = journal.write(&[1, 2, 3]);
    store.apply(&first.receipt(), &first.changed).expect("apply");
    store.flush().expect("flush");
    let second = journal.write(&[3, 4]);
    store.apply(&second.receipt(), &second.changed).expect("apply");
    drop(store);
    let mut store = open(&stores);
    assert_eq!(store.position(), Some(first.receipt().position()));
    let mut before = Journal::new();
    before.write(&[1, 2, 3]);
    assert_holds(&mut store, 0..10, &before);
    store.restore(&second.receipt_of_journal(), &second.read).expect("restore");
    assert_holds(&mut store, 0..10, &journal);
}

/// Not a test of its own: the process that [`a_killed_process_leaves_a_prefix`] kills. It applies
/// entries without end and says the number of each.
#[test]
#[ignore = "run by another test in a process of its own"]
fn child_that_is_killed() {
    let dir = std::env::var(DIR).expect("run by another test");
    let stores = RocksStores::open(Path::new(&dir), small()).expect("registry");
    let mut store = stores.open("orders", 0).expect("store");
    let mut journal = Journal::new();
    for number in 1.. {
        let entry = journal.write(&keys_of_entry(number, KEYS));
        if store.position().is_some_and(|position| position.number >= number) {
            continue;
        }
        if number % 2 == 0 {
            store.apply(&entry.receipt(), &entry.changed).expect("apply");
        } else {
            store.restore(&entry.receipt_of_journal(), &entry.read).expect("restore");
        }
        println!("\napplied {number}");
    }
}

/// Runs the child until it has applied this entry, kills it, and gives the last entry it named.
fn kill_after(dir: &Path, number: u64) -> u64 {
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args(["crash::child_that_is_killed", "--exact", "--ignored", "--nocapture"])
        .env(DIR, dir)
        .stdout(Stdio::piped())
        .spawn()
        .expect("child");
    let mut applied = 0;
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    for line in lines.map_while(Result::ok) {
        if let Some(text) = line.strip_prefix("applied ") {
            applied = text.parse().expect("a number");
        }
        // Killing it again while its last lines are read does no harm.
        if applied >= number {
            child.kill().expect("killed");
        }
    }
    assert!(!child.wait().expect("ended").success(), "it was killed and did not end by itself");
    applied
}

#[test]
fn a_killed_process_leaves_a_prefix() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut journal = Journal::new();
    let mut flushed_once = false;
    for kill_at in [3, 60, 150, 151, 300] {
        let applied = kill_after(dir.path(), kill_at);
        assert!(applied >= kill_at, "the child ended at {applied}");
        let stores = RocksStores::open(dir.path(), small()).expect("registry");
        let mut store = stores.open("orders", 0).expect("store");
        let number = store.position().map_or(0, |position| position.number);
        // An entry may be in a file whose line was not printed yet.
        assert!(number <= applied + 1, "entry {number} was never applied, {applied} was");
        while journal.head.number < number {
            journal.write(&keys_of_entry(journal.head.number + 1, KEYS));
        }
        let head = store.position().map_or(oncegate::journal::ChainHead::EMPTY, |p| p.head());
        assert_eq!(head, journal.head);
        assert_holds(&mut store, 0..(applied + 10) * KEYS, &journal);
        flushed_once |= number > 0;
    }
    assert!(flushed_once, "no child lived long enough to write a file: the test shows nothing");
}
