//! What a sample must be: the same for the same seed, every later delivery the same event, every
//! code valid, broken records broken.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::codes::{ANALYTES, gs1_check_digit};
use super::*;

const SEED: u64 = 42;

fn sample(records: usize) -> Sample {
    let options = SampleOptions { seed: SEED, records, broken_share: 0.02, ..Default::default() };
    Sample::new(options).unwrap()
}

fn document(sent: &Sent) -> Value {
    serde_json::from_slice(sent.payload.as_ref().unwrap()).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_sample_and_another_seed_another() {
    for kind in Kind::ALL {
        assert_eq!(sample(3_000).sent(kind), sample(3_000).sent(kind));
        let other = SampleOptions { seed: SEED + 1, records: 3_000, ..Default::default() };
        assert_ne!(sample(3_000).sent(kind), Sample::new(other).unwrap().sent(kind));
    }
}

#[test]
fn records_are_shared_out_over_the_kinds() {
    let sample = sample(1_001);
    let all: Vec<usize> = Kind::ALL.into_iter().map(|kind| sample.sent(kind).len()).collect();
    assert_eq!(all, [334, 334, 333]);
}

#[test]
fn about_one_in_six_comes_again_later_on_the_same_partition() {
    for kind in Kind::ALL {
        let sent = sample(60_000).sent(kind);
        let mut first: HashMap<u64, i32> = HashMap::new();
        let mut again = 0;
        for one in &sent {
            match one.truth {
                Truth::Event { event_id, delivery: Delivery::First } => {
                    assert_eq!(first.insert(event_id, one.partition), None, "seed {SEED}");
                }
                Truth::Event { event_id, delivery: Delivery::Again } => {
                    assert_eq!(first.get(&event_id), Some(&one.partition), "seed {SEED}");
                    again += 1;
                }
                Truth::Broken { .. } => {}
            }
        }
        let share = f64::from(again) / sent.len() as f64;
        assert!((0.14..0.19).contains(&share), "seed {SEED}, {kind}: {share}");
    }
}

#[test]
fn the_payload_tells_the_event_also_when_it_is_spelled_otherwise() {
    let mut respelled = 0;
    for kind in Kind::ALL {
        let mut texts: HashMap<u64, Vec<u8>> = HashMap::new();
        for one in sample(30_000).sent(kind) {
            let Truth::Event { event_id, delivery } = one.truth else {
                continue;
            };
            let payload = one.payload.unwrap();
            assert_eq!(event_id_of(kind, &payload), Some(event_id), "seed {SEED}");
            if delivery == Delivery::First {
                texts.insert(event_id, payload);
            } else if texts[&event_id] != payload {
                respelled += 1;
            }
        }
    }
    assert!(respelled > 2_000, "seed {SEED}: only {respelled} deliveries are spelled otherwise");
}

/// Folds the spellings that the strict recipes take for one, written here a second time and
/// without the code that made them.
fn folded(kind: Kind, document: &Value) -> BTreeMap<String, String> {
    let mut members = BTreeMap::new();
    for (name, value) in document.as_object().unwrap() {
        let folded = match (kind, name.as_str()) {
            (Kind::Lab, "accession" | "instrument_id" | "analyte_loinc") => composed(value),
            (_, "resulted_at" | "event_time" | "batch_ts") => instant_us(value).to_string(),
            (Kind::Epcis, "gtin") => format!("{:0>14}", value.as_str().unwrap()),
            (Kind::Epcis, "biz_step") => {
                let text = value.as_str().unwrap().trim();
                text.rsplit([':', '-']).next().unwrap().to_owned()
            }
            (Kind::Inventory, "facility_uuid") => value.as_str().unwrap().to_lowercase(),
            (Kind::Inventory, "items") => {
                let mut items: Vec<String> =
                    value.as_array().unwrap().iter().map(folded_item).collect();
                items.sort();
                items.join(" ")
            }
            _ => value.to_string(),
        };
        members.insert(name.clone(), folded);
    }
    members
}

fn composed(value: &Value) -> String {
    let text = value.as_str().unwrap().trim();
    text.replace("e\u{301}", "é").replace("O\u{308}", "Ö")
}

fn folded_item(item: &Value) -> String {
    let quantity = match &item["qty_delta"] {
        Value::String(text) => text.parse::<f64>().unwrap(),
        number => number.as_f64().unwrap(),
    };
    let unit = item["unit"].as_str().unwrap().trim().to_lowercase();
    let unit = match unit.as_str() {
        "each" => "ea",
        "tabs" | "tablet" => "tab",
        "caps" | "capsule" => "cap",
        "gm" => "g",
        "\u{b5}g" | "\u{3bc}g" => "mcg",
        same => same,
    };
    let ndc = item["ndc11"].as_str().unwrap();
    let lengths = [5, 4, 2];
    let ndc = if ndc.contains('-') {
        let parts = ndc.split('-').zip(lengths).map(|(part, length)| {
            let part = if part.len() > length { part.strip_prefix('0').unwrap() } else { part };
            format!("{part:0>length$}")
        });
        parts.collect()
    } else {
        ndc.to_owned()
    };
    assert_eq!(ndc.len(), 11);
    format!("{ndc} {} {quantity:.3} {unit} {}", composed(&item["lot"]), item["event_type"])
}

/// Reads `2026-01-15T10:00:00.5+02:00` in the style of a calculator: days by counting years.
fn instant_us(value: &Value) -> i64 {
    let text = value.as_str().unwrap();
    let number = |range: std::ops::Range<usize>| text[range].parse::<i64>().unwrap();
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    let lengths = [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let days = (1970..year).map(|year| 365 + i64::from(leap(year))).sum::<i64>()
        + lengths[..month as usize - 1].iter().sum::<i64>()
        + day
        - 1;
    let seconds = days * 86_400 + number(11..13) * 3_600 + number(14..16) * 60 + number(17..19);
    let rest = &text[19..];
    let zone_at = rest.find(['Z', 'z', '+', '-']).expect("a zone");
    let fraction = format!("{:0<6}", rest[..zone_at].trim_start_matches('.'));
    let zone = &rest[zone_at..];
    let offset_min = match zone.len() {
        1 => 0,
        _ => {
            let minutes =
                zone[1..3].parse::<i64>().unwrap() * 60 + zone[4..6].parse::<i64>().unwrap();
            assert!(minutes <= 14 * 60);
            if zone.starts_with('-') { -minutes } else { minutes }
        }
    };
    (seconds - offset_min * 60) * 1_000_000 + fraction.parse::<i64>().unwrap()
}

#[test]
fn every_later_delivery_is_the_same_event_with_the_same_content() {
    for kind in Kind::ALL {
        let mut seen: HashMap<u64, BTreeMap<String, String>> = HashMap::new();
        for one in sample(30_000).sent(kind) {
            let Truth::Event { event_id, delivery } = one.truth else {
                continue;
            };
            let folded = folded(kind, &document(&one));
            if delivery == Delivery::First {
                seen.insert(event_id, folded);
            } else {
                assert_eq!(seen[&event_id], folded, "seed {SEED}, {kind} {event_id}");
            }
        }
    }
}

#[test]
fn numbers_that_no_recipe_normalizes_keep_their_digits() {
    let digits = |sent: &Sent| {
        let text = String::from_utf8(sent.payload.clone().unwrap()).unwrap();
        let unescaped: String = text.split_whitespace().collect();
        unescaped.split_once("\"value\":").map(|(_, rest)| {
            rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect::<String>()
        })
    };
    let mut seen: HashMap<u64, String> = HashMap::new();
    for one in sample(9_000).sent(Kind::Lab) {
        let Truth::Event { event_id, delivery } = one.truth else {
            continue;
        };
        match (delivery, digits(&one)) {
            (Delivery::First, Some(digits)) => {
                seen.insert(event_id, digits);
            }
            // The name of the member may be escaped: then it is not found as text.
            (Delivery::Again, Some(digits)) => assert_eq!(seen[&event_id], digits, "seed {SEED}"),
            (_, None) => {}
        }
    }
}

#[test]
fn codes_are_valid() {
    for analyte in &ANALYTES {
        let (digits, check) = analyte.loinc.split_once('-').unwrap();
        // The LOINC guide: from the right, every second digit doubled as a number of its own.
        let sum: u32 = digits
            .bytes()
            .rev()
            .enumerate()
            .map(|(place, digit)| {
                let digit = u32::from(digit - b'0');
                if place % 2 == 0 { digit * 2 / 10 + digit * 2 % 10 } else { digit }
            })
            .sum();
        assert_eq!(check, ((10 - sum % 10) % 10).to_string(), "{}", analyte.loinc);
    }
    for one in sample(20_000).sent(Kind::Epcis).iter().filter(|one| !one.is_broken()) {
        let document = document(one);
        let gtin = document["gtin"].as_str().unwrap();
        let gtin = format!("{gtin:0>14}");
        assert_eq!(gtin.as_bytes()[13], gs1_check_digit(&gtin[..13]), "seed {SEED}: {gtin}");
        let sum: u32 = gtin
            .bytes()
            .enumerate()
            .map(|(at, d)| u32::from(d - b'0') * if at % 2 == 0 { 3 } else { 1 })
            .sum();
        assert_eq!(sum % 10, 0, "seed {SEED}: {gtin}");
        let serial = document["serial"].as_str().unwrap();
        let allowed = |c: char| c.is_ascii_alphanumeric() || "!\"%&'()*+,-./_:;<=>?".contains(c);
        assert!(serial.len() <= 20 && serial.chars().all(allowed), "seed {SEED}: {serial}");
    }
}

#[test]
fn every_way_of_breaking_occurs_and_leaves_nothing_valid() {
    for kind in Kind::ALL {
        let mut ways = BTreeMap::new();
        for one in sample(60_000).sent(kind) {
            let Truth::Broken { why } = one.truth else {
                continue;
            };
            *ways.entry(why).or_insert(0) += 1;
            let parsed = one.payload.as_deref().map(serde_json::from_slice::<Value>);
            match why {
                Broken::NullValue => assert!(parsed.is_none()),
                Broken::NotJson => assert!(parsed.unwrap().is_err(), "seed {SEED}"),
                _ => assert!(parsed.unwrap().is_ok(), "seed {SEED}"),
            }
        }
        assert_eq!(ways.len(), Broken::ALL.len(), "seed {SEED}, {kind}: {ways:?}");
    }
}

#[test]
fn lab_results_have_the_size_that_figures_are_given_for() {
    let sent = sample(3_000).sent(Kind::Lab);
    let bytes: usize = sent.iter().filter_map(|one| one.payload.as_ref()).map(Vec::len).sum();
    let mean = bytes / sent.len();
    assert!((360..420).contains(&mean), "{mean} bytes");
}

#[test]
fn event_times_rise_with_small_disorder() {
    for kind in Kind::ALL {
        let mut highest = i64::MIN;
        for one in sample(6_000).sent(kind).iter().filter(|one| one.first_of().is_some()) {
            highest = highest.max(one.event_time_ms);
            assert!(highest - one.event_time_ms <= 122_000, "seed {SEED}");
        }
        assert!(highest > START_MS + 1_000_000);
    }
}

#[test]
fn laboratory_results_come_near_to_the_size_that_is_asked_for() {
    for bytes in [200, 500, 6_000] {
        let options = SampleOptions {
            seed: SEED,
            records: 2_000,
            kinds: vec![Kind::Lab],
            broken_share: 0.0,
            lab_bytes: Some(bytes),
            ..Default::default()
        };
        let sent = Sample::new(options).unwrap().sent(Kind::Lab);
        let all: usize = sent.iter().map(|one| one.payload.as_ref().unwrap().len()).sum();
        let mean = all / sent.len();
        assert!(mean.abs_diff(bytes) < bytes / 10, "seed {SEED}: {mean} bytes, not {bytes}");
    }
}

#[test]
fn nine_in_ten_records_can_be_later_deliveries() {
    let options = SampleOptions {
        seed: SEED,
        records: 60_000,
        kinds: vec![Kind::Lab],
        again_share: 0.9,
        broken_share: 0.0,
        ..Default::default()
    };
    let sent = Sample::new(options).unwrap().sent(Kind::Lab);
    let again = sent.iter().filter(|one| one.first_of().is_none()).count();
    let share = again as f64 / sent.len() as f64;
    assert!((0.87..0.93).contains(&share), "seed {SEED}: {share}");
}
