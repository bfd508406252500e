//! Samples of raw events, the same for the same seed, whose truth is known beforehand: which
//! deliveries are of one event, and which records are broken, and why.
//! Derives no event key: a counter inside each payload tells the event, whatever oncegate says.

mod broken;
mod codes;
mod epcis;
mod inventory;
mod json;
mod lab;
mod stream;
mod time;

use std::fmt;

use serde_json::Value;

pub use stream::SentStream;

use crate::error::{KitError, Result};

/// 2026-01-15T00:00:00Z: well in the past, so that no broker finds an event time in the future.
const START_MS: i64 = 1_768_435_200_000;

/// What a raw topic holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Results of a clinical laboratory, recipe `lab-result`.
    Lab,
    /// Events of serialized medicine packs, recipe `epcis-event`.
    Epcis,
    /// Batches of changes of a pharmacy's stock, recipe `inventory-batch`.
    Inventory,
}

impl Kind {
    /// All kinds, in a fixed order.
    pub const ALL: [Kind; 3] = [Kind::Lab, Kind::Epcis, Kind::Inventory];

    /// A short name for tables and topic names.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Lab => "lab",
            Kind::Epcis => "epcis",
            Kind::Inventory => "inventory",
        }
    }

    /// The recipe in oncegate's configuration that reads this kind.
    pub fn recipe(self) -> &'static str {
        match self {
            Kind::Lab => "lab-result",
            Kind::Epcis => "epcis-event",
            Kind::Inventory => "inventory-batch",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a delivery is the first of its event in the raw order of its partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// The first: it belongs into the clean topic.
    First,
    /// A later one, perhaps spelled otherwise: it is a duplicate.
    Again,
}

/// What is wrong with a broken record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Broken {
    /// The JSON text ends too early.
    NotJson,
    /// A member of the identity is not there.
    MissingMember,
    /// A member of the identity is of another JSON type.
    WrongType,
    /// The event time has no zone.
    NaiveTime,
    /// The check digit of a LOINC or GTIN is wrong, or an NDC has too few digits.
    BadCode,
    /// The record has no value (a tombstone).
    NullValue,
}

impl Broken {
    /// All ways, in a fixed order.
    pub const ALL: [Broken; 6] = [
        Broken::NotJson,
        Broken::MissingMember,
        Broken::WrongType,
        Broken::NaiveTime,
        Broken::BadCode,
        Broken::NullValue,
    ];
}

/// What the generator knows of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Truth {
    /// An event; its number is distinct within the kind.
    Event {
        /// The number that [`event_id_of`] finds in the payload.
        event_id: u64,
        /// First or again.
        delivery: Delivery,
    },
    /// A record that no event can be read from: it belongs into quarantine.
    Broken {
        /// What is wrong.
        why: Broken,
    },
}

/// One raw record, ready to be produced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    /// What the record is about.
    pub kind: Kind,
    /// The partition that its source always sends to.
    pub partition: i32,
    /// The record key: its source.
    pub key: Vec<u8>,
    /// The value; `None` only for [`Broken::NullValue`].
    pub payload: Option<Vec<u8>>,
    /// When the event happened, for producers that send it as CreateTime.
    pub event_time_ms: i64,
    /// What the generator knows of it.
    pub truth: Truth,
}

impl Sent {
    /// The event's number if this is its first delivery.
    pub fn first_of(&self) -> Option<u64> {
        match self.truth {
            Truth::Event { event_id, delivery: Delivery::First } => Some(event_id),
            _ => None,
        }
    }

    /// Whether the record is broken.
    pub fn is_broken(&self) -> bool {
        matches!(self.truth, Truth::Broken { .. })
    }
}

/// What a sample looks like.
#[derive(Clone, Debug)]
pub struct SampleOptions {
    /// The same seed gives the same sample.
    pub seed: u64,
    /// How many records over all kinds.
    pub records: usize,
    /// Which kinds; each gets an even share of the records.
    pub kinds: Vec<Kind>,
    /// Partitions of each raw topic.
    pub partitions: i32,
    /// The share of records that deliver an event again.
    pub again_share: f64,
    /// The share of records that are broken.
    pub broken_share: f64,
    /// Events are numbered from here, so that a second sample for the same topic has other events.
    pub first_event_id: u64,
    /// About when the first event happens, in milliseconds since 1970.
    pub start_ms: i64,
    /// Two events of one kind are this far apart at most, and half of it in the mean.
    pub step_ms_max: u32,
    /// About how many bytes a laboratory result has: few have its main members only, many a long
    /// comment. Without it, as many as it needs.
    pub lab_bytes: Option<usize>,
}

impl Default for SampleOptions {
    fn default() -> SampleOptions {
        SampleOptions {
            seed: 1,
            records: 10_000,
            kinds: Kind::ALL.to_vec(),
            partitions: 4,
            again_share: 1.0 / 6.0,
            broken_share: 1.0 / 500.0,
            first_event_id: 1,
            start_ms: START_MS,
            step_ms_max: 2_000,
            lab_bytes: None,
        }
    }
}

/// A mixed sample: for each kind an ordered list of records.
#[derive(Clone, Debug)]
pub struct Sample {
    options: SampleOptions,
}

impl Sample {
    /// A sample of this look.
    pub fn new(options: SampleOptions) -> Result<Sample> {
        let share = options.again_share + options.broken_share;
        if options.partitions < 1 || options.kinds.is_empty() || !(0.0..=0.9).contains(&share) {
            return Err(KitError::new(format!(
                "a sample needs at least one partition and one kind, and at most nine in ten \
                 records delivered again or broken; got {options:?}"
            )));
        }
        Ok(Sample { options })
    }

    /// What it was made from.
    pub fn options(&self) -> &SampleOptions {
        &self.options
    }

    /// The records of one kind, in raw order, one at a time: a long sample need not fit in memory.
    pub fn stream(&self, kind: Kind) -> SentStream {
        SentStream::new(&self.options, kind, self.records_of(kind))
    }

    /// The records of one kind, in raw order.
    pub fn sent(&self, kind: Kind) -> Vec<Sent> {
        self.stream(kind).collect()
    }

    fn records_of(&self, kind: Kind) -> usize {
        let kinds = self.options.kinds.len();
        match self.options.kinds.iter().position(|k| *k == kind) {
            Some(place) => {
                self.options.records / kinds + usize::from(place < self.options.records % kinds)
            }
            None => 0,
        }
    }
}

/// Which event a payload tells of, read from the generator's own counter inside it. Independent
/// of oncegate's keys and of how the event is spelled.
pub fn event_id_of(kind: Kind, payload: &[u8]) -> Option<u64> {
    let document: Value = serde_json::from_slice(payload).ok()?;
    let (member, prefix) = match kind {
        Kind::Lab => (document.get("accession")?, lab::PREFIX),
        Kind::Epcis => (document.get("serial")?, epcis::PREFIX),
        Kind::Inventory => (document.get("items")?.get(0)?.get("lot")?, inventory::PREFIX),
    };
    let text = member.as_str()?.trim().strip_prefix(prefix)?;
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

#[cfg(test)]
mod tests;
