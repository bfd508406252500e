//! What an entry says was let through, in the order in which it stands in the clean topic.
//! Must not be in here: clean records.

use crate::gate::FirstSighting;
use crate::identity::{ContentDigest, EventKey};
use crate::journal::packed::unpack_firsts;
use crate::journal::{Entry, pb};
use serde::Serialize;

/// Why an event was let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It was never seen.
    First,
    /// Its key was known, its content was not, and the route lets corrections through.
    Correction,
    /// A person let it through.
    Admitted,
}

impl Kind {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::First => "first",
            Kind::Correction => "correction",
            Kind::Admitted => "admitted",
        }
    }
}

/// One event that an entry let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LetThrough {
    /// Why.
    pub kind: Kind,
    /// Event key.
    pub key: EventKey,
    /// Content digest.
    pub digest: ContentDigest,
    /// Raw offset.
    pub offset: i64,
    /// Index of the event within its record.
    pub item: u32,
}

/// The events that an entry let through: in raw order, as its clean records stand.
pub fn let_through(entry: &Entry) -> Vec<LetThrough> {
    let first = match entry.header.kind() {
        pb::EntryKind::Admit => Kind::Admitted,
        _ => Kind::First,
    };
    let row = |kind| {
        move |sighting: FirstSighting| LetThrough {
            kind,
            key: sighting.key.key,
            digest: sighting.digest,
            offset: sighting.offset,
            item: sighting.item,
        }
    };
    let base = entry.base();
    let mut rows: Vec<LetThrough> =
        unpack_firsts(&entry.rows.firsts, base).map(row(first)).collect();
    if !entry.rows.corrections.is_empty() {
        rows.extend(unpack_firsts(&entry.rows.corrections, base).map(row(Kind::Correction)));
        rows.sort_by_key(|row| (row.offset, row.item));
    }
    rows
}
