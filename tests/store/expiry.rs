//! What lies below the horizon goes; nothing else does, and nobody waits for it.

use crate::contract::open;
use crate::journal::Journal;
use oncegate::gate::{SightingKey, Window, WindowState};
use oncegate::identity::{ContentDigest, EventKey};
use oncegate::store::{PartitionStore, RocksStore, RocksStores, StoreBudget};
use std::time::{Duration, Instant};

/// Event time from one event to the next.
const TICK: i64 = 1_000_000;
/// Events in a window.
const WINDOW_EVENTS: u64 = 60_000;
const ENTRY_EVENTS: u64 = 1000;
/// So many files of level 0 are left alone; a merge is due above it.
const MERGED_FROM: u64 = 4;
const WINDOW: Window =
    Window { span_micros: Some(WINDOW_EVENTS as i64 * TICK), future_micros_max: i64::MAX };

fn small() -> StoreBudget {
    StoreBudget { memory_bytes: 16 << 20, ..StoreBudget::default() }
}

/// The nth event; they come out of order within a tenth of a window.
fn event(n: u64) -> (SightingKey, ContentDigest) {
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    hash[24..].copy_from_slice(&n.to_be_bytes());
    let back = n.wrapping_mul(0x5851_f42d_4c95_7f2d) >> 40;
    let micros = (n + WINDOW_EVENTS) as i64 * TICK - (back % (WINDOW_EVENTS / 10)) as i64 * TICK;
    (SightingKey { event_micros: micros, key: EventKey::new(hash) }, ContentDigest::new([1; 16]))
}

/// A store under steady traffic: new events, and one in ten again.
struct Traffic {
    journal: Journal,
    next: u64,
    slowest: Duration,
}

impl Traffic {
    fn new() -> Traffic {
        Traffic { journal: Journal::new(), next: 0, slowest: Duration::ZERO }
    }

    fn run(&mut self, store: &mut RocksStore, windows: u64) {
        for _ in 0..windows {
            for _ in 0..WINDOW_EVENTS / ENTRY_EVENTS {
                self.entry(store);
            }
            self.assert_holds(store);
        }
    }

    fn entry(&mut self, store: &mut RocksStore) {
        let fresh = self.next..self.next + ENTRY_EVENTS;
        let horizon = self.journal.window.horizon_micros;
        let again = fresh.clone().step_by(10).map(|n| n.saturating_sub(WINDOW_EVENTS / 2));
        let events: Vec<_> = (fresh.clone().chain(again).map(event))
            .filter(|(key, _)| key.event_micros >= horizon)
            .collect();
        for (key, _) in &events {
            self.journal.window = self.journal.window.after(&WINDOW, key.event_micros);
        }
        let entry = self.journal.write_keys(events);
        let began = Instant::now();
        store.apply(&entry.receipt(), &entry.changed).expect("apply");
        self.slowest = self.slowest.max(began.elapsed());
        self.next = fresh.end;
        await_merges(store);
    }

    /// Everything from the horizon on is as the model says.
    fn assert_holds(&self, store: &mut RocksStore) {
        let from = SightingKey {
            event_micros: self.journal.window.horizon_micros,
            key: EventKey::new([0; 32]),
        };
        let (keys, expected): (Vec<_>, Vec<_>) = self
            .journal
            .sightings
            .range(from..)
            .map(|(key, sighting)| (*key, Some(*sighting)))
            .unzip();
        assert!(keys.len() as u64 > WINDOW_EVENTS / 2, "the window is not empty");
        let mut found = Vec::new();
        store.look_up(&keys, &mut found).expect("look-up");
        assert!(found == expected, "a sighting of the window is gone or another");
    }
}

/// Waits until merges have caught up: here a window passes in half a second and not in days, which
/// a busy machine's merges do not keep pace with.
fn await_merges(store: &RocksStore) {
    let began = Instant::now();
    while store.size().unmerged_files > MERGED_FROM {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", store.size());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Bytes in files and in memory, on the average over a window: at one moment, files wait to be
/// merged or rows to be written.
fn figures(stores: &RocksStores, store: &mut RocksStore, traffic: &mut Traffic) -> (u64, u64) {
    let (mut files, mut memory) = (0, 0);
    let samples = WINDOW_EVENTS / ENTRY_EVENTS;
    for _ in 0..samples {
        traffic.entry(store);
        files += store.size().disk_bytes;
        memory += stores.memory_bytes() as u64;
    }
    traffic.assert_holds(store);
    (files / samples, memory / samples)
}

#[test]
fn a_store_is_as_large_as_its_window_not_as_its_history() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let stores = RocksStores::open(dir.path(), small()).expect("registry");
    let mut store = open(&stores);
    let mut traffic = Traffic::new();
    traffic.run(&mut store, 2);
    let series: Vec<_> = (2..20).map(|_| figures(&stores, &mut store, &mut traffic)).collect();
    println!(
        "bytes in files and in memory, by window, from the third on: {series:?}; the slowest write \
         took {:?}",
        traffic.slowest
    );
    let average = |of: &[(u64, u64)]| {
        let sum = of.iter().fold((0, 0), |sum, at| (sum.0 + at.0, sum.1 + at.1));
        (sum.0 / of.len() as u64, sum.1 / of.len() as u64)
    };
    let (early, late) = (average(&series[..6]), average(&series[12..]));
    assert!(late.0 * 2 <= early.0 * 3, "files: {early:?} {late:?}");
    assert!(late.1 * 2 <= early.1 * 3, "memory: {early:?} {late:?}");
}

/// Also where it is closed without a flush at every step: what it then lacks at its end comes from
/// the journal, and what its own window needs is there.
#[test]
fn a_crash_between_the_steps_takes_nothing_that_counts() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let stores = RocksStores::open(dir.path(), small()).expect("registry");
    let mut traffic = Traffic::new();
    let mut written = Vec::new();
    for _ in 0..4 * WINDOW_EVENTS / (3 * ENTRY_EVENTS) {
        let mut store = open(&stores);
        let at = store.position().map_or(0, |position| position.number);
        for entry in &written[at as usize..] {
            let entry: &crate::journal::Written = entry;
            store.restore(&entry.receipt_of_journal(), &entry.read).expect("restore");
        }
        for _ in 0..3 {
            let fresh = traffic.next..traffic.next + ENTRY_EVENTS;
            let events: Vec<_> = fresh.clone().map(event).collect();
            for (key, _) in &events {
                traffic.journal.window = traffic.journal.window.after(&WINDOW, key.event_micros);
            }
            let entry = traffic.journal.write_keys(events);
            store.apply(&entry.receipt(), &entry.changed).expect("apply");
            traffic.next = fresh.end;
            written.push(entry);
        }
        drop(store);
        // Nothing at or above the horizon of the position that is left may be missing.
        let mut store = open(&stores);
        let Some(position) = store.position().cloned() else { continue };
        let mut model = std::collections::BTreeMap::new();
        for entry in &written[..position.number as usize] {
            model.extend(entry.changed.iter().copied());
        }
        let horizon = position.header.horizon_micros;
        let kept = model.iter().filter(|(key, _)| key.event_micros >= horizon);
        let (keys, expected): (Vec<_>, Vec<_>) = kept.map(|(k, s)| (*k, Some(*s))).unzip();
        let mut found = Vec::new();
        store.look_up(&keys, &mut found).expect("look-up");
        assert!(found == expected, "a sighting of the window is gone after a crash");
    }
}

#[test]
fn an_admitted_event_is_kept_for_ever() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let stores = RocksStores::open(dir.path(), small()).expect("registry");
    let mut store = open(&stores);
    let mut traffic = Traffic::new();
    let kept = SightingKey::kept(EventKey::new([9; 32]));
    let entry = traffic.journal.write_keys([(kept, ContentDigest::new([3; 16]))]);
    store.apply(&entry.receipt(), &entry.changed).expect("apply");
    traffic.journal.window = WindowState::EMPTY;
    traffic.run(&mut store, 4);
    let mut found = Vec::new();
    store.look_up(&[kept], &mut found).expect("look-up");
    assert_eq!(found[0], traffic.journal.sightings.get(&kept).copied());
}
