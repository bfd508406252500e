//! Random records of the strict recipes, other spellings of the same record, and records that
//! differ from it in one member of their identity.

use super::Random;
use super::json::Json;
use chrono::{DateTime, FixedOffset, SecondsFormat};
use std::collections::BTreeMap;

/// A record of a recipe, with what can be done to it.
pub struct Family {
    pub recipe: &'static str,
    pub make: fn(&mut Random) -> Json,
    /// Another spelling of the same meaning.
    pub respell: fn(&mut Json, &mut Random),
    /// Another meaning: one member of the identity is changed.
    pub change: fn(&mut Json, &mut Random),
}

pub const FAMILIES: [Family; 4] = [
    Family { recipe: "lab-result", make: lab, respell: respell_lab, change: change_lab },
    Family { recipe: "epcis-event", make: epcis, respell: respell_epcis, change: change_epcis },
    Family { recipe: "inventory-batch", make: batch, respell: respell_batch, change: change_batch },
    Family {
        recipe: "inventory-item",
        make: batch,
        respell: respell_batch,
        change: change_whole_batch,
    },
];

fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn word(random: &mut Random) -> String {
    let signs: Vec<char> = "ABCxyz0189-_/.Öé漢💉".chars().collect();
    (0..1 + random.below(10)).map(|_| *random.pick(&signs)).collect()
}

fn time(random: &mut Random) -> String {
    let micros = (random.next() % 7_289_654_400_000_000) as i64;
    let micros = micros - micros % *random.pick(&[1, 1000, 1_000_000]);
    DateTime::from_timestamp_micros(micros).unwrap().to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

fn respell_time(json: &mut Json, random: &mut Random) {
    let text = json.as_text();
    let Ok(instant) = DateTime::parse_from_rfc3339(text) else {
        return;
    };
    let offset = FixedOffset::east_opt(60 * (random.below(28 * 60) as i32 - 14 * 60)).unwrap();
    let precision =
        *random.pick(&[SecondsFormat::AutoSi, SecondsFormat::Micros, SecondsFormat::Nanos]);
    *text = instant.with_timezone(&offset).to_rfc3339_opts(precision, random.one_in(2));
    if random.one_in(4) {
        *text = text.replace('T', if random.one_in(2) { "t" } else { " " }).replace('Z', "z");
    }
}

fn pad(json: &mut Json, random: &mut Random) {
    let blanks = ["", "", " ", "\t", "\u{3000}", "\n ", "\u{2003}", "\u{85}"];
    let text = json.as_text();
    *text = format!("{}{text}{}", random.pick(&blanks), random.pick(&blanks));
}

/// Canonical decomposition of the two letters that words here may hold.
fn decompose(json: &mut Json, random: &mut Random) {
    if random.one_in(2) {
        let text = json.as_text();
        *text = text.replace('Ö', "O\u{308}").replace('é', "e\u{301}");
    }
}

// Laboratory results.

const LOINC: [&str; 6] = ["2823-3", "2951-2", "2075-0", "1-8", "100000-9", "94500-6"];

fn lab(random: &mut Random) -> Json {
    object([
        ("accession", Json::text(word(random))),
        ("analyte_loinc", Json::text(*random.pick(&LOINC))),
        ("instrument_id", Json::text(word(random))),
        ("resulted_at", Json::text(time(random))),
        ("value", Json::Raw(random.pick(&["4.2", "4.20", "-0", "1e400"]).to_string())),
        ("note", Json::text(word(random))),
        (
            "nested",
            object([("b", Json::Raw("null".into())), ("a", Json::List(vec![Json::text("x")]))]),
        ),
    ])
}

fn respell_lab(json: &mut Json, random: &mut Random) {
    for member in ["accession", "instrument_id"] {
        decompose(json.at(&[member]), random);
        pad(json.at(&[member]), random);
    }
    pad(json.at(&["analyte_loinc"]), random);
    respell_time(json.at(&["resulted_at"]), random);
    if random.one_in(2) {
        json.as_object().push(("received_at".into(), Json::text(time(random))));
    }
}

fn change_lab(json: &mut Json, random: &mut Random) {
    match random.below(4) {
        0 => json.at(&["accession"]).as_text().push('7'),
        1 => json.at(&["instrument_id"]).as_text().insert(0, 'z'),
        2 => change_choice(json.at(&["analyte_loinc"]), &LOINC, random),
        _ => change_time(json.at(&["resulted_at"])),
    }
}

fn change_choice(json: &mut Json, choices: &[&str], random: &mut Random) {
    let text = json.as_text();
    let others: Vec<&&str> = choices.iter().filter(|choice| **choice != text.as_str()).collect();
    *text = random.pick(&others).to_string();
}

fn change_time(json: &mut Json) {
    let text = json.as_text();
    let instant = DateTime::parse_from_rfc3339(text).unwrap();
    let micros = instant.timestamp_micros();
    let other = if micros > 0 { micros - 1 } else { micros + 1 };
    *text = DateTime::from_timestamp_micros(other)
        .unwrap()
        .to_rfc3339_opts(SecondsFormat::Micros, true);
}

// Flat EPCIS events.

const GTINS: [&str; 4] = ["00312345000059", "00300930058011", "50300930058016", "00000012345670"];
const STEPS: [&str; 4] =
    ["commissioning", "decommissioning", "packing", "http://a.example/steps/x"];

fn epcis(random: &mut Random) -> Json {
    let mut event = object([
        ("gtin", Json::text(*random.pick(&GTINS))),
        ("serial", Json::text(format!("SN%{}\"{}", random.below(1000), random.below(9)))),
        ("event_time", Json::text(time(random))),
        ("biz_step", Json::text(*random.pick(&STEPS))),
        ("lot", Json::text(word(random))),
    ]);
    if random.one_in(2) {
        let action = *random.pick(&["ADD", "OBSERVE", "DELETE"]);
        event.as_object().push(("action".into(), Json::text(action)));
    }
    if random.one_in(3) {
        let declaration =
            object([("declarationTime", Json::text(time(random))), ("reason", Json::text("r"))]);
        event.as_object().push(("error_declaration".into(), declaration));
    }
    event
}

fn respell_epcis(json: &mut Json, random: &mut Random) {
    let gtin = json.at(&["gtin"]).as_text();
    let zeros = gtin.bytes().take_while(|b| *b == b'0').count();
    let widths: Vec<usize> =
        [8, 12, 13, 14].into_iter().filter(|width| 14 - width <= zeros).collect();
    *gtin = gtin[14 - *random.pick(&widths)..].to_owned();
    let step = json.at(&["biz_step"]).as_text();
    if !step.contains(':') {
        let before =
            ["", "urn:epcglobal:cbv:bizstep:", "https://ref.gs1.org/cbv/BizStep-", "cbv:BizStep-"];
        *step = format!("{}{step}", random.pick(&before));
    }
    pad(json.at(&["biz_step"]), random);
    respell_time(json.at(&["event_time"]), random);
    if json.as_object().iter().any(|(name, _)| name == "error_declaration") {
        respell_time(json.at(&["error_declaration", "declarationTime"]), random);
    }
}

fn change_epcis(json: &mut Json, random: &mut Random) {
    let has = |json: &mut Json, name: &str| json.as_object().iter().any(|(known, _)| known == name);
    match random.below(6) {
        0 => change_choice(json.at(&["gtin"]), &GTINS, random),
        1 => json.at(&["serial"]).as_text().push('x'),
        2 => change_choice(json.at(&["biz_step"]), &STEPS, random),
        3 if has(json, "action") => json.as_object().retain(|(name, _)| name != "action"),
        3 => json.as_object().push(("action".into(), Json::text("ADD"))),
        4 if has(json, "error_declaration") => {
            change_time(json.at(&["error_declaration", "declarationTime"]))
        }
        4 => json.as_object().push(("read_point".into(), Json::text("urn:x:y"))),
        _ => change_time(json.at(&["event_time"])),
    }
}

// Batches.

/// Each token with spellings of it.
fn units() -> BTreeMap<&'static str, Vec<&'static str>> {
    BTreeMap::from([
        ("EA", vec!["ea", "EA", "Each", "eAcH"]),
        ("ML", vec!["ml", "mL", "ML"]),
        ("TAB", vec!["tab", "TABS", "Tablet"]),
        ("MG", vec!["mg", "MG", "mG"]),
        ("MCG", vec!["mcg", "µg", "μg", "µG"]),
    ])
}

const EVENT_TYPES: [&str; 4] = ["dispense", "receipt", "adjustment", "waste"];

fn batch(random: &mut Random) -> Json {
    let tokens: Vec<&str> = units().into_keys().collect();
    let mut items: Vec<Json> = Vec::new();
    for _ in 0..1 + random.below(6) {
        let quantity = random.below(2_000_000) as i64 - 1_000_000;
        let mut item = object([
            (
                "ndc11",
                Json::text(format!(
                    "{:011}",
                    random.next() % 10_u64.pow(1 + random.below(11) as u32)
                )),
            ),
            ("lot", Json::text(word(random))),
            ("qty_delta", Json::text(format!("{}.{:03}", quantity / 1000, quantity.abs() % 1000))),
            ("unit", Json::text(*random.pick(&tokens))),
            ("event_type", Json::text(*random.pick(&EVENT_TYPES))),
        ]);
        if random.one_in(3) {
            item.as_object().push(("shelf".into(), Json::text(word(random))));
        }
        items.push(item);
        if random.one_in(4) {
            let twin = items[random.below(items.len())].clone();
            items.push(twin);
        }
    }
    object([
        ("facility_uuid", Json::text("5f1e6c2a-0000-4000-8000-000000000abc")),
        ("batch_ts", Json::text(time(random))),
        ("items", Json::List(items)),
    ])
}

fn respell_ndc(json: &mut Json, random: &mut Random) {
    let text = json.as_text();
    let (labeler, product, package) = (&text[..5], &text[5..9], &text[9..]);
    let mut spellings = vec![text.clone(), format!("{labeler}-{product}-{package}")];
    if let Some(short) = labeler.strip_prefix('0') {
        spellings.push(format!("{short}-{product}-{package}"));
    }
    if let Some(short) = product.strip_prefix('0') {
        spellings.push(format!("{labeler}-{short}-{package}"));
    }
    if let Some(short) = package.strip_prefix('0') {
        spellings.push(format!("{labeler}-{product}-{short}"));
    }
    spellings.push(format!("0{labeler}-{product}-{package}"));
    *text = random.pick(&spellings).clone();
}

/// As a text or a number, with other zeros, or with an exponent.
fn respell_quantity(json: &mut Json, random: &mut Random) {
    let text = json.as_text().clone();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.as_str()),
    };
    let (whole, decimals) = digits.split_once('.').unwrap();
    let short = decimals.trim_end_matches('0');
    let point = |decimals: &str| {
        if decimals.is_empty() { String::new() } else { format!(".{decimals}") }
    };
    let spelling = match random.below(5) {
        0 => format!("{sign}{whole}{}", point(short)),
        1 => format!("{sign}{whole}{decimals}e-3"),
        2 => format!("{sign}{whole}{decimals}00E-05"),
        3 => format!("{sign}0.{whole}{decimals}e{}", whole.len()),
        _ => text.clone(),
    };
    let fits = spelling.trim_start_matches('-');
    let number = fits.starts_with("0.") || fits == "0" || !fits.starts_with('0');
    *json = match random.one_in(2) && number {
        true => Json::Raw(spelling),
        false => Json::text(format!("{sign}000{fits}")),
    };
    // Two decimals beyond the scale are refused even where they are zeros.
    if json.as_text().contains("00E-05") {
        *json = Json::text(text);
    }
}

fn respell_batch(json: &mut Json, random: &mut Random) {
    let facility = json.at(&["facility_uuid"]).as_text();
    if random.one_in(2) {
        *facility = facility.to_uppercase();
    }
    respell_time(json.at(&["batch_ts"]), random);
    let items = json.at(&["items"]).as_list();
    random.shuffle(items);
    for item in items {
        respell_ndc(item.at(&["ndc11"]), random);
        decompose(item.at(&["lot"]), random);
        respell_quantity(item.at(&["qty_delta"]), random);
        let unit = item.at(&["unit"]).as_text();
        *unit = random.pick(&units()[unit.as_str()]).to_string();
        for member in ["ndc11", "lot", "unit"] {
            pad(item.at(&[member]), random);
        }
    }
}

fn change_batch(json: &mut Json, random: &mut Random) {
    let count = json.at(&["items"]).as_list().len();
    let item = random.below(count).to_string();
    match random.below(7) {
        0 => json.at(&["items", &item, "lot"]).as_text().push('7'),
        1 => {
            let quantity = json.at(&["items", &item, "qty_delta"]).as_text();
            *quantity = match quantity.strip_prefix('-') {
                Some(digits) => format!("-1{digits}"),
                None => format!("1{quantity}"),
            };
        }
        2 => change_choice(
            json.at(&["items", &item, "unit"]),
            &["EA", "ML", "TAB", "MG", "MCG"],
            random,
        ),
        3 => change_choice(json.at(&["items", &item, "event_type"]), &EVENT_TYPES, random),
        4 => {
            let twin = json.at(&["items", &item]).clone();
            json.at(&["items"]).as_list().push(twin);
        }
        _ => change_whole_batch(json, random),
    }
}

/// Changes what every item of a batch has in its key.
fn change_whole_batch(json: &mut Json, random: &mut Random) {
    match random.below(2) {
        0 => change_time(json.at(&["batch_ts"])),
        _ => *json.at(&["facility_uuid"]) = Json::text("0b7d9a10-1111-4222-8333-44445555abcd"),
    }
}
