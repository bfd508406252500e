//! Ways to break a document so that no event can be read from it. Each takes a sound one, so
//! that exactly one thing is wrong.

use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

use super::json::Json;
use super::{Broken, Kind, time};

/// The value of a record that is broken in this way; `None` is a tombstone.
pub(super) fn payload(
    kind: Kind,
    document: Json,
    at_us: i64,
    why: Broken,
    rng: &mut Xoshiro256PlusPlus,
) -> Option<Vec<u8>> {
    let identity: &[&str] = match kind {
        Kind::Lab => &["accession", "analyte_loinc", "instrument_id", "resulted_at"],
        Kind::Epcis => &["gtin", "serial", "event_time", "biz_step"],
        Kind::Inventory => &["facility_uuid", "batch_ts", "items"],
    };
    let member = identity[rng.random_range(0..identity.len())];
    let document = match why {
        Broken::NotJson => {
            let text = document.plain();
            let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
            let end = cuts[rng.random_range(0..cuts.len())];
            return Some(text[..end].to_owned().into_bytes());
        }
        Broken::NullValue => return None,
        Broken::MissingMember => without(document, member),
        Broken::WrongType => replaced(document, member, Json::Bare("20260701".to_owned())),
        Broken::NaiveTime => {
            let member = match kind {
                Kind::Lab => "resulted_at",
                Kind::Epcis => "event_time",
                Kind::Inventory => "batch_ts",
            };
            replaced(document, member, Json::text(time::without_zone(at_us)))
        }
        Broken::BadCode => match kind {
            Kind::Lab => replaced(document, "analyte_loinc", Json::text("2823-4")),
            Kind::Epcis => replaced(document, "gtin", Json::text("00312345000058")),
            Kind::Inventory => replaced_in_first_item(document, "ndc11", "0093005801"),
        },
    };
    Some(document.plain().into_bytes())
}

fn without(document: Json, name: &str) -> Json {
    let Json::Object(mut members) = document else {
        return document;
    };
    members.retain(|(member, _)| *member != name);
    Json::Object(members)
}

fn replaced(document: Json, name: &str, value: Json) -> Json {
    let Json::Object(mut members) = document else {
        return document;
    };
    for (member, held) in &mut members {
        if *member == name {
            *held = value.clone();
        }
    }
    Json::Object(members)
}

fn replaced_in_first_item(document: Json, name: &str, value: &str) -> Json {
    let Json::Object(mut members) = document else {
        return document;
    };
    for (member, held) in &mut members {
        if let (&mut "items", Json::Array(items)) = (member, held) {
            items[0] = replaced(items[0].clone(), name, Json::text(value));
        }
    }
    Json::Object(members)
}
