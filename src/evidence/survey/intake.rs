//! The records of a topic as they come: their events, what has none, and how far event times lie
//! behind each other.
//! Must not be in here: which events are the same (`deliveries`).

use super::row::Row;
use super::spread::Spread;
use crate::gate::{RawRecord, Reason};
use crate::identity::Deriver;
use serde::Serialize;
use std::collections::BTreeMap;

/// An event that lies further beyond its arrival does not move the clock; a route's `max_future`
/// is as much, unless it says otherwise.
const FUTURE_MICROS: i64 = 3_600_000_000;

/// What one partition holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PartitionIntake {
    /// Its number.
    pub partition: i32,
    /// Records.
    pub records: u64,
    /// Events that have a key.
    pub events: u64,
    /// Records and items without one, by reason.
    pub rejected: BTreeMap<&'static str, u64>,
    /// Events more than an hour beyond their arrival.
    pub future: u64,
    /// How far events lie behind the highest event time before them, in microseconds.
    pub behind_micros: Spread,
    #[serde(skip)]
    clock_micros: Option<i64>,
}

impl PartitionIntake {
    /// An empty partition.
    pub fn new(partition: i32) -> PartitionIntake {
        PartitionIntake { partition, ..PartitionIntake::default() }
    }

    /// Takes the next record; gives a row for each event.
    pub fn take(
        &mut self,
        record: &RawRecord<'_>,
        deriver: &mut Deriver,
        sink: &mut dyn FnMut(&Row),
    ) {
        self.records += 1;
        let mut reject = |reason: Reason| {
            *self.rejected.entry(reason.as_str()).or_default() += 1;
        };
        let Some(payload) = record.payload else { return reject(Reason::Tombstone) };
        let events = match deriver.derive(payload) {
            Ok(events) => events,
            Err(rejection) => return reject(Reason::Identity(rejection.reason)),
        };
        for (item, event) in (0..).zip(events.iter()) {
            match event {
                Err(rejection) => {
                    let reason = Reason::Identity(rejection.reason).as_str();
                    *self.rejected.entry(reason).or_default() += 1;
                }
                Ok(event) => {
                    let arrival_ms = record.timestamp.ms();
                    let behind = event.event_time_micros.map(|at| self.place(at, arrival_ms));
                    self.events += 1;
                    sink(&Row {
                        key: event.key,
                        partition: record.partition,
                        offset: record.offset,
                        item,
                        digest: event.digest,
                        arrival_ms: arrival_ms.unwrap_or(0),
                        nth: self.events,
                        behind_micros: behind.unwrap_or(-1),
                    });
                }
            }
        }
    }

    /// How far an event lies behind the clock, which it may move.
    fn place(&mut self, event_micros: i64, arrival_ms: Option<i64>) -> i64 {
        let behind = match self.clock_micros {
            Some(clock) => clock.saturating_sub(event_micros).max(0),
            None => 0,
        };
        let latest = arrival_ms
            .map(|ms| ms.saturating_mul(1000).saturating_add(FUTURE_MICROS))
            .unwrap_or(i64::MAX);
        if event_micros > latest {
            self.future += 1;
            return 0;
        }
        self.clock_micros = Some(self.clock_micros.map_or(event_micros, |c| c.max(event_micros)));
        self.behind_micros.add(behind.unsigned_abs());
        behind
    }
}
