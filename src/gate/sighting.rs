//! What the store remembers of an event that was let through.
//! Must not be in here: how or where it is remembered.

use crate::identity::{ContentDigest, EventKey};

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
