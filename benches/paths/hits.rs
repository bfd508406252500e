//! A store of a hundred thousand keys, and batches of which it knows a part.
//! Must not be in here: how long a look-up takes.

use super::batch::{self, BATCH, Batch, Partition};
use super::kept::Kept;
use oncegate::gate::SightingKey;
use oncegate::journal::entry::encode_part;

/// Keys in the store, at least.
const KEYS: usize = 100_000;
/// Known keys of a batch lie so far apart in the store.
const STRIDE: usize = 97;

/// The store, with what it knows and what it does not.
pub struct Hits {
    kept: Kept,
    known: Vec<SightingKey>,
    fresh: Vec<SightingKey>,
}

impl Hits {
    /// Fills a store; its rows are in files.
    pub fn new() -> Hits {
        let (mut partition, mut kept) = (Partition::new(), Kept::new());
        let (mut known, mut nth) = (Vec::new(), 0);
        while known.len() < KEYS {
            let part = partition.decide(&Batch::new(nth));
            let entry = encode_part(&batch::context(), &part, &partition.position);
            kept.apply(&entry, &part.changed);
            partition.follow(&entry);
            known.extend(part.changed.iter().map(|(key, _)| *key));
            nth += 1;
        }
        kept.flush();
        let mut fresh = Vec::new();
        while fresh.len() < BATCH {
            partition.collect(&Batch::new(nth));
            fresh.extend(partition.lookups().keys);
            nth += 1;
        }
        Hits { kept, known, fresh }
    }

    /// A batch of which so many in a hundred are known.
    pub fn batch(&self, percent: usize) -> Vec<SightingKey> {
        let known = BATCH * percent / 100;
        let mut keys: Vec<SightingKey> =
            self.known.iter().step_by(STRIDE).take(known).copied().collect();
        keys.extend(&self.fresh[..BATCH - known]);
        keys.sort_unstable();
        keys
    }

    /// Looks a batch up; how many of its keys are known.
    pub fn look_up(&mut self, keys: &[SightingKey]) -> usize {
        self.kept.look_up(keys).iter().flatten().count()
    }
}
