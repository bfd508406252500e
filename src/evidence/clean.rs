//! A clean record: what its headers claim, and whether its payload gives the same key and digest.
//! Must not be in here: the journal.

use super::route::RouteUnderProof;
use super::source_header::{SourcePosition, header};
use crate::gate::RawRecord;
use crate::identity::{ContentDigest, Deriver, EventKey, Granularity};

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
            CleanFault::NoHeader(name) => format!(
                "the record has no readable header `{name}`, so oncegate did not write it"
            ),
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
        Ok(Claims { key, prefix: prefix.into(), digest, source })
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
        let no_event = CleanFault::Changed("no event; not what");
        let events = self.deriver.derive(payload).map_err(|_| no_event.clone())?;
        let mut events = events.iter();
        let (Some(Ok(event)), None) = (events.next(), events.next()) else {
            return Err(no_event);
        };
        if event.digest != claims.digest {
            return Err(CleanFault::Changed("another content digest than"));
        }
        if event.key == claims.key && *event.prefix == *claims.prefix {
            return Ok(());
        }
        let span = event.item.filter(|_| self.deriver.recipe().granularity() == Granularity::Items);
        match span {
            // One of several equal items got a number, which the reduced document lost.
            Some(span) if claims.source.item > 0 => {
                let element = &payload[span.element];
                self.repeated.clear();
                self.repeated.extend_from_slice(&payload[..span.array.start]);
                for nth in 0..=claims.source.item {
                    self.repeated.push(if nth == 0 { b'[' } else { b',' });
                    self.repeated.extend_from_slice(element);
                }
                self.repeated.push(b']');
                self.repeated.extend_from_slice(&payload[span.array.end..]);
                let events = self.deriver.derive(&self.repeated).map_err(|_| no_event)?;
                let is_claimed = |event: &crate::identity::Event<'_>| {
                    event.key == claims.key && *event.prefix == *claims.prefix
                };
                match events.iter().flatten().any(|event| is_claimed(&event)) {
                    true => Ok(()),
                    false => Err(CleanFault::Changed("another key than")),
                }
            }
            _ => Err(CleanFault::Changed("another key than")),
        }
    }
}
