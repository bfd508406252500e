//! `oncegate quarantine show`: one held record whole, and for a conflict where it differs.
//!
//! It prints the raw record: for the terminal of a person who may see it. Must not be in here:
//! a comparison; that is identity's.

use super::desk::{Desk, tell_foreign};
use crate::cli::{Outcome, QuarantineShowArgs};
use crate::commands::utc;
use crate::identity::{Delivery, differing_members};
use crate::quarantine::{Held, Selection, source_of};
use serde::Serialize;

#[derive(Serialize)]
struct Shown {
    id: String,
    reason: String,
    detail: Option<String>,
    source: String,
    quarantined_at: Option<String>,
    raw_timestamp: Option<String>,
    recipe: String,
    route: String,
    event_key: Option<String>,
    digest: Option<String>,
    cut: bool,
    /// For a conflict: the first delivery, and the members that differ, by JSON pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    differs_in: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_compared: Option<String>,
    headers: Vec<(String, Option<String>)>,
    key: Option<String>,
    value: Option<String>,
}

/// Prints one held record.
pub(super) fn show(mut desk: Desk, args: &QuarantineShowArgs) -> Result<Outcome, String> {
    let selection = Selection { ids: vec![args.id], ..Selection::default() };
    let mut found = None;
    let foreign = desk.each(&selection, &mut |held| found = Some(held))?;
    let Some(held) = found else {
        if tell_foreign(&foreign) {
            let topic = &desk.route.quarantine;
            return Err(format!("{topic}/{} is not there, or no longer retained", args.id));
        }
        return Ok(Outcome::Wrong);
    };
    let shown = shown(&mut desk, &held)?;
    if args.json {
        // Texts always make JSON.
        println!("{}", serde_json::to_string(&shown).unwrap_or_default());
    } else {
        print!("{}", text(&shown));
    }
    Ok(Outcome::Fine)
}

fn shown(desk: &mut Desk, held: &Held) -> Result<Shown, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut shown = Shown {
        id: held.id.to_string(),
        reason: held.reason.clone(),
        detail: held.detail.clone(),
        source: held.source(),
        quarantined_at: held.timestamp_ms.and_then(utc),
        raw_timestamp: held.raw_timestamp.clone(),
        recipe: held.recipe.clone(),
        route: held.route.clone(),
        event_key: held.key_text.clone(),
        digest: held.digest.clone(),
        cut: held.is_cut,
        first: held.first.clone(),
        differs_in: None,
        not_compared: None,
        headers: (held.headers.iter())
            .map(|(name, value)| (text(name), value.as_deref().map(text)))
            .collect(),
        key: held.key.as_deref().map(text),
        value: held.payload.as_deref().map(text),
    };
    if let Some(first) = &held.first {
        match differences(desk, held, first)? {
            Ok(members) => shown.differs_in = Some(members),
            Err(why) => shown.not_compared = Some(why),
        }
    }
    Ok(shown)
}

/// Where a conflict differs from the first delivery; or why that cannot be said.
fn differences(
    desk: &mut Desk,
    held: &Held,
    first: &str,
) -> Result<Result<Vec<String>, String>, String> {
    let Some(at) = source_of(first) else {
        return Ok(Err("its header oncegate-first is faulty".into()));
    };
    let (topic, partition, offset) = (at.topic.to_owned(), at.partition, at.offset);
    let first_item = at.item.unwrap_or(0) as usize;
    let Some(payload) = desk.payload_at(&topic, partition, offset)? else {
        return Ok(Err("the first delivery is no longer retained in the raw topic".into()));
    };
    let Some(held_payload) = held.payload.as_deref().filter(|_| !held.is_cut) else {
        return Ok(Err("quarantine holds only the hash and the first bytes".into()));
    };
    let first = Delivery { payload: &payload, item: first_item };
    let second = Delivery { payload: held_payload, item: held.item.unwrap_or(0) as usize };
    Ok(differing_members(&desk.route.recipe, first, second)
        .ok_or_else(|| "one of the two is rejected by the route's recipe of today".into()))
}

fn text(shown: &Shown) -> String {
    let mut lines = vec![
        ("id", Some(shown.id.clone())),
        ("reason", Some(shown.reason.clone())),
        ("detail", shown.detail.clone()),
        ("source", Some(shown.source.clone())),
        ("quarantined at", shown.quarantined_at.clone()),
        ("raw timestamp", shown.raw_timestamp.clone()),
        ("recipe", Some(shown.recipe.clone())),
        ("route", Some(shown.route.clone())),
        ("event key", shown.event_key.clone()),
        ("digest", shown.digest.clone()),
        ("first", shown.first.clone()),
        ("differs in", shown.differs_in.as_ref().map(|members| members.join(" "))),
        ("not compared", shown.not_compared.clone()),
    ];
    if shown.cut {
        lines.push(("cut", Some("only the hash and the first bytes are kept".into())));
    }
    let null = || "(null)".to_owned();
    for (name, value) in &shown.headers {
        lines.push(("header", Some(format!("{name} = {}", value.clone().unwrap_or_else(null)))));
    }
    lines.push(("key", Some(shown.key.clone().unwrap_or_else(null))));
    lines.push(("value", Some(shown.value.clone().unwrap_or_else(null))));
    let known = lines.into_iter().filter_map(|(name, value)| Some((name, value?)));
    known.map(|(name, value)| format!("{name:<15} {value}\n")).collect()
}
