//! The order of deliveries: which event comes first, which comes again and when, which record
//! is broken. How an event is written is in the modules of the kinds.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::epcis::EpcisEvent;
use super::inventory::InventoryBatch;
use super::json::Json;
use super::lab::LabResult;
use super::{Broken, Delivery, Kind, SampleOptions, Sent, Truth, broken, epcis, inventory, lab};

/// Sources a partition: each always sends to its own one.
const SOURCES_PER_PARTITION: u64 = 3;
/// Two events of one kind are out of order by at most this much.
const DISORDER_US_MAX: i64 = 120_000_000;
/// A delivery comes again after at most this many records of its kind.
const LAG_MAX: f64 = 50_000.0;
/// The share of later deliveries that are spelled otherwise.
const RESPELLED: f64 = 0.7;

/// What an event is made from.
#[derive(Clone, Copy)]
pub(super) struct Occasion {
    pub seed: u64,
    pub event_id: u64,
    pub source: u64,
    pub at_us: i64,
}

#[derive(Clone, Debug)]
enum Event {
    Lab(LabResult),
    Epcis(EpcisEvent),
    Inventory(InventoryBatch),
}

impl Event {
    fn document(&self) -> Json {
        match self {
            Event::Lab(event) => event.document(),
            Event::Epcis(event) => event.document(),
            Event::Inventory(event) => event.document(),
        }
    }

    fn respelled(&self, rng: &mut Xoshiro256PlusPlus) -> Json {
        match self {
            Event::Lab(event) => event.respelled(rng),
            Event::Epcis(event) => event.respelled(rng),
            Event::Inventory(event) => event.respelled(rng),
        }
    }

    fn at_us(&self) -> i64 {
        match self {
            Event::Lab(event) => event.at_us,
            Event::Epcis(event) => event.at_us,
            Event::Inventory(event) => event.at_us,
        }
    }
}

#[derive(Clone)]
struct Pending {
    event_id: u64,
    source: u64,
    event: Event,
}

/// The records of one kind, in raw order.
pub struct SentStream {
    kind: Kind,
    options: SampleOptions,
    rng: Xoshiro256PlusPlus,
    place: u64,
    records: u64,
    next_event_id: u64,
    clock_us: i64,
    /// Due place and number of each delivery that is still to come again.
    due: BinaryHeap<Reverse<(u64, u64)>>,
    pending: BTreeMap<u64, Pending>,
    next_pending: u64,
}

impl SentStream {
    pub(super) fn new(options: &SampleOptions, kind: Kind, records: usize) -> SentStream {
        // Kinds differ also where the seed is the same.
        let seed = options.seed.wrapping_mul(3).wrapping_add(kind as u64);
        SentStream {
            kind,
            options: options.clone(),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            place: 0,
            records: records as u64,
            next_event_id: options.first_event_id,
            clock_us: options.start_ms * 1_000,
            due: BinaryHeap::new(),
            pending: BTreeMap::new(),
            next_pending: 0,
        }
    }

    fn fresh(&mut self) -> Sent {
        let source =
            self.rng.random_range(0..self.options.partitions as u64 * SOURCES_PER_PARTITION);
        let event_id = self.next_event_id;
        self.next_event_id += 1;
        self.clock_us += self.rng.random_range(0..=i64::from(self.options.step_ms_max) * 1_000);
        let at_us = self.clock_us - self.rng.random_range(0..=DISORDER_US_MAX);
        // Sources differ in how finely they tell the time: seconds, milliseconds, microseconds.
        let step_us = [1_000_000, 1_000_000, 1_000, 1][self.rng.random_range(0..4usize)];
        let at_us = at_us - at_us % step_us;
        let occasion = Occasion { seed: self.options.seed, event_id, source, at_us };
        let event = match self.kind {
            Kind::Lab => {
                Event::Lab(LabResult::new(occasion, self.options.lab_bytes, &mut self.rng))
            }
            Kind::Epcis => Event::Epcis(EpcisEvent::new(occasion, &mut self.rng)),
            Kind::Inventory => Event::Inventory(InventoryBatch::new(occasion, &mut self.rng)),
        };
        if self.rng.random_bool(self.options.broken_share) {
            return self.broken(source, &event);
        }
        let document = event.document().plain();
        let sent = self.sent(source, event_id, Delivery::First, document, at_us);
        // So that this share of all records are later deliveries: each event comes again with
        // the odds of it, now and then twice.
        let odds = self.options.again_share / (1.0 - self.options.again_share);
        let pending = Pending { event_id, source, event };
        for _ in 1..=odds.floor() as usize {
            self.schedule(pending.clone());
        }
        if self.rng.random_bool(odds.fract()) {
            self.schedule(pending);
        }
        sent
    }

    fn schedule(&mut self, pending: Pending) {
        // Lags of all sizes: at once, some records later, far later; but within the sample.
        let longest = LAG_MAX.min((self.records - self.place) as f64).max(1.0);
        let lag = longest.powf(self.rng.random_range(0.0..1.0)) as u64;
        self.due.push(Reverse((self.place + lag.max(1), self.next_pending)));
        self.pending.insert(self.next_pending, pending);
        self.next_pending += 1;
    }

    fn again(&mut self, pending: Pending) -> Sent {
        let text = if self.rng.random_bool(RESPELLED) {
            let document = pending.event.respelled(&mut self.rng);
            document.respelled(&mut self.rng)
        } else {
            pending.event.document().plain()
        };
        let (source, event_id, at_us) = (pending.source, pending.event_id, pending.event.at_us());
        let sent = self.sent(source, event_id, Delivery::Again, text, at_us);
        if self.rng.random_ratio(1, 10) {
            self.schedule(pending);
        }
        sent
    }

    fn broken(&mut self, source: u64, event: &Event) -> Sent {
        let why = Broken::ALL[self.rng.random_range(0..Broken::ALL.len())];
        let at_us = event.at_us();
        let payload = broken::payload(self.kind, event.document(), at_us, why, &mut self.rng);
        Sent {
            kind: self.kind,
            partition: self.partition_of(source),
            key: self.key_of(source),
            payload,
            event_time_ms: at_us.div_euclid(1_000),
            truth: Truth::Broken { why },
        }
    }

    fn sent(
        &self,
        source: u64,
        event_id: u64,
        delivery: Delivery,
        text: String,
        at_us: i64,
    ) -> Sent {
        Sent {
            kind: self.kind,
            partition: self.partition_of(source),
            key: self.key_of(source),
            payload: Some(text.into_bytes()),
            event_time_ms: at_us.div_euclid(1_000),
            truth: Truth::Event { event_id, delivery },
        }
    }

    fn partition_of(&self, source: u64) -> i32 {
        (source % self.options.partitions as u64) as i32
    }

    fn key_of(&self, source: u64) -> Vec<u8> {
        match self.kind {
            Kind::Lab => lab::key(source),
            Kind::Epcis => epcis::key(source),
            Kind::Inventory => inventory::key(self.options.seed, source),
        }
        .into_bytes()
    }
}

impl Iterator for SentStream {
    type Item = Sent;

    fn next(&mut self) -> Option<Sent> {
        if self.place == self.records {
            return None;
        }
        let due = self.due.peek().is_some_and(|Reverse((place, _))| *place <= self.place);
        let pending = match self.due.peek() {
            Some(Reverse((_, number))) if due => {
                let number = *number;
                self.due.pop();
                self.pending.remove(&number)
            }
            _ => None,
        };
        let sent = match pending {
            Some(pending) => self.again(pending),
            None => self.fresh(),
        };
        self.place += 1;
        Some(sent)
    }
}
