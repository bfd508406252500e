//! Batches of changes of a pharmacy's stock. The recipe normalizes the facility, the time and
//! the items (NDC, lot, quantity, unit) and takes the items in any order; all other members are
//! never respelled.

use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;

use super::codes::{self, UNITS};
use super::json::Json;
use super::stream::Occasion;
use super::time;

/// Stands before the event's number in every lot of the batch.
pub(super) const PREFIX: &str = "L";

#[derive(Clone, Debug)]
pub(super) struct InventoryBatch {
    facility: String,
    pub(super) at_us: i64,
    items: Vec<Item>,
    operator: u32,
}

#[derive(Clone, Debug)]
struct Item {
    ndc: String,
    lot: String,
    thousandths: i64,
    unit: usize,
    event_type: &'static str,
}

/// How one item is written this time.
struct Spelling {
    ndc: String,
    lot: String,
    quantity: Json,
    unit: String,
}

pub(super) fn key(seed: u64, source: u64) -> String {
    codes::uuid(seed, source)
}

impl InventoryBatch {
    pub(super) fn new(occasion: Occasion, rng: &mut Xoshiro256PlusPlus) -> InventoryBatch {
        let items = rng.random_range(1..=3);
        InventoryBatch {
            facility: key(occasion.seed, occasion.source),
            at_us: occasion.at_us,
            items: (1..=items).map(|place| Item::new(occasion.event_id, place, rng)).collect(),
            operator: rng.random_range(1..500),
        }
    }

    pub(super) fn document(&self) -> Json {
        let items = self.items.iter().map(|item| item.with(item.plain())).collect();
        self.with(&self.facility, &time::utc(self.at_us), items)
    }

    pub(super) fn respelled(&self, rng: &mut Xoshiro256PlusPlus) -> Json {
        let upper = rng.random_bool(0.3);
        let facility =
            if upper { self.facility.to_ascii_uppercase() } else { self.facility.clone() };
        let mut items: Vec<Json> =
            self.items.iter().map(|item| item.with(item.respelled(rng))).collect();
        items.shuffle(rng);
        self.with(&facility, &time::respelled(self.at_us, rng), items)
    }

    fn with(&self, facility: &str, at: &str, items: Vec<Json>) -> Json {
        Json::Object(vec![
            ("facility_uuid", Json::text(facility)),
            ("batch_ts", Json::text(at)),
            ("items", Json::Array(items)),
            ("source_system", Json::text("cabinet/ES")),
            ("operator_ref", Json::text(format!("op-{}", self.operator))),
        ])
    }
}

impl Item {
    fn new(event_id: u64, place: u32, rng: &mut Xoshiro256PlusPlus) -> Item {
        let whole = rng.random_bool(0.7);
        let amount = match (whole, rng.random_bool(0.4)) {
            (true, true) => rng.random_range(1..50) * 10_000,
            (true, false) => rng.random_range(0..500) * 1_000,
            (false, _) => rng.random_range(1..500_000),
        };
        let event_type =
            ["dispense", "receipt", "adjustment", "waste"][rng.random_range(0..4usize)];
        let out = match event_type {
            "dispense" | "waste" => true,
            "receipt" => false,
            _ => rng.random_bool(0.5),
        };
        let end = if rng.random_bool(0.1) { "-Ö" } else { "" };
        Item {
            ndc: codes::ndc11(rng),
            lot: format!("{PREFIX}{event_id:09}-{place}{end}"),
            thousandths: if out { -amount } else { amount },
            unit: rng.random_range(0..UNITS.len()),
            event_type,
        }
    }

    fn plain(&self) -> Spelling {
        Spelling {
            ndc: self.ndc.clone(),
            lot: self.lot.clone(),
            quantity: Json::text(shortest(self.thousandths)),
            unit: UNITS[self.unit][0].to_owned(),
        }
    }

    fn respelled(&self, rng: &mut Xoshiro256PlusPlus) -> Spelling {
        let units = UNITS[self.unit];
        let unit = units[rng.random_range(0..units.len())];
        Spelling {
            ndc: codes::respelled_ndc(&self.ndc, rng),
            lot: codes::respelled_text(&self.lot, rng),
            quantity: respelled_quantity(self.thousandths, rng),
            unit: if rng.random_bool(0.2) { format!(" {unit}") } else { unit.to_owned() },
        }
    }

    fn with(&self, spelling: Spelling) -> Json {
        Json::Object(vec![
            ("ndc11", Json::text(spelling.ndc)),
            ("lot", Json::text(spelling.lot)),
            ("qty_delta", spelling.quantity),
            ("unit", Json::text(spelling.unit)),
            ("event_type", Json::text(self.event_type)),
        ])
    }
}

/// 10000 is `10`, 12500 is `12.5`, -1 is `-0.001`.
fn shortest(thousandths: i64) -> String {
    let full = full(thousandths);
    full.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn full(thousandths: i64) -> String {
    let sign = if thousandths < 0 { "-" } else { "" };
    let amount = thousandths.abs();
    format!("{sign}{}.{:03}", amount / 1_000, amount % 1_000)
}

/// The same quantity in other digits, as text or as a number.
fn respelled_quantity(thousandths: i64, rng: &mut Xoshiro256PlusPlus) -> Json {
    let mut forms = vec![shortest(thousandths), full(thousandths)];
    // Each form below keeps within three decimals once its exponent is applied.
    if thousandths % 10_000 == 0 && thousandths != 0 {
        forms.push(format!("{}e1", thousandths / 10_000));
        forms.push(format!("{}E+1", thousandths / 10_000));
    }
    if thousandths != 0 {
        forms.push(format!("{thousandths}e-3"));
    }
    let form = forms.swap_remove(rng.random_range(0..forms.len()));
    match rng.random_range(0..4) {
        0 => Json::Bare(form),
        // Leading zeros are allowed in text only.
        1 if !form.starts_with('-') => Json::text(format!("0{form}")),
        _ => Json::text(form),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities() {
        assert_eq!(shortest(10_000), "10");
        assert_eq!(shortest(12_500), "12.5");
        assert_eq!(shortest(-1), "-0.001");
        assert_eq!(shortest(0), "0");
        assert_eq!(full(-12_500), "-12.500");
    }
}
