//! Records on their way between the worker and the model. Must not be in here: a decision.

use crate::log::{Record, Topic};
use oncegate::gate::{Header, OutputRecord, RawRecord, RecordTimestamp, Target};
use oncegate::kafka::broker::Polled;

pub fn topic_of(target: Target) -> Topic {
    match target {
        Target::Clean => Topic::Clean,
        Target::Quarantine => Topic::Quarantine,
        Target::Audit => Topic::Audit,
        Target::Journal => Topic::Journal,
    }
}

pub fn give(partition: i32, offset: i64, record: &Record, sink: &mut dyn FnMut(Polled<'_>)) {
    let headers: [Header<'_>; 0] = [];
    sink(Polled::Record(&RawRecord {
        partition,
        offset,
        timestamp: RecordTimestamp::CreateTimeMs(record.timestamp_ms),
        key: record.key.as_deref(),
        payload: record.payload.as_deref(),
        headers: &headers,
    }));
}

/// An output as the cluster keeps it: the raw record's tag is its Kafka key.
pub fn copy_of(record: &OutputRecord<'_>) -> Record {
    let text = |name: &str| {
        let header = record.headers.iter().find(|header| header.name == name.as_bytes());
        header.and_then(|header| std::str::from_utf8(header.value?).ok())
    };
    let after_slash = |text: &str| text.rsplit('/').next().and_then(|n| n.parse().ok());
    let tag = (record.key.filter(|_| record.target != Target::Audit))
        .and_then(|key| std::str::from_utf8(key).ok()?.parse().ok());
    let source = match record.target {
        Target::Audit => record.payload.and_then(audited),
        _ => text("oncegate-source").and_then(after_slash),
    };
    let mut event_key = text("oncegate-key").unwrap_or_default().to_owned();
    if text("oncegate-corrects").is_some() {
        // Each content is let through once.
        event_key.push_str(text("oncegate-digest").unwrap_or_default());
    }
    Record {
        key: record.key.map(<[u8]>::to_vec),
        payload: record.payload.map(<[u8]>::to_vec),
        timestamp_ms: record.timestamp_ms.unwrap_or(0),
        tag: tag.unwrap_or(0),
        source: source.unwrap_or(-1),
        event_key,
    }
}

/// The offset of the delivery that an audit record tells of.
fn audited(payload: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(payload).ok()?;
    let this = &text[text.find("\"this\"")?..];
    let number = &this[this.find("\"offset\":")? + 9..];
    number[..number.find(',')?].parse().ok()
}
