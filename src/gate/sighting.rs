//! What the store remembers of an event that was let through.
//! Must not be in here: how or where it is remembered.

use crate::identity::{ContentDigest, EventKey};
use sha2::{Digest, Sha256};

/// Microseconds since 1970-01-01T00:00:00Z, by the event's own time.
pub type EventMicros = i64;

/// Where a sighting stands in a partition store: event time first, so that new keys arrive
/// nearly in order and expiry drops whole files, then the event key.
///
/// Its event time is one of the identity's fields, hence equal for every delivery of the event.
/// Recipes without an event time use 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SightingKey {
    /// Event time, or 0 where the recipe has none.
    pub event_micros: EventMicros,
    /// SHA-256 over the canonical identity.
    pub key: EventKey,
}

impl SightingKey {
    /// Where the sighting of an event stands.
    pub fn of_event(key: EventKey, event_micros: Option<EventMicros>) -> SightingKey {
        SightingKey { event_micros: event_micros.unwrap_or(0), key }
    }

    /// Where the sighting of a late event stands that a person let through: beyond every horizon,
    /// so that it is never forgotten.
    pub fn kept(key: EventKey) -> SightingKey {
        SightingKey { event_micros: EventMicros::MAX, key }
    }

    /// Whether this is the place of an admitted event.
    pub fn is_kept(&self) -> bool {
        self.event_micros == EventMicros::MAX
    }

    /// Where the sighting of a correction stands: other content of the event that stands at
    /// `self`. It has the first one's event time, so both are forgotten together.
    pub fn of_correction(&self, digest: &ContentDigest) -> SightingKey {
        let mut hasher = Sha256::new();
        hasher.update(self.key.as_bytes());
        hasher.update(digest.as_bytes());
        SightingKey {
            event_micros: self.event_micros,
            key: EventKey::new(hasher.finalize().into()),
        }
    }
}

/// The memory of one event: what its first delivery was, and how often it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Content digest of the first delivery.
    pub digest: ContentDigest,
    /// Offset of the first delivery in the raw partition.
    pub first_offset: i64,
    /// Index of the event within that record (0 in `record` granularity).
    pub first_item: u32,
    /// How many deliveries with this content were seen, the first included; saturates.
    pub load_count: u32,
}
