//! The records that a part writes to the clean, quarantine and audit topics.
//! Must not be in here: topics' names, a client, or a verdict that is not yet made.

use super::batch::{Outcome, Part};
use super::collected::{Collected, Keyed};
use super::reason::Reason;
use super::record::{Header, RecordTimestamp};
use super::verdict::Verdict;
use crate::identity::ItemSpan;
use std::borrow::Cow;
use std::fmt::Write;

/// Which of the route's topics a record is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Unique events.
    Clean,
    /// Bad records and events, with a reason.
    Quarantine,
    /// One record per absorbed duplicate or conflict.
    Audit,
    /// One entry per raw partition and transaction.
    Journal,
}

/// A record to be produced, into the partition of the raw partition's number.
#[derive(Clone, Copy, Debug)]
pub struct OutputRecord<'a> {
    /// Topic.
    pub target: Target,
    /// Partition.
    pub partition: i32,
    /// Timestamp in milliseconds; `None`: the time of sending.
    pub timestamp_ms: Option<i64>,
    /// Kafka key.
    pub key: Option<&'a [u8]>,
    /// Value.
    pub payload: Option<&'a [u8]>,
    /// Headers in order.
    pub headers: &'a [Header<'a>],
}

/// Headers that begin so are oncegate's own.
pub const OWN_PREFIX: &str = "oncegate-";
/// Incoming headers of that kind are kept under this prefix.
pub const RAW_PREFIX: &str = "oncegate-raw-";
/// Bytes that the record format and our own headers may add to key, value and raw headers:
/// record batch header (61), record framing (40), and at most 600 for the own headers' fixed text.
const FRAMING_BYTES: usize = 701;
/// How much of a record that fits nowhere is kept.
const HEAD_BYTES: usize = 1024;

/// Upper bound of a clean record's size in bytes before compression, the length of the route's
/// and topic's names aside.
pub fn clean_bytes(collected: &Collected, record: usize) -> usize {
    let len = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
    let headers: usize = (collected.headers(record))
        .map(|header| header.name.len() + len(header.value) + RAW_PREFIX.len() + 10)
        .sum();
    len(collected.key(record)) + len(collected.payload(record)) + headers + FRAMING_BYTES
}

/// Writes the output records of parts; keeps its buffers from record to record.
pub struct Renderer {
    raw_topic: String,
    /// `group/route`.
    route: String,
    /// `name/version`.
    recipe: String,
    keep_timestamp: bool,
    quarantine_bytes_max: usize,
    /// Offset of a record whose quarantine copy is cut.
    cut: Option<i64>,
    text: String,
    value: Vec<u8>,
}

/// What a renderer needs to know of its route.
pub struct RouteNames {
    /// Raw topic.
    pub raw_topic: String,
    /// Group and route, as in the header `oncegate-route`.
    pub route: String,
    /// Recipe and version, as in the header `oncegate-recipe`.
    pub recipe: String,
}

impl Renderer {
    /// A renderer for one route.
    pub fn new(names: RouteNames, keep_timestamp: bool, quarantine_bytes_max: usize) -> Renderer {
        Renderer {
            raw_topic: names.raw_topic,
            route: names.route,
            recipe: names.recipe,
            keep_timestamp,
            quarantine_bytes_max,
            cut: None,
            text: String::new(),
            value: Vec::new(),
        }
    }

    /// Gives every record of a part to `sink`, in raw order; stops at its first error.
    pub fn render<E>(
        &mut self,
        collected: &Collected,
        part: &Part,
        sink: &mut dyn FnMut(&OutputRecord<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.cut = part.cut;
        let mut outcomes = part.outcomes.iter();
        for record in part.records.clone() {
            let events = collected.events_of(record);
            let several = events.len() > 1;
            for (item, (event, outcome)) in events.zip(&mut outcomes).enumerate() {
                let at = At { record, item: several.then_some(item) };
                self.event(collected, &at, (collected.event(event), outcome), sink)?;
            }
        }
        Ok(())
    }

    fn event<E>(
        &mut self,
        collected: &Collected,
        at: &At,
        (event, outcome): (&Keyed, &Outcome),
        sink: &mut dyn FnMut(&OutputRecord<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match outcome.verdict {
            Verdict::First => self.clean(collected, at, event, sink),
            Verdict::Duplicate => self.audit(collected, at, (event, outcome), sink),
            Verdict::Conflict => {
                self.audit(collected, at, (event, outcome), sink)?;
                self.quarantine(collected, at, (event, Reason::Conflict), sink)
            }
            Verdict::Rejected(reason) => self.quarantine(collected, at, (event, reason), sink),
            Verdict::Replayed => Ok(()),
        }
    }

    fn clean<E>(
        &mut self,
        collected: &Collected,
        at: &At,
        event: &Keyed,
        sink: &mut dyn FnMut(&OutputRecord<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Keyed::Event { key, digest, prefix, item, .. } = event else {
            return Ok(());
        };
        self.text.clear();
        let mut own = OwnHeaders::new(&mut self.text);
        own.add(
            "oncegate-key",
            format_args!("{}{}", collected.prefix(prefix), Hex(key.as_bytes())),
        );
        own.add("oncegate-digest", format_args!("{}", Hex(digest.as_bytes())));
        own.add("oncegate-source", format_args!("{}", at.source(&self.raw_topic, collected)));
        own.add("oncegate-recipe", format_args!("{}", self.recipe));
        own.add("oncegate-route", format_args!("{}", self.route));
        let own = own.finish();
        let payload = collected.payload(at.record);
        let payload = match (item, payload) {
            (Some(span), Some(payload)) => {
                reduce_to_item(payload, span, &mut self.value);
                Some(self.value.as_slice())
            }
            _ => payload,
        };
        let timestamp_ms =
            if self.keep_timestamp { collected.timestamp(at.record).ms() } else { None };
        let record = OutputRecord {
            target: Target::Clean,
            partition: collected.partition(),
            timestamp_ms,
            key: collected.key(at.record),
            payload,
            headers: &[],
        };
        with_headers(collected, at.record, &own, record, sink)
    }

    fn quarantine<E>(
        &mut self,
        collected: &Collected,
        at: &At,
        (event, reason): (&Keyed, Reason),
        sink: &mut dyn FnMut(&OutputRecord<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let whole = self.cut != Some(collected.offset(at.record))
            && clean_bytes(collected, at.record) <= self.quarantine_bytes_max;
        self.text.clear();
        let mut own = OwnHeaders::new(&mut self.text);
        own.add("oncegate-reason", format_args!("{}", reason.as_str()));
        match event {
            Keyed::Rejected { detail, .. } => own.add("oncegate-detail", format_args!("{detail}")),
            Keyed::Event { key, digest, prefix, .. } => {
                own.add(
                    "oncegate-key",
                    format_args!("{}{}", collected.prefix(prefix), Hex(key.as_bytes())),
                );
                own.add("oncegate-digest", format_args!("{}", Hex(digest.as_bytes())));
            }
        }
        own.add("oncegate-source", format_args!("{}", at.source(&self.raw_topic, collected)));
        if let Some(ms) = collected.timestamp(at.record).ms() {
            let kind = match collected.timestamp(at.record) {
                RecordTimestamp::LogAppendTimeMs(_) => "LogAppendTime",
                _ => "CreateTime",
            };
            own.add("oncegate-timestamp", format_args!("{kind} {ms}"));
        }
        own.add("oncegate-recipe", format_args!("{}", self.recipe));
        own.add("oncegate-route", format_args!("{}", self.route));
        if !whole {
            let hash = collected.record_hash(at.record);
            own.add("oncegate-record-hash", format_args!("{}", Hex(&hash)));
        }
        let own = own.finish();
        let mut record = OutputRecord {
            target: Target::Quarantine,
            partition: collected.partition(),
            timestamp_ms: None,
            key: collected.key(at.record),
            payload: collected.payload(at.record),
            headers: &[],
        };
        if whole {
            return with_headers(collected, at.record, &own, record, sink);
        }
        let head = |bytes: &'_ [u8]| bytes.len().min(HEAD_BYTES);
        record.key = record.key.map(|bytes| &bytes[..head(bytes)]);
        record.payload = record.payload.map(|bytes| &bytes[..head(bytes)]);
        let headers = own.headers();
        sink(&OutputRecord { headers: &headers, ..record })
    }

    fn audit<E>(
        &mut self,
        collected: &Collected,
        at: &At,
        (event, outcome): (&Keyed, &Outcome),
        sink: &mut dyn FnMut(&OutputRecord<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (Keyed::Event { key, event_micros, .. }, Some(sighting)) = (event, outcome.sighting)
        else {
            return Ok(());
        };
        self.text.clear();
        // Names and hexadecimal digits only: nothing here needs escaping but the topic's name,
        // and Kafka allows only letters, digits, '.', '_' and '-' in one.
        let _ = write!(
            self.text,
            r#"{{"key":"{}","verdict":"{}","load_count":{},"first":{{"topic":"{topic}","partition":{partition},"offset":{},"item":{}}},"this":{{"topic":"{topic}","partition":{partition},"offset":{},"item":{}}},"event_micros":{}}}"#,
            Hex(key.as_bytes()),
            outcome.verdict.as_str(),
            sighting.load_count,
            sighting.first_offset,
            sighting.first_item,
            collected.offset(at.record),
            at.item.unwrap_or(0),
            event_micros.map_or_else(|| "null".to_owned(), |micros| micros.to_string()),
            topic = self.raw_topic,
            partition = collected.partition(),
        );
        sink(&OutputRecord {
            target: Target::Audit,
            partition: collected.partition(),
            timestamp_ms: None,
            key: Some(key.as_bytes()),
            payload: Some(self.text.as_bytes()),
            headers: &[],
        })
    }
}

/// Which event of which collected record.
struct At {
    record: usize,
    item: Option<usize>,
}

impl At {
    fn source<'a>(
        &'a self,
        topic: &'a str,
        collected: &'a Collected,
    ) -> impl std::fmt::Display + 'a {
        std::fmt::from_fn(move |f| {
            let (partition, offset) = (collected.partition(), collected.offset(self.record));
            write!(f, "{topic}/{partition}/{offset}")?;
            match self.item {
                Some(item) => write!(f, "/{item}"),
                None => Ok(()),
            }
        })
    }
}

/// Lower-case hexadecimal digits.
pub struct Hex<'a>(pub &'a [u8]);

impl std::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0u8; 64];
        for chunk in self.0.chunks(32) {
            for (nth, byte) in chunk.iter().enumerate() {
                text[2 * nth] = DIGITS[usize::from(byte >> 4)];
                text[2 * nth + 1] = DIGITS[usize::from(byte & 15)];
            }
            // Hexadecimal digits are ASCII.
            f.write_str(std::str::from_utf8(&text[..2 * chunk.len()]).unwrap_or_default())?;
        }
        Ok(())
    }
}

const OWN_HEADERS_MAX: usize = 8;

/// oncegate's own headers of one record: texts in one buffer, names with their ends.
struct OwnHeaders<'a> {
    text: &'a mut String,
    ends: [(&'static str, usize); OWN_HEADERS_MAX],
    len: usize,
}

impl<'a> OwnHeaders<'a> {
    fn new(text: &'a mut String) -> OwnHeaders<'a> {
        OwnHeaders { text, ends: [("", 0); OWN_HEADERS_MAX], len: 0 }
    }

    fn add(&mut self, name: &'static str, value: std::fmt::Arguments<'_>) {
        // Writing to a `String` does not fail.
        let _ = self.text.write_fmt(value);
        self.ends[self.len] = (name, self.text.len());
        self.len += 1;
    }

    fn finish(self) -> FinishedHeaders<'a> {
        FinishedHeaders { text: self.text, ends: self.ends, len: self.len }
    }
}

struct FinishedHeaders<'a> {
    text: &'a str,
    ends: [(&'static str, usize); OWN_HEADERS_MAX],
    len: usize,
}

impl<'a> FinishedHeaders<'a> {
    fn each(&self) -> impl Iterator<Item = Header<'a>> {
        let mut from = 0;
        self.ends[..self.len].iter().map(move |(name, end)| {
            let value = &self.text.as_bytes()[from..*end];
            from = *end;
            Header { name: name.as_bytes(), value: Some(value) }
        })
    }

    fn headers(&self) -> Vec<Header<'a>> {
        self.each().collect()
    }
}

/// Puts the raw headers before our own, renames those that would pass for ours, and sends.
fn with_headers<E>(
    collected: &Collected,
    record: usize,
    own: &FinishedHeaders<'_>,
    output: OutputRecord<'_>,
    sink: &mut dyn FnMut(&OutputRecord<'_>) -> Result<(), E>,
) -> Result<(), E> {
    const NO_HEADER: Header<'static> = Header { name: b"", value: None };
    let raw = collected.headers(record);
    if raw.len() == 0 {
        let mut headers = [NO_HEADER; OWN_HEADERS_MAX];
        let mut len = 0;
        for header in own.each() {
            headers[len] = header;
            len += 1;
        }
        return sink(&OutputRecord { headers: &headers[..len], ..output });
    }
    let names: Vec<Option<String>> = raw.map(|header| kept_name(header.name)).collect();
    let renamed = collected.headers(record).zip(&names).map(|(header, name)| Header {
        name: name.as_deref().map_or(header.name, str::as_bytes),
        value: header.value,
    });
    let headers: Vec<Header<'_>> = renamed.chain(own.each()).collect();
    sink(&OutputRecord { headers: &headers, ..output })
}

/// The name under which a raw header is kept, where it is not its own: one that would pass for
/// ours, and one that is not UTF-8 (then its bytes in hexadecimal digits).
fn kept_name(name: &[u8]) -> Option<String> {
    match std::str::from_utf8(name) {
        Ok(name) => name.strip_prefix(OWN_PREFIX).map(|rest| format!("{RAW_PREFIX}{rest}")),
        Err(_) => Some(format!("{RAW_PREFIX}name-{}", hex::encode(name))),
    }
}

/// The name that a kept raw header had: undoes [`kept_name`], apart from names that are not UTF-8,
/// which no client writes. Those stay as they are kept.
pub fn raw_name(kept: &[u8]) -> Cow<'_, [u8]> {
    let Some(rest) = kept.strip_prefix(RAW_PREFIX.as_bytes()) else { return Cow::Borrowed(kept) };
    let bytes = rest.strip_prefix(b"name-").and_then(|digits| hex::decode(digits).ok());
    match bytes.is_some_and(|bytes| std::str::from_utf8(&bytes).is_err()) {
        true => Cow::Borrowed(kept),
        false => Cow::Owned([OWN_PREFIX.as_bytes(), rest].concat()),
    }
}

/// The raw document with its array reduced to one element.
fn reduce_to_item(payload: &[u8], span: &ItemSpan, into: &mut Vec<u8>) {
    into.clear();
    into.extend_from_slice(&payload[..span.array.start]);
    into.push(b'[');
    into.extend_from_slice(&payload[span.element.clone()]);
    into.push(b']');
    into.extend_from_slice(&payload[span.array.end..]);
}
