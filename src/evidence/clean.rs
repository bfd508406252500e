//! A clean record: what its headers claim, and whether its payload gives the same key and digest.
//! Must not be in here: the journal.

use super::route::RouteUnderProof;
use super::rows::Kind;
use super::source_header::{SourcePosition, header};
use crate::gate::RawRecord;
use crate::identity::{ContentDigest, Deriver, Event, EventKey, ItemSpan};

/// Hex digits of a key.
const KEY_DIGITS: usize = 64;

/// What a clean record says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// Event key.
    pub key: EventKey,
    /// What stands before its digits. It can hold values of the document: never to be printed.
    pub prefix: Box<str>,
    /// Content digest.
    pub digest: ContentDigest,
    /// Raw position.
    pub source: SourcePosition,
    /// Its number among equal items of its record; 1 where it has no equals.
    pub occurrence: u32,
    /// Why it was let through.
    pub kind: Kind,
    /// Number of the entry of a person's act, where it names one.
    pub entry: u64,
}

/// What is wrong with one clean record by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CleanFault {
    /// A header of oncegate's is missing or cannot be read.
    NoHeader(&'static str),
    /// It names another route.
    OtherRoute(String),
    /// It names another raw topic or partition.
    OtherSource,
    /// Its payload gives another key, another digest, or none.
    Changed(&'static str),
}

impl CleanFault {
    /// A word for it.
    pub fn kind(&self) -> &'static str {
        match self {
            CleanFault::NoHeader(_) => "not-of-oncegate",
            CleanFault::OtherRoute(_) => "other-route",
            CleanFault::OtherSource => "other-source",
            CleanFault::Changed(_) => "changed",
        }
    }

    /// What is wrong, in words. Holds no value of the payload.
    pub fn what(&self, route: &RouteUnderProof) -> String {
        match self {
            CleanFault::NoHeader(name) => {
                format!("the record has no readable header `{name}`, so oncegate did not write it")
            }
            CleanFault::OtherRoute(other) => format!(
                "the record is of route {other}, not of {}: two deployments write to one topic, \
                 or it was put in by hand",
                route.label
            ),
            CleanFault::OtherSource => format!(
                "its header `oncegate-source` does not name this partition of {}",
                route.raw
            ),
            CleanFault::Changed(what) => format!("its payload gives {what} its headers say"),
        }
    }
}

impl Claims {
    /// Reads the headers of a record of the route's clean topic.
    ///
    /// # Errors
    /// [`CleanFault`].
    pub fn read(record: &RawRecord<'_>, route: &RouteUnderProof) -> Result<Claims, CleanFault> {
        let need = |name: &'static str| header(record, name).ok_or(CleanFault::NoHeader(name));
        let label = need("oncegate-route")?;
        if label != route.label {
            return Err(CleanFault::OtherRoute(printable(label)));
        }
        let key = need("oncegate-key")?;
        let (prefix, key) = split_key(key).ok_or(CleanFault::NoHeader("oncegate-key"))?;
        let digest = hex::decode(need("oncegate-digest")?).ok();
        let digest = digest.and_then(|bytes| ContentDigest::from_bytes(&bytes));
        let digest = digest.ok_or(CleanFault::NoHeader("oncegate-digest"))?;
        let source = SourcePosition::parse(need("oncegate-source")?);
        let (topic, source) = source.ok_or(CleanFault::NoHeader("oncegate-source"))?;
        if topic != route.raw || source.partition != record.partition {
            return Err(CleanFault::OtherSource);
        }
        let occurrence = header(record, "oncegate-occurrence").and_then(|text| text.parse().ok());
        // No item can have more equals before it than items: a header is not believed further.
        let occurrence = occurrence.unwrap_or(1).min(source.item.saturating_add(1));
        let (kind, entry) = letting(record)?;
        Ok(Claims { key, prefix: prefix.into(), digest, source, occurrence, kind, entry })
    }
}

/// What the headers that only corrections and admitted events have say.
fn letting(record: &RawRecord<'_>) -> Result<(Kind, u64), CleanFault> {
    const ADMITTED: &str = "oncegate-admitted";
    let stands = |name: &str| record.headers.iter().any(|header| header.name == name.as_bytes());
    match (stands("oncegate-corrects"), stands(ADMITTED)) {
        (true, false) => Ok((Kind::Correction, 0)),
        (false, false) => Ok((Kind::First, 0)),
        (_, true) => {
            let entry = header(record, ADMITTED).and_then(|number| number.parse().ok());
            Ok((Kind::Admitted, entry.ok_or(CleanFault::NoHeader(ADMITTED))?))
        }
    }
}

/// The prefix and the key of a key's text; a text of 64 hex digits has no prefix.
pub fn split_key(text: &str) -> Option<(&str, EventKey)> {
    let (prefix, digits) = text.split_at_checked(text.len().checked_sub(KEY_DIGITS)?)?;
    let key = EventKey::from_bytes(&hex::decode(digits).ok()?)?;
    Some((prefix, key))
}

/// Names of routes are letters, digits, '.', '_' and '-'; a foreign header may hold anything.
fn printable(label: &str) -> String {
    const LENGTH_MAX: usize = 200;
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    match label.len() <= LENGTH_MAX && label.chars().all(plain) {
        true => label.to_owned(),
        false => "(an unreadable name)".to_owned(),
    }
}

/// Derives keys and digests of clean payloads again.
pub struct Recheck {
    deriver: Deriver,
    repeated: Vec<u8>,
}

impl Recheck {
    /// By the route's recipe.
    pub fn new(route: &RouteUnderProof) -> Recheck {
        Recheck { deriver: Deriver::new(route.recipe.clone()), repeated: Vec::new() }
    }

    /// Whether the payload gives what the headers claim.
    ///
    /// # Errors
    /// [`CleanFault::Changed`].
    pub fn check(&mut self, payload: Option<&[u8]>, claims: &Claims) -> Result<(), CleanFault> {
        let payload = payload.ok_or(CleanFault::Changed("no event (it is null); not what"))?;
        let no_event = || CleanFault::Changed("no event; not what");
        let events = self.deriver.derive(payload).map_err(|_| no_event())?;
        let mut events = events.iter();
        let (Some(Ok(event)), None) = (events.next(), events.next()) else {
            return Err(no_event());
        };
        if event.digest != claims.digest {
            return Err(CleanFault::Changed("another content digest than"));
        }
        if is_claimed(&event, claims) {
            return Ok(());
        }
        let span = event.item.clone();
        drop(events);
        match span {
            Some(span) if claims.occurrence > 1 && self.is_equal_item(payload, &span, claims) => {
                Ok(())
            }
            _ => Err(CleanFault::Changed("another key than")),
        }
    }

    /// Whether the item is one of several equal ones of its record, which a recipe tells apart by
    /// a number: the document that is reduced to one item has lost it, a header has it.
    fn is_equal_item(&mut self, payload: &[u8], span: &ItemSpan, claims: &Claims) -> bool {
        self.repeated.clear();
        self.repeated.extend_from_slice(&payload[..span.array.start]);
        for nth in 0..claims.occurrence {
            self.repeated.push(if nth == 0 { b'[' } else { b',' });
            self.repeated.extend_from_slice(&payload[span.element.clone()]);
        }
        self.repeated.push(b']');
        self.repeated.extend_from_slice(&payload[span.array.end..]);
        let Ok(events) = self.deriver.derive(&self.repeated) else { return false };
        events.iter().flatten().last().is_some_and(|event| is_claimed(&event, claims))
    }
}

fn is_claimed(event: &Event<'_>, claims: &Claims) -> bool {
    event.key == claims.key && *event.prefix == *claims.prefix
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{Header, RecordTimestamp};
    use crate::identity::Recipe;
    use std::sync::Arc;

    fn route() -> RouteUnderProof {
        let text = include_str!("../../config/recipes/inventory-item.toml");
        RouteUnderProof {
            name: "r".into(),
            group: "g.r".into(),
            label: "g/r".into(),
            raw: "raw".into(),
            clean: "clean".into(),
            quarantine: "quarantine".into(),
            journal: "journal".into(),
            recipe: Arc::new(Recipe::parse("inventory-item.toml", text).unwrap()),
        }
    }

    const ITEM: &str = r#"{"ndc11":"00093-0058-01","lot":"L1","qty_delta":"-2","unit":"ea","event_type":"dispense"}"#;

    fn document(items: &[&str]) -> String {
        format!(
            r#"{{"facility_uuid":"6f1d2c3b-4a5e-4f60-8a7b-9c0d1e2f3a4b","batch_ts":"2026-01-02T03:04:05Z","items":[{}]}}"#,
            items.join(",")
        )
    }

    /// The claims of each event of a document, as the gate would write them.
    fn claims(document: &str) -> Vec<Claims> {
        let mut deriver = Deriver::new(route().recipe);
        let events = deriver.derive(document.as_bytes()).unwrap();
        let claims = (0..).zip(events.iter()).map(|(item, event)| {
            let event = event.unwrap();
            let source = SourcePosition { partition: 0, offset: 5, item };
            let (key, digest, prefix) = (event.key, event.digest, event.prefix.into());
            let (kind, entry) = (Kind::First, 0);
            let occurrence = event.occurrence.unwrap_or(1);
            Claims { key, prefix, digest, source, occurrence, kind, entry }
        });
        claims.collect()
    }

    #[test]
    fn equal_items_prove_their_keys_by_their_number() {
        let all = claims(&document(&[ITEM, ITEM, ITEM]));
        let (reduced, mut recheck) = (document(&[ITEM]), Recheck::new(&route()));
        assert!(all[0].key != all[1].key && all[1].key != all[2].key);
        for one in &all {
            assert_eq!(recheck.check(Some(reduced.as_bytes()), one), Ok(()));
        }
        let wrong = Claims { occurrence: 3, ..all[1].clone() };
        assert!(recheck.check(Some(reduced.as_bytes()), &wrong).is_err());
    }

    #[test]
    fn a_changed_payload_is_seen() {
        let one = &claims(&document(&[ITEM]))[0];
        let mut recheck = Recheck::new(&route());
        for changed in [ITEM.replace("-2", "-3"), ITEM.replace("L1", "L2")] {
            let payload = document(&[&changed]);
            let fault = recheck.check(Some(payload.as_bytes()), one).unwrap_err();
            assert_eq!(fault.kind(), "changed");
        }
        for payload in [None, Some(&b"{"[..]), Some(b"null")] {
            assert_eq!(recheck.check(payload, one).unwrap_err().kind(), "changed");
        }
    }

    #[test]
    fn headers_of_others_are_told_apart() {
        let key = format!("p:{}", "ab".repeat(32));
        let read = |route_label: &str, source: &str, key: Option<&str>| {
            let mut headers = vec![
                Header {
                    name: b"oncegate-digest",
                    value: Some(b"00112233445566778899aabbccddeeff"),
                },
                Header { name: b"oncegate-source", value: Some(source.as_bytes()) },
                Header { name: b"oncegate-route", value: Some(route_label.as_bytes()) },
            ];
            if let Some(key) = key {
                headers.push(Header { name: b"oncegate-key", value: Some(key.as_bytes()) });
            }
            let record = RawRecord {
                partition: 1,
                offset: 9,
                timestamp: RecordTimestamp::Absent,
                key: None,
                payload: None,
                headers: &headers,
            };
            Claims::read(&record, &route())
        };
        let claims = read("g/r", "raw/1/7", Some(&key)).unwrap();
        assert_eq!((&*claims.prefix, claims.source.offset), ("p:", 7));
        let kind = |result: Result<Claims, CleanFault>| result.unwrap_err().kind();
        assert_eq!(kind(read("g/other", "raw/1/7", Some(&key))), "other-route");
        assert_eq!(kind(read("g/r", "raw/2/7", Some(&key))), "other-source");
        assert_eq!(kind(read("g/r", "other/1/7", Some(&key))), "other-source");
        assert_eq!(kind(read("g/r", "raw/1/7", None)), "not-of-oncegate");
        assert_eq!(kind(read("g/r", "raw/1/7", Some("short"))), "not-of-oncegate");
    }
}
