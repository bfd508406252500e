//! Events of serialized medicine packs. Of its members the recipe normalizes GTIN, time and
//! business step; all others, the serial among them, are never respelled.

use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

use super::codes::{self, BUSINESS_STEPS};
use super::json::Json;
use super::stream::Occasion;
use super::time;

/// Stands before the event's number in the serial.
pub(super) const PREFIX: &str = "SN";

/// Ends of serials, so that all of character set 82 is met. None begins with a digit.
const SERIAL_ENDS: [&str; 6] = ["", "", "/A-1", "%&'()*+,", "!:;<=>?_", "-zZ.\""];
const ACTIONS: [&str; 3] = ["ADD", "OBSERVE", "DELETE"];

#[derive(Clone, Debug)]
pub(super) struct EpcisEvent {
    gtin: String,
    serial: String,
    pub(super) at_us: i64,
    step: usize,
    action: Option<usize>,
    read_point: Option<String>,
    lot: u32,
    order: u32,
}

pub(super) fn key(source: u64) -> String {
    format!("urn:epc:id:sgln:0312345.{:05}.0", source % 100_000)
}

impl EpcisEvent {
    pub(super) fn new(occasion: Occasion, rng: &mut Xoshiro256PlusPlus) -> EpcisEvent {
        let end = SERIAL_ENDS[rng.random_range(0..SERIAL_ENDS.len())];
        EpcisEvent {
            gtin: codes::gtin(rng),
            serial: format!("{PREFIX}{:09}{end}", occasion.event_id),
            at_us: occasion.at_us,
            step: rng.random_range(0..BUSINESS_STEPS.len()),
            action: rng.random_bool(0.7).then(|| rng.random_range(0..ACTIONS.len())),
            read_point: rng.random_bool(0.7).then(|| key(occasion.source)),
            lot: rng.random_range(0..100_000),
            order: rng.random_range(0..1_000_000),
        }
    }

    pub(super) fn document(&self) -> Json {
        let step = codes::step_urn(BUSINESS_STEPS[self.step]);
        self.with(&self.gtin, &time::utc(self.at_us), &step)
    }

    pub(super) fn respelled(&self, rng: &mut Xoshiro256PlusPlus) -> Json {
        let gtin = codes::respelled_gtin(&self.gtin, rng);
        let at = time::respelled(self.at_us, rng);
        let step = codes::respelled_step(BUSINESS_STEPS[self.step], rng);
        let step = if rng.random_bool(0.2) { format!(" {step}\n") } else { step };
        self.with(&gtin, &at, &step)
    }

    fn with(&self, gtin: &str, at: &str, step: &str) -> Json {
        let mut members = vec![
            ("gtin", Json::text(gtin)),
            ("serial", Json::text(&*self.serial)),
            ("event_time", Json::text(at)),
            ("biz_step", Json::text(step)),
        ];
        if let Some(action) = self.action {
            members.push(("action", Json::text(ACTIONS[action])));
        }
        if let Some(read_point) = &self.read_point {
            members.push(("read_point", Json::text(&**read_point)));
        }
        members.extend([
            ("lot", Json::text(format!("LOT{:05}", self.lot))),
            ("expiration_date", Json::text("2028-12-31")),
            ("disposition", Json::text("urn:epcglobal:cbv:disp:in_progress")),
            (
                "biz_transactions",
                Json::Array(vec![Json::Object(vec![
                    ("type", Json::text("po")),
                    ("id", Json::text(format!("urn:epc:id:gdti:0312345.00001.{}", self.order))),
                ])]),
            ),
        ]);
        Json::Object(members)
    }
}
