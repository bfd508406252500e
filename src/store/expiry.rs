//! Forgetting what lies below the horizon, so that a store's size follows the window and not the
//! history.
//!
//! Rows stand in the order of event time. When the horizon has risen by a part of the window, the
//! position is brought to files in the background; once it is there, files that lie below its
//! horizon as a whole are dropped, and merges leave out the rows below it. Files of level 0 are
//! merged by RocksDB itself as further ones come, one a step at least. Nobody waits for any of it.
//!
//! Only the horizon of a position that is in files counts. So a store never lacks a row that lies
//! above its own horizon, whatever a crash takes from its end.
//!
//! Must not be in here: forgetting at or above the horizon. What may be asked for again must be
//! found.

use super::StoreError;
use super::handle::OpenStore;
use super::keys::{KEY_BYTES, is_below, lowest_row};
use crate::gate::EventMicros;
use crate::journal::Position;
use rocksdb::compaction_filter::{CompactionFilter, Decision};
use rocksdb::compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory};
use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The window is forgotten in so many steps; each brings the rows in memory to a file.
const STEPS: i64 = 16;

/// The horizon below which a store's merges leave rows out.
#[derive(Clone, Debug)]
pub(super) struct Horizon(Arc<AtomicI64>);

impl Horizon {
    pub fn none() -> Horizon {
        Horizon(Arc::new(AtomicI64::new(EventMicros::MIN)))
    }

    fn rise_to(&self, horizon: EventMicros) {
        self.0.fetch_max(horizon, Ordering::AcqRel);
    }

    fn micros(&self) -> EventMicros {
        self.0.load(Ordering::Acquire)
    }
}

/// How far a store has come with forgetting.
pub(super) struct Expiry {
    below: Horizon,
    /// The horizon at the last step.
    stepped: EventMicros,
    /// The horizon of a position that is on its way to a file.
    on_its_way: Option<EventMicros>,
}

impl Expiry {
    /// For a store that was opened at a position, which is in its files.
    pub fn new(below: Horizon, position: Option<&Position>) -> Expiry {
        let horizon = position.map_or(EventMicros::MIN, |at| at.header.horizon_micros);
        below.rise_to(horizon);
        Expiry { below, stepped: horizon, on_its_way: None }
    }

    /// After a write: makes the step that is due.
    pub fn after_write(
        &mut self,
        store: &OpenStore,
        position: &Position,
    ) -> Result<(), StoreError> {
        if let Some(horizon) = self.on_its_way {
            if store.is_flushing() {
                return Ok(());
            }
            self.on_its_way = None;
            self.below.rise_to(horizon);
            return drop_files(store, horizon);
        }
        let (clock, horizon) = (position.header.clock_micros, position.header.horizon_micros);
        if horizon == EventMicros::MIN {
            return Ok(());
        }
        let step = (clock.saturating_sub(horizon) / STEPS).max(1);
        if horizon.saturating_sub(self.stepped) >= step && store.can_flush() {
            store.flush(false)?;
            self.on_its_way = Some(horizon);
            self.stepped = horizon;
        }
        Ok(())
    }
}

/// Drops the files of all levels but 0 that hold nothing at or above the horizon.
fn drop_files(store: &OpenStore, horizon: EventMicros) -> Result<(), StoreError> {
    let from = [0; KEY_BYTES];
    store.db.delete_file_in_range(from, lowest_row(horizon)).map_err(|error| store.error(&error))
}

/// Gives each merge the horizon of its beginning.
pub(super) struct LeaveOutBelow(pub Horizon);

impl CompactionFilterFactory for LeaveOutBelow {
    type Filter = Below;

    fn create(&mut self, _context: CompactionFilterContext) -> Below {
        Below(self.0.micros())
    }

    fn name(&self) -> &CStr {
        c"oncegate.horizon"
    }
}

/// Leaves out sightings below a horizon; keeps the position, and late events that were admitted.
pub(super) struct Below(EventMicros);

impl CompactionFilter for Below {
    fn filter(&mut self, _level: u32, key: &[u8], _value: &[u8]) -> Decision {
        if is_below(key, self.0) { Decision::Remove } else { Decision::Keep }
    }

    fn name(&self) -> &CStr {
        c"oncegate.horizon"
    }
}
