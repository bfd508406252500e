//! What is measured at a milestone: the large store, in turns with one of a million keys.
//! Must not be in here: how it is shown.

use super::Done;
use super::grown::Grown;
use super::keys::{BATCH, KINDS, Kind, MILLION};
use super::system::{self, Besides, Memory};
use super::tally::{Tally, Turns};
use oncegate::store::StoreBudget;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Batches of a kind in a round: with five rounds a million look-ups.
const ROUND_BATCHES: u64 = 20;
/// Batches that a store writes before it is another's turn.
const TURN_BATCHES: u64 = 10;
/// The first batches to fill the cache are of these numbers, the measured ones lie below.
const WARM_UP: u64 = 1 << 32;

/// How the store grew from the last milestone to this.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stretch {
    /// Look-ups of new keys before their write.
    pub look_up: Tally,
    /// Writes.
    pub write: Tally,
    /// Writes of the last million.
    pub last: Tally,
    /// The longest write of a batch.
    pub longest: Duration,
}

/// All figures of a milestone.
pub struct Milestone {
    /// Keys in the store, before the comparisons add two million.
    pub keys: u64,
    /// On the way to it.
    pub stretch: Stretch,
    /// Bytes on disk after the flush, and when merging was over.
    pub disk_bytes: [u64; 2],
    /// Filters and indexes among them.
    pub besides: Besides,
    /// When the large store was alone, after look-ups of each kind.
    pub memory: Memory,
    /// What of the budget was in use then.
    pub budget_bytes: usize,
    /// A kind each.
    pub look_ups: Vec<Turns>,
    /// A million more, beside a new store.
    pub writes: Turns,
    /// A million more, beside a new store.
    pub restores: Turns,
    /// Bytes of an event in the journal.
    pub journal_bytes_per_event: f64,
}

/// Where the stores are, and with what.
pub struct Site<'a> {
    /// A folder for stores.
    pub folder: &'a Path,
    /// Of each store.
    pub budget: StoreBudget,
    /// Rounds of look-ups.
    pub rounds: u64,
    /// The most keys that a store will have.
    pub keys_max: u64,
}

impl Site<'_> {
    /// Opens a store of this name, or begins it.
    pub fn open(&self, name: &str) -> Done<Grown> {
        Grown::open(&self.folder(name), self.budget, self.keys_max)
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Lets `run` compare with a new store, which is deleted then.
    fn with_new<T>(&self, run: impl FnOnce(&mut Grown) -> Done<T>) -> Done<T> {
        let mut new = self.open("new")?;
        let outcome = run(&mut new);
        drop(new);
        fs::remove_dir_all(self.folder("new"))?;
        outcome
    }

    /// The store of a million keys.
    fn small(&self) -> Done<Grown> {
        let mut small = self.open("small")?;
        while small.keys() < MILLION {
            small.write()?;
        }
        small.flush()?;
        small.merge()?;
        Ok(small)
    }
}

/// Writes until the store has so many keys.
pub fn grow(large: &mut Grown, keys: u64) -> Done<Stretch> {
    let mut stretch = Stretch::default();
    while large.keys() < keys {
        let spent = large.write()?;
        stretch.look_up.add(BATCH, spent.look_up);
        stretch.write.add(BATCH, spent.write);
        stretch.longest = stretch.longest.max(spent.write);
        if large.keys() + MILLION > keys {
            stretch.last.add(BATCH, spent.write);
        }
        if large.keys().is_multiple_of(10 * MILLION) {
            let rate = stretch.write.rate().unwrap_or_default();
            eprintln!("scale: {} million keys, {rate:.0} written a second", large.keys() / MILLION);
        }
    }
    Ok(stretch)
}

/// Measures the store as it is now; the comparisons add two million keys.
pub fn measure(site: &Site<'_>, large: &mut Grown, stretch: Stretch) -> Done<Milestone> {
    let keys = large.keys();
    let flushed = large.flush()?;
    let settled = large.settle();
    large.merge()?;
    warm_up(large)?;
    let memory = system::memory()?;
    let budget_bytes = large.budget_bytes();
    let besides = system::besides(&large.database())?;
    let look_ups = {
        let mut small = site.small()?;
        warm_up(&mut small)?;
        let turns = |kind: &Kind| look_up_in_turns(large, &mut small, *kind, site.rounds);
        KINDS.iter().map(turns).collect::<Done<Vec<Turns>>>()?
    };
    let writes = site.with_new(|new| write_in_turns(large, new))?;
    let (restores, journal_bytes) = site.with_new(|new| restore_in_turns(large, new))?;
    system::forget_peak();
    Ok(Milestone {
        keys,
        stretch,
        disk_bytes: [flushed.disk_bytes, settled.disk_bytes],
        besides,
        memory,
        budget_bytes,
        look_ups,
        writes,
        restores,
        journal_bytes_per_event: journal_bytes as f64 / MILLION as f64,
    })
}

/// Look-ups of each kind, so that the cache holds what they need.
fn warm_up(store: &mut Grown) -> Done<()> {
    for kind in KINDS {
        for nth in WARM_UP..WARM_UP + ROUND_BATCHES {
            store.look_up(kind, nth)?;
        }
    }
    Ok(())
}

/// Batch by batch.
fn look_up_in_turns(large: &mut Grown, small: &mut Grown, kind: Kind, rounds: u64) -> Done<Turns> {
    let mut turns = Turns::default();
    for round in 0..rounds {
        let (mut of_large, mut of_small) = (Tally::default(), Tally::default());
        for nth in round * ROUND_BATCHES..(round + 1) * ROUND_BATCHES {
            let (asked, time) = large.look_up(kind, nth)?;
            of_large.add(asked, time);
            let (asked, time) = small.look_up(kind, nth)?;
            of_small.add(asked, time);
        }
        turns.add(of_large, of_small);
    }
    Ok(turns)
}

/// A million keys each, a hundred thousand in a turn.
fn write_in_turns(large: &mut Grown, new: &mut Grown) -> Done<Turns> {
    let turn = |store: &mut Grown| {
        let mut tally = Tally::default();
        for _ in 0..TURN_BATCHES {
            tally.add(BATCH, store.write()?.write);
        }
        Done::Ok(tally)
    };
    let mut turns = Turns::default();
    for _ in 0..MILLION / (TURN_BATCHES * BATCH) {
        turns.add(turn(large)?, turn(new)?);
    }
    Ok(turns)
}

/// A million sightings each, likewise; also the bytes of the large store's part of the journal.
fn restore_in_turns(large: &mut Grown, new: &mut Grown) -> Done<(Turns, u64)> {
    let mut journal_bytes = 0;
    let turn = |store: &mut Grown| {
        let restored = store.restore(TURN_BATCHES)?;
        let mut tally = Tally::default();
        tally.add(TURN_BATCHES * BATCH, restored.time);
        Done::Ok((tally, restored.journal_bytes))
    };
    let mut turns = Turns::default();
    for _ in 0..MILLION / (TURN_BATCHES * BATCH) {
        let (of_large, bytes) = turn(large)?;
        let (of_new, _) = turn(new)?;
        turns.add(of_large, of_new);
        journal_bytes += bytes;
    }
    Ok((turns, journal_bytes))
}
