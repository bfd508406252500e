//! A store that grows batch by batch, along a journal that only it knows.
//! Must not be in here: what is made of the times.

use super::Done;
use super::keys::{self, BATCH, Kind};
use oncegate::gate::{FirstSighting, SightingKey, Window};
use oncegate::journal::entry::{NO_ENTRY, begin_header, encode};
use oncegate::journal::packed::{Rows, pack_firsts};
use oncegate::journal::{
    Assembler, CommitAcknowledged, EncodedEntry, EntryContext, Position, Receipt, pb,
};
use oncegate::store::{PartitionStore, RocksStore, RocksStores, StoreBudget, StoreSize, Stores};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Merging is over where nothing has changed for so long.
const STILL: Duration = Duration::from_secs(6);
/// A merge has begun by then, or none was due.
const BEGUN: Duration = Duration::from_secs(2);
/// More files than make a merge due.
const MERGE_FILES: usize = 12;
/// Longest wait for it.
const SETTLE_MAX: Duration = Duration::from_secs(900);
const ROUTE: &str = "scale";

/// A store, alone in its folder and with a budget of its own.
pub struct Grown {
    // It is closed before its registry.
    store: RocksStore,
    stores: RocksStores,
    folder: PathBuf,
    window: Window,
    position: Position,
}

/// How long a batch took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// The look-up of its new keys.
    pub look_up: Duration,
    /// Its write, waiting included.
    pub write: Duration,
}

/// What was read from a journal, and how long that took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Restored {
    /// Reading entries and writing them to the store.
    pub time: Duration,
    /// Bytes of the journal's records.
    pub journal_bytes: u64,
}

impl Grown {
    /// Opens a store, or begins one. Its window is as long as the event time of `keys_max` keys, so
    /// that it forgets none.
    pub fn open(folder: &Path, budget: StoreBudget, keys_max: u64) -> Done<Grown> {
        let stores = RocksStores::open(folder, budget)?;
        let mut store = stores.open(ROUTE, 0)?;
        let position = match store.position() {
            Some(position) => position.clone(),
            None => {
                let header = begin_header(&context(), 0);
                let begin = encode(1, NO_ENTRY, header, Rows::default());
                let receipt = receipt_of(&begin, 0);
                store.apply(&receipt, &[])?;
                receipt.into_position()
            }
        };
        let span_micros = Some(keys::span_micros(keys_max));
        let window = Window { span_micros, future_micros_max: i64::MAX };
        Ok(Grown { store, stores, folder: folder.to_owned(), window, position })
    }

    /// Keys in the store.
    pub fn keys(&self) -> u64 {
        self.position.committed_next() as u64
    }

    /// Where RocksDB has its files.
    pub fn database(&self) -> PathBuf {
        self.folder.join("stores").join(ROUTE).join("0")
    }

    /// Bytes that the store has in use of its budget.
    pub fn budget_bytes(&self) -> usize {
        self.stores.memory_bytes()
    }

    /// Looks the keys of the next batch up, and writes them.
    pub fn write(&mut self) -> Done<Spent> {
        let from = self.keys();
        let changed = keys::batch(from);
        let asked: Vec<SightingKey> = changed.iter().map(|(key, _)| *key).collect();
        let look_up = self.ask(&asked, 0)?;
        // The store looks only at the position: rows would be packed for nothing.
        let entry = entry_after(&self.position, &self.window, (BATCH, Rows::default()));
        let receipt = receipt_of(&entry, self.position.journal_next);
        let begun = Instant::now();
        self.store.apply(&receipt, &changed)?;
        let write = begun.elapsed();
        self.position = receipt.into_position();
        Ok(Spent { look_up, write })
    }

    /// Makes entries of the next batches as the gate writes them, then reads and restores them.
    pub fn restore(&mut self, batches: u64) -> Done<Restored> {
        let (mut last, mut parts) = (self.position.clone(), Vec::new());
        for _ in 0..batches {
            let entry = entry_after(&last, &self.window, (BATCH, rows_from(last.committed_next())));
            last = receipt_of(&entry, last.journal_next).into_position();
            parts.extend(entry.parts);
        }
        let begun = Instant::now();
        let (mut assembler, mut from) = (Assembler::default(), self.position.journal_next);
        for (next, part) in (from + 1..).zip(&parts) {
            if let Some(entry) = assembler.push(part)? {
                let receipt = Receipt::of_journal(&entry, (from, next));
                self.store.restore(&receipt, &entry)?;
                from = next;
            }
        }
        let time = begun.elapsed();
        self.position = last;
        let journal_bytes = parts.iter().map(|part| part.len() as u64).sum();
        Ok(Restored { time, journal_bytes })
    }

    /// Looks the `nth` batch of a kind up: how many keys it has, and how long it took.
    pub fn look_up(&mut self, kind: Kind, nth: u64) -> Done<(u64, Duration)> {
        let (asked, known) = keys::asked(kind, self.keys(), nth);
        Ok((asked.len() as u64, self.ask(&asked, known)?))
    }

    /// Looks keys up of which the store has so many.
    fn ask(&mut self, asked: &[SightingKey], known: usize) -> Done<Duration> {
        let mut found = Vec::new();
        let begun = Instant::now();
        self.store.look_up(asked, &mut found)?;
        let time = begun.elapsed();
        let hits = found.iter().flatten().count();
        if hits != known {
            return Err(format!("the store has {hits} of the keys, not {known}").into());
        }
        Ok(time)
    }

    /// Brings all rows to files.
    pub fn flush(&mut self) -> Done<StoreSize> {
        self.store.flush()?;
        Ok(self.store.size())
    }

    /// Waits until merging is over, or for long enough.
    pub fn settle(&self) -> StoreSize {
        self.wait_still(STILL)
    }

    /// Sees that all files are merged: how many wait for it is chance, and each costs a look-up its
    /// filter. Positions without sightings make the files that are missing for a merge.
    pub fn merge(&mut self) -> Done<()> {
        for _ in 0..MERGE_FILES {
            if self.wait_still(BEGUN).unmerged_files == 0 {
                return Ok(());
            }
            let entry = entry_after(&self.position, &self.window, (0, Rows::default()));
            let receipt = receipt_of(&entry, self.position.journal_next);
            self.store.apply(&receipt, &[])?;
            self.position = receipt.into_position();
            self.store.flush()?;
        }
        eprintln!("scale: {} has files that are not merged", self.folder.display());
        Ok(())
    }

    fn wait_still(&self, still: Duration) -> StoreSize {
        let begun = Instant::now();
        let (mut size, mut since) = (self.store.size(), Instant::now());
        while since.elapsed() < still && begun.elapsed() < SETTLE_MAX {
            thread::sleep(Duration::from_millis(200));
            let now = self.store.size();
            if now != size {
                (size, since) = (now, Instant::now());
            }
        }
        size
    }
}

fn context() -> EntryContext {
    EntryContext {
        route: format!("gate/{ROUTE}"),
        raw_topic_id: "raw".into(),
        journal_topic_id: "journal".into(),
        raw_partitions: 1,
        recipe_fingerprint: [1; 32],
    }
}

/// The rows of the batch that begins at an offset, in the order of the raw records.
fn rows_from(from: i64) -> Rows {
    let firsts: Vec<FirstSighting> = (from as u64..from as u64 + BATCH)
        .map(|n| FirstSighting {
            key: keys::key(n),
            digest: keys::digest(n),
            offset: n as i64,
            item: 0,
        })
        .collect();
    Rows { firsts: pack_firsts(&firsts, from), ..Rows::default() }
}

/// The entry of the next so many keys.
fn entry_after(last: &Position, window: &Window, (keys, rows): (u64, Rows)) -> EncodedEntry {
    let (from, before) = (last.committed_next(), last.progress().window);
    let to = from + keys as i64;
    let newest = (from..to).map(|n| keys::key(n as u64).event_micros).max();
    let after = newest.map_or(before, |newest| before.after(window, newest));
    let counts = |records: i64| {
        let records = records as u64;
        Some(pb::Counts { records, first: records, ..pb::Counts::default() })
    };
    let header = pb::EntryHeader {
        kind: pb::EntryKind::Range.into(),
        from,
        to,
        decided_to: to,
        counts: counts(to - from),
        total_counts: counts(to),
        clock_micros_before: before.clock_micros,
        clock_micros: after.clock_micros,
        horizon_micros_before: before.horizon_micros,
        horizon_micros: after.horizon_micros,
        last_raw_offset: to - 1,
        last_raw_hash: vec![2; 32],
        ..begin_header(&context(), from)
    };
    encode(last.number + 1, last.hash, header, rows)
}

fn receipt_of(entry: &EncodedEntry, from: i64) -> Receipt {
    let next = from + entry.parts.len() as i64;
    Receipt::of_commit(&CommitAcknowledged::by_broker(), entry, (from, next))
}
