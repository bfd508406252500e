//! Model stores: what a process has on its disk, which loses its unflushed tail when the process
//! is killed, can be damaged, and can be taken away. Must not be in here: the cluster.

use crate::mutant::Mutant;
use crate::random::Random;
use oncegate::gate::{FirstSighting, Sighting, SightingKey};
use oncegate::journal::packed::{unpack_absorbed, unpack_firsts};
use oncegate::journal::{ChainHead, Entry, Position, Receipt};
use oncegate::store::{Mismatch, PartitionStore, StoreError, StoreSize, Stores};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

type Changed = Vec<(SightingKey, Sighting)>;

/// The files of one store.
#[derive(Default)]
pub struct Files {
    pub writes: Vec<(Position, Changed)>,
    flushed: usize,
    open: bool,
    pub damaged: bool,
    /// How often a store that was not damaged was set aside.
    pub aside: u32,
}

/// What a process has on its disk.
pub struct Disk {
    pub files: BTreeMap<i32, Files>,
    random: Random,
    /// How often a write fails, in a thousand.
    pub trouble: u64,
    mutant: Mutant,
}

/// The stores of one process.
#[derive(Clone)]
pub struct SimStores(Arc<Mutex<Disk>>);

impl SimStores {
    pub fn new(seed: u64, mutant: Mutant) -> SimStores {
        let disk = Disk { files: BTreeMap::new(), random: Random::new(seed), trouble: 0, mutant };
        SimStores(Arc::new(Mutex::new(disk)))
    }

    pub fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().expect("one thread")
    }

    /// The process was killed: of what was not flushed, some prefix stays.
    pub fn crash(&self) {
        let mut disk = self.disk();
        let Disk { files, random, .. } = &mut *disk;
        for files in files.values_mut() {
            let unflushed = files.writes.len() - files.flushed;
            let kept = files.flushed + random.below(unflushed as u64 + 1) as usize;
            files.writes.truncate(kept);
            files.open = false;
        }
    }
}

fn path(partition: i32) -> PathBuf {
    PathBuf::from(format!("/sim/{partition}"))
}

impl Stores for SimStores {
    type Store = SimStore;

    fn open(&self, _route: &str, partition: i32) -> Result<SimStore, StoreError> {
        let mut disk = self.disk();
        let (seed, mutant) = (disk.random.draw(), disk.mutant);
        let files = disk.files.entry(partition).or_default();
        if files.open {
            return Err(StoreError::InUse { path: path(partition) });
        }
        if files.damaged {
            return Err(StoreError::Damaged { path: path(partition), detail: "torn".into() });
        }
        files.open = true;
        let mut sightings = BTreeMap::new();
        for (_, changed) in &files.writes {
            sightings.extend(changed.iter().copied());
        }
        let position = files.writes.last().map(|(position, _)| position.clone());
        Ok(SimStore {
            stores: self.clone(),
            partition,
            sightings,
            position,
            failed: None,
            random: Random::new(seed),
            mutant,
        })
    }

    fn set_aside(&self, _: &str, partition: i32, _: &str) -> Result<PathBuf, StoreError> {
        let mut disk = self.disk();
        let files = disk.files.entry(partition).or_default();
        if files.open {
            return Err(StoreError::InUse { path: path(partition) });
        }
        *files = Files { aside: files.aside + u32::from(!files.damaged), ..Files::default() };
        Ok(path(partition))
    }
}

/// An open store.
pub struct SimStore {
    stores: SimStores,
    partition: i32,
    sightings: BTreeMap<SightingKey, Sighting>,
    position: Option<Position>,
    failed: Option<StoreError>,
    random: Random,
    mutant: Mutant,
}

impl SimStore {
    fn usable(&self) -> Result<(), StoreError> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn trouble(&mut self) -> Result<(), StoreError> {
        let trouble = self.stores.disk().trouble;
        if self.random.chance(trouble) {
            let error = StoreError::NoSpace { path: path(self.partition), detail: "full".into() };
            self.failed = Some(error.clone());
            return Err(error);
        }
        Ok(())
    }

    fn head(&self) -> ChainHead {
        self.position.as_ref().map_or(ChainHead::EMPTY, Position::head)
    }

    fn follows(&self, receipt: &Receipt) -> Result<(), StoreError> {
        let next = receipt.position();
        let offset = self.position.as_ref().is_some_and(|last| {
            last.header.journal_topic_id == next.header.journal_topic_id
                && next.journal_offset < last.journal_next
        });
        let number = next.number != self.head().number + 1;
        if !number && !offset {
            return Ok(());
        }
        Err(StoreError::OutOfStep {
            path: path(self.partition),
            stored: self.head().number,
            offered: next.number,
            why: if number { Mismatch::Number } else { Mismatch::Offset },
        })
    }

    fn write(&mut self, mut changed: Changed, position: &Position) {
        if self.mutant == Mutant::ForgottenWrite && self.random.chance(200) {
            changed.clear();
        }
        // What lies below the horizon may be forgotten at any moment.
        if self.random.chance(300) {
            let horizon = position.header.horizon_micros;
            self.sightings.retain(|key, _| key.event_micros >= horizon);
        }
        self.sightings.extend(changed.iter().copied());
        self.position = Some(position.clone());
        let mut disk = self.stores.disk();
        let files = disk.files.entry(self.partition).or_default();
        files.writes.push((position.clone(), changed));
        // A background flush.
        if self.random.chance(150) {
            files.flushed = files.writes.len();
        }
    }
}

impl PartitionStore for SimStore {
    fn position(&self) -> Option<&Position> {
        self.position.as_ref()
    }

    fn look_up(
        &mut self,
        keys: &[SightingKey],
        found: &mut Vec<Option<Sighting>>,
    ) -> Result<(), StoreError> {
        assert!(keys.is_sorted_by(|a, b| a < b), "keys of a look-up ascend, each once");
        self.usable()?;
        self.trouble()?;
        found.clear();
        found.extend(keys.iter().map(|key| self.sightings.get(key).copied()));
        if self.mutant == Mutant::StoreBeforeReceipt {
            for key in keys {
                self.sightings.entry(*key).or_insert(Sighting {
                    digest: oncegate::identity::ContentDigest::new([0; 16]),
                    first_offset: 0,
                    first_item: 0,
                    load_count: 1,
                });
            }
        }
        Ok(())
    }

    fn apply(
        &mut self,
        receipt: &Receipt,
        changed: &[(SightingKey, Sighting)],
    ) -> Result<(), StoreError> {
        self.usable()?;
        self.follows(receipt)?;
        self.trouble()?;
        self.write(changed.to_vec(), receipt.position());
        Ok(())
    }

    fn restore(&mut self, receipt: &Receipt, entry: &Entry) -> Result<(), StoreError> {
        self.usable()?;
        self.follows(receipt)?;
        self.trouble()?;
        if entry.previous_hash != self.head().hash {
            return Err(StoreError::OutOfStep {
                path: path(self.partition),
                stored: self.head().number,
                offered: entry.number,
                why: Mismatch::Chain,
            });
        }
        let mut changed: BTreeMap<SightingKey, Sighting> = BTreeMap::new();
        let put = |first: &FirstSighting| Sighting {
            digest: first.digest,
            first_offset: first.offset,
            first_item: first.item,
            load_count: 1,
        };
        for first in unpack_firsts(&entry.rows.firsts, entry.base()) {
            changed.insert(first.key, put(&first));
        }
        for other in unpack_firsts(&entry.rows.corrections, entry.base()) {
            changed.insert(other.key.of_correction(&other.digest), put(&other));
        }
        for key in unpack_absorbed(&entry.rows.absorbed) {
            let known = changed.get(&key).or_else(|| self.sightings.get(&key)).copied();
            if let Some(mut sighting) = known {
                sighting.load_count = sighting.load_count.saturating_add(1);
                changed.insert(key, sighting);
            }
        }
        if self.mutant == Mutant::SkippedEntry && self.random.chance(150) {
            changed.clear();
        }
        self.write(changed.into_iter().collect(), receipt.position());
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.usable()?;
        let mut disk = self.stores.disk();
        let files = disk.files.entry(self.partition).or_default();
        files.flushed = files.writes.len();
        Ok(())
    }

    fn size(&self) -> StoreSize {
        StoreSize { keys_estimate: self.sightings.len() as u64, ..StoreSize::default() }
    }
}

impl Drop for SimStore {
    fn drop(&mut self) {
        let mut disk = self.stores.disk();
        if let Some(files) = disk.files.get_mut(&self.partition) {
            files.open = false;
        }
    }
}
