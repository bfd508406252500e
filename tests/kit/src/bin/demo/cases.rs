//! The hard cases: a route with a window and items gets one record of each kind that is neither
//! new nor a plain duplicate, and what the topics hold afterwards is held against what is due.
//! Must not be in here: the main sample.

use std::collections::BTreeMap;

use oncegate_testkit::generator::{Broken, Kind, Sent, Truth};
use oncegate_testkit::produce::{Timestamps, produce};
use oncegate_testkit::reader::read_topic;
use oncegate_testkit::{KitError, Result};

use crate::stage::Stage;

/// The route of these cases in the shipped configuration.
pub const ROUTE: &str = "dispense";
/// They all stand on one partition, in this order.
const PARTITION: i32 = 0;
/// 2026-07-01T00:00:00Z.
const BEGIN_MS: i64 = 1_782_864_000_000;
const DAY_MS: i64 = 86_400_000;

/// One case: a raw record and what becomes of its events.
struct Case {
    what: &'static str,
    payload: String,
    /// The day on which it arrives, counted from the first.
    day: i64,
    due: &'static [&'static str],
}

/// A batch of movements; `at` is its time, each item a lot with its quantity and unit, and `note`
/// is content beside the identity.
fn batch(at: &str, items: &[(&str, &str, &str)], note: &str) -> String {
    let items: Vec<String> = (items.iter())
        .map(|(lot, quantity, unit)| {
            format!(
                r#"{{"ndc11":"00093-0058-01","lot":"{lot}","qty_delta":"{quantity}","unit":"{unit}","event_type":"dispense","note":"{note}"}}"#
            )
        })
        .collect();
    format!(
        r#"{{"facility_uuid":"5f1e6c2a-0000-4000-8000-000000000abc","batch_ts":"{at}","items":[{}]}}"#,
        items.join(",")
    )
}

fn cases() -> Vec<Case> {
    let case = |what, day, payload, due| Case { what, payload, day, due };
    let two = [("L1", "-1", "EA"), ("L2", "-2", "EA")];
    let first = "2026-07-01T08:00:00Z";
    vec![
        case("two new items", 0, batch(first, &two, "a"), &["first", "first"]),
        case(
            "the same, spelled otherwise",
            0,
            batch("2026-07-01T10:00:00+02:00", &[("L2", "-2.0", "each"), ("L1", "-1", "ea")], "a"),
            &["duplicate", "duplicate"],
        ),
        case("same item, other content", 0, batch(first, &two[..1], "b"), &["conflict"]),
        case(
            "one bad item among good ones",
            0,
            batch("2026-07-01T09:00:00Z", &[two[0], ("L3", "-1", "furlong"), two[1]], "a"),
            &["first", "unit", "first"],
        ),
        case("dated 2099", 1, batch("2099-01-01T00:00:00Z", &two[..1], "a"), &["future"]),
        case("dated 1970", 1, batch("1970-01-02T00:00:00Z", &two[..1], "a"), &["late"]),
        case("forty days on", 40, batch("2026-08-10T08:00:00Z", &two, "a"), &["first", "first"]),
        case(
            "older than the window, new",
            40,
            batch("2026-07-02T08:00:00Z", &two[..1], "a"),
            &["late"],
        ),
        case("older than the window, seen", 40, batch(first, &two[..1], "a"), &["late"]),
    ]
}

/// Sends the cases; gives how many records.
pub fn send(stage: &Stage) -> Result<usize> {
    let sent: Vec<Sent> = (cases().into_iter())
        .map(|case| Sent {
            kind: Kind::Inventory,
            partition: PARTITION,
            key: b"facility".to_vec(),
            payload: Some(case.payload.into_bytes()),
            event_time_ms: BEGIN_MS + case.day * DAY_MS + DAY_MS / 2,
            // The generator's truth has no word for these; `due` has.
            truth: Truth::Broken { why: Broken::BadCode },
        })
        .collect();
    produce(&stage.bootstrap, &stage.named(&format!("{ROUTE}.raw")), &sent, Timestamps::EventTime)?;
    Ok(sent.len())
}

/// What the topics say of each event, by offset and item of the raw partition.
type Seen = BTreeMap<(usize, usize), Vec<String>>;

/// Reads the route's topics: a line for each case, and whether all is as it is due.
pub fn judged(stage: &Stage) -> Result<(String, bool)> {
    let seen = seen(stage)?;
    let (mut text, mut well) = (String::new(), true);
    for (offset, case) in cases().iter().enumerate() {
        let found: Vec<String> = (0..case.due.len())
            .map(|item| seen.get(&(offset, item)).map_or("nowhere".into(), |all| all.join("+")))
            .collect();
        let right = found == case.due;
        well &= right;
        let mark = if right { "" } else { "  <- not as due" };
        text.push_str(&format!("{:<30} {}{mark}\n", case.what, found.join(", ")));
    }
    let due: usize = cases().iter().map(|case| case.due.len()).sum();
    Ok((text, well && seen.len() == due))
}

fn seen(stage: &Stage) -> Result<Seen> {
    let mut seen = Seen::new();
    let mut note = |source: Option<&str>, verdict: &str| -> Result<()> {
        let place = source.and_then(place).ok_or_else(|| {
            KitError::new(format!("a record of route {ROUTE} has no sound source: {source:?}"))
        })?;
        seen.entry(place).or_default().push(verdict.to_owned());
        Ok(())
    };
    let read = |topic: String| read_topic(&stage.bootstrap, &topic);
    for record in read(stage.named(&format!("{ROUTE}.clean")))?.iter().flatten() {
        note(record.header("oncegate-source"), "first")?;
    }
    for record in read(stage.of_group(ROUTE, "quarantine"))?.iter().flatten() {
        let reason = record.header("oncegate-reason").unwrap_or("no reason");
        note(record.header("oncegate-source"), reason)?;
    }
    for record in read(stage.of_group(ROUTE, "audit"))?.iter().flatten() {
        let told: serde_json::Value =
            serde_json::from_slice(record.payload.as_deref().unwrap_or_default())
                .map_err(|_| KitError::new("an audit record is no JSON".to_owned()))?;
        // A conflict stands in quarantine as well.
        if told["verdict"] == "duplicate" {
            let (at, topic) = (&told["this"], "raw");
            let source = format!("{topic}/{}/{}/{}", at["partition"], at["offset"], at["item"]);
            note(Some(&source), "duplicate")?;
        }
    }
    Ok(seen)
}

/// Offset and item of `topic/partition/offset/item`.
fn place(source: &str) -> Option<(usize, usize)> {
    let mut parts = source.split('/').skip(2);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}
