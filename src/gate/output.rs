//! The records that a part writes to the clean, quarantine and audit topics.
//! Must not be in here: topics' names, a client, or a verdict that is not yet made.

use super::batch::{Outcome, Part};
use super::collected::{Collected, Keyed};
use super::headers::{OwnHeaders, with_headers};
use super::place::At;
use super::reason::Reason;
use super::record::{Header, RecordTimestamp};
use super::sighting::Sighting;
use super::size::copy_bytes;
use super::verdict::Verdict;
use crate::identity::ItemSpan;
use std::fmt::Write;

pub use super::headers::{Hex, raw_name};

/// Which of the route's topics a record is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
/// How much of a record that fits nowhere is kept.
const HEAD_BYTES: usize = 1024;

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
    /// `topic/partition/` of the records at hand.
    topic_partition: String,
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
            topic_partition: String::new(),
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
        self.begin(collected);
        let mut outcomes = part.outcomes.iter();
        for record in part.records.clone() {
            let events = collected.events_of(record);
            let itemized = collected.is_itemized(record);
            for (item, (event, outcome)) in events.zip(&mut outcomes).enumerate() {
                let at = At { record, item: itemized.then_some(item as u32) };
                self.event(collected, &at, (collected.event(event), outcome), sink)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, collected: &Collected) {
        self.topic_partition.clear();
        // Writing to a `String` does not fail.
        let _ = write!(self.topic_partition, "{}/{}/", self.raw_topic, collected.partition());
    }

    fn event<E>(
        &mut self,
        collected: &Collected,
        at: &At,
        (event, outcome): (&Keyed, &Outcome),
        sink: &mut dyn FnMut(&OutputRecord<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match outcome.verdict {
            Verdict::First => self.clean(collected, at, event, Letting::First, sink),
            Verdict::Duplicate | Verdict::ConflictAbsorbed => {
                self.audit(collected, at, (event, outcome), None, sink)
            }
            Verdict::Correction => {
                let Some(first) = outcome.sighting else { return Ok(()) };
                self.clean(collected, at, event, Letting::Correction(first), sink)?;
                self.audit(collected, at, (event, outcome), None, sink)
            }
            Verdict::Conflict => {
                self.audit(collected, at, (event, outcome), None, sink)?;
                let why = Why { reason: Reason::Conflict, first: outcome.sighting };
                self.quarantine(collected, at, (event, why), sink)
            }
            Verdict::Rejected(reason) => {
                self.quarantine(collected, at, (event, Why { reason, first: None }), sink)
            }
            // An admitted event is no part's: see `render_admitted`.
            Verdict::Replayed | Verdict::Admitted => Ok(()),
        }
    }

    /// Gives `sink` the clean and the audit record of a late event that a person lets through with
    /// the journal entry of this number. `record` is the quarantined raw record, `item` the event
    /// within it.
    pub fn render_admitted<E>(
        &mut self,
        collected: &Collected,
        (record, item): (usize, u32),
        entry_number: u64,
        sink: &mut dyn FnMut(&OutputRecord<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(event) = collected.events_of(record).nth(item as usize) else { return Ok(()) };
        let event = collected.event(event);
        let Keyed::Event { digest, .. } = event else { return Ok(()) };
        let sighting = Sighting {
            digest: *digest,
            first_offset: collected.offset(record),
            first_item: item,
            load_count: 1,
        };
        let outcome = Outcome { verdict: Verdict::Admitted, sighting: Some(sighting) };
        let at = At { record, item: collected.is_itemized(record).then_some(item) };
        self.begin(collected);
        self.clean(collected, &at, event, Letting::Admitted(entry_number), sink)?;
        self.audit(collected, &at, (event, &outcome), Some(entry_number), sink)
    }

    fn clean<E>(
        &mut self,
        collected: &Collected,
        at: &At,
        event: &Keyed,
        letting: Letting,
        sink: &mut dyn FnMut(&OutputRecord<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Keyed::Event { key, digest, prefix, item, occurrence, .. } = event else {
            return Ok(());
        };
        self.text.clear();
        let mut own = OwnHeaders::new(&mut self.text);
        own.add_hash("oncegate-key", collected.prefix(prefix), key.as_bytes());
        own.add_hash("oncegate-digest", "", digest.as_bytes());
        own.add_place("oncegate-source", &at.place(collected), &self.topic_partition);
        own.add_text("oncegate-recipe", &self.recipe);
        own.add_text("oncegate-route", &self.route);
        if let Some(number) = occurrence.filter(|number| *number > 1) {
            own.add("oncegate-occurrence", format_args!("{number}"));
        }
        match letting {
            Letting::First => {}
            Letting::Correction(first) => {
                let first = at.other(first.first_offset, first.first_item);
                own.add_place("oncegate-corrects", &first, &self.topic_partition);
            }
            Letting::Admitted(entry) => own.add("oncegate-admitted", format_args!("{entry}")),
        }
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
        (event, why): (&Keyed, Why),
        sink: &mut dyn FnMut(&OutputRecord<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.text.clear();
        let mut own = OwnHeaders::new(&mut self.text);
        own.add_text("oncegate-reason", why.reason.as_str());
        if let Some(first) = why.first {
            let first = at.other(first.first_offset, first.first_item);
            own.add_place("oncegate-first", &first, &self.topic_partition);
        }
        match event {
            Keyed::Rejected { detail, .. } => own.add_text("oncegate-detail", detail),
            Keyed::Event { key, digest, prefix, occurrence, .. } => {
                if let Some(number) = occurrence.filter(|number| *number > 1) {
                    own.add("oncegate-occurrence", format_args!("{number}"));
                }
                own.add_hash("oncegate-key", collected.prefix(prefix), key.as_bytes());
                own.add_hash("oncegate-digest", "", digest.as_bytes());
            }
        }
        own.add_place("oncegate-source", &at.place(collected), &self.topic_partition);
        if let Some(ms) = collected.timestamp(at.record).ms() {
            let kind = match collected.timestamp(at.record) {
                RecordTimestamp::LogAppendTimeMs(_) => "LogAppendTime",
                _ => "CreateTime",
            };
            own.add("oncegate-timestamp", format_args!("{kind} {ms}"));
        }
        own.add_text("oncegate-recipe", &self.recipe);
        own.add_text("oncegate-route", &self.route);
        let whole = self.cut != Some(collected.offset(at.record))
            && copy_bytes(collected, at.record, own.each()) <= self.quarantine_bytes_max;
        if !whole {
            let hash = collected.record_hash(at.record);
            own.add_hash("oncegate-record-hash", "", &hash);
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
        entry: Option<u64>,
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
            r#"{{"key":"{}","verdict":"{}","load_count":{},"first":{{"topic":"{topic}","partition":{partition},"offset":{},"item":{}}},"this":{{"topic":"{topic}","partition":{partition},"offset":{},"item":{}}},"event_micros":{}"#,
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
        let _ = match entry {
            Some(entry) => write!(self.text, r#","entry":{entry}}}"#),
            None => write!(self.text, "}}"),
        };
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

/// Why an event is let through.
#[derive(Clone, Copy)]
enum Letting {
    First,
    /// As a correction of this one.
    Correction(Sighting),
    /// By a person, with the journal entry of this number.
    Admitted(u64),
}

/// Why an event is quarantined, and for a conflict the first delivery.
struct Why {
    reason: Reason,
    first: Option<Sighting>,
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
