//! One record of a quarantine topic, read as oncegate wrote it (`docs/headers.md`).
//! Must not be in here: whether it may be redriven.

use crate::gate::RawRecord;
use crate::gate::output::{OWN_PREFIX, RAW_PREFIX, raw_name};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// Where a held record stands: partition and offset of the quarantine topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeldId {
    /// Partition, which is that of the raw record too.
    pub partition: i32,
    /// Offset in the quarantine topic.
    pub offset: i64,
}

impl fmt::Display for HeldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.partition, self.offset)
    }
}

impl FromStr for HeldId {
    type Err = String;

    fn from_str(text: &str) -> Result<HeldId, String> {
        let parse = || {
            let (partition, offset) = text.split_once('/')?;
            let (partition, offset) = (partition.parse().ok()?, offset.parse().ok()?);
            (partition >= 0 && offset >= 0).then_some(HeldId { partition, offset })
        };
        parse().ok_or_else(|| {
            "an id is PARTITION/OFFSET of the quarantine topic, as `quarantine list` prints it"
                .into()
        })
    }
}

/// Why a record of the quarantine topic is none that oncegate wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("quarantine record {id} was not written by oncegate: header {header} is missing or faulty")]
pub struct NotHeld {
    /// Which record.
    pub id: HeldId,
    /// Which header.
    pub header: &'static str,
}

/// A header as the raw record had it.
type RawHeader = (Vec<u8>, Option<Vec<u8>>);

/// A held record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Where it stands.
    pub id: HeldId,
    /// The reason's name.
    pub reason: String,
    /// JSON pointer and rule, where it could not be keyed.
    pub detail: Option<String>,
    /// The raw topic.
    pub topic: String,
    /// Offset of the raw record.
    pub offset: i64,
    /// Index of the event in it, where the record has several.
    pub item: Option<u32>,
    /// The event's key as text, where it has one. It may hold values of the document.
    pub key_text: Option<String>,
    /// Content digest in hexadecimal digits, where it has a key.
    pub digest: Option<String>,
    /// For a conflict: the raw position of the first delivery.
    pub first: Option<String>,
    /// Who set the raw record's timestamp, and the milliseconds.
    pub raw_timestamp: Option<String>,
    /// Recipe and version.
    pub recipe: String,
    /// Group and route.
    pub route: String,
    /// When it was quarantined, in milliseconds.
    pub timestamp_ms: Option<i64>,
    /// Only hash and first bytes of the raw record are kept.
    pub is_cut: bool,
    /// The raw record's key.
    pub key: Option<Vec<u8>>,
    /// The raw record's value.
    pub payload: Option<Vec<u8>>,
    /// The raw record's headers in order, under the names that they had.
    pub headers: Vec<RawHeader>,
}

impl Held {
    /// Reads a record of a quarantine topic.
    ///
    /// # Errors
    /// [`NotHeld`] where it is not oncegate's.
    pub fn read(record: &RawRecord<'_>) -> Result<Held, NotHeld> {
        let id = HeldId { partition: record.partition, offset: record.offset };
        let own = |name: &'static str| -> Option<String> {
            let found =
                record.headers.iter().rev().find(|header| header.name == name.as_bytes())?;
            String::from_utf8(found.value?.to_vec()).ok()
        };
        let need = |header: &'static str| own(header).ok_or(NotHeld { id, header });
        let source = need("oncegate-source")?;
        let at = source_of(&source).filter(|at| at.partition == id.partition);
        let Some(at) = at else { return Err(NotHeld { id, header: "oncegate-source" }) };
        Ok(Held {
            id,
            reason: need("oncegate-reason")?,
            detail: own("oncegate-detail"),
            topic: at.topic.to_owned(),
            offset: at.offset,
            item: at.item,
            key_text: own("oncegate-key"),
            digest: own("oncegate-digest"),
            first: own("oncegate-first"),
            raw_timestamp: own("oncegate-timestamp"),
            recipe: need("oncegate-recipe")?,
            route: need("oncegate-route")?,
            timestamp_ms: record.timestamp.ms(),
            is_cut: own("oncegate-record-hash").is_some(),
            key: record.key.map(<[u8]>::to_vec),
            payload: record.payload.map(<[u8]>::to_vec),
            headers: raw_headers(record),
        })
    }

    /// SHA-256 over key and value, each with its length: whether two records are copies.
    pub fn content_hash(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        for part in [self.key.as_deref(), self.payload.as_deref()] {
            hasher.update(part.map_or(-1, |bytes| bytes.len() as i64).to_be_bytes());
            hasher.update(part.unwrap_or_default());
        }
        hasher.finalize().into()
    }

    /// The raw position: `topic/partition/offset`, with `/item` where the record has several
    /// events.
    pub fn source(&self) -> String {
        let record = format!("{}/{}/{}", self.topic, self.id.partition, self.offset);
        match self.item {
            Some(item) => format!("{record}/{item}"),
            None => record,
        }
    }
}

/// A raw position as headers name it.
pub struct SourceAt<'a> {
    /// Topic.
    pub topic: &'a str,
    /// Partition.
    pub partition: i32,
    /// Offset.
    pub offset: i64,
    /// Index of the event, where the record has several.
    pub item: Option<u32>,
}

/// Reads `topic/partition/offset` with or without `/item`.
pub fn source_of(text: &str) -> Option<SourceAt<'_>> {
    let mut parts = text.split('/');
    let topic = parts.next().filter(|topic| !topic.is_empty())?;
    let partition = parts.next()?.parse().ok()?;
    let offset = parts.next()?.parse().ok()?;
    let item = match parts.next() {
        None => None,
        Some(item) => Some(item.parse().ok()?),
    };
    parts.next().is_none().then_some(SourceAt { topic, partition, offset, item })
}

/// The raw record's own headers: ours left out, renamed ones under the names that they had.
fn raw_headers(record: &RawRecord<'_>) -> Vec<RawHeader> {
    let is_own = |name: &[u8]| {
        name.starts_with(OWN_PREFIX.as_bytes()) && !name.starts_with(RAW_PREFIX.as_bytes())
    };
    (record.headers.iter())
        .filter(|header| !is_own(header.name))
        .map(|header| (raw_name(header.name).into_owned(), header.value.map(<[u8]>::to_vec)))
        .collect()
}

/// A held record of raw partition 1: by its offset here, the raw one, and its item.
#[cfg(test)]
pub(super) fn held_sample(offset: i64, source: i64, item: Option<u32>) -> Held {
    Held {
        id: HeldId { partition: 1, offset },
        reason: "late".into(),
        detail: None,
        topic: "raw".into(),
        offset: source,
        item,
        key_text: None,
        digest: None,
        first: None,
        raw_timestamp: None,
        recipe: "r/1".into(),
        route: "g/r".into(),
        timestamp_ms: Some(1),
        is_cut: false,
        key: None,
        payload: Some(b"{}".to_vec()),
        headers: vec![
            (b"a".to_vec(), None),
            (b"oncegate-redriven".to_vec(), Some(b"q/1/0".to_vec())),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{Header, RecordTimestamp};

    const OWN: [(&str, &str); 4] = [
        ("oncegate-reason", "late"),
        ("oncegate-source", "raw/2/17/1"),
        ("oncegate-recipe", "lab-result/1"),
        ("oncegate-route", "g/r"),
    ];

    fn read(raw: &[Header<'_>], own: &[(&str, &str)]) -> Result<Held, NotHeld> {
        let own = own
            .iter()
            .map(|(name, value)| Header { name: name.as_bytes(), value: Some(value.as_bytes()) });
        let headers: Vec<Header<'_>> = raw.iter().copied().chain(own).collect();
        Held::read(&RawRecord {
            partition: 2,
            offset: 5,
            timestamp: RecordTimestamp::CreateTimeMs(9),
            key: None,
            payload: Some(b""),
            headers: &headers,
        })
    }

    #[test]
    fn a_held_record_is_the_raw_record_and_why_it_stands_there() {
        let raw = [
            Header { name: b"a", value: None },
            Header { name: b"a", value: Some(b"") },
            Header { name: b"oncegate-raw-reason", value: Some(b"forged") },
            Header { name: b"a", value: Some(b"\xff") },
            Header { name: b"oncegate-raw-name-ff00", value: None },
        ];
        let held = read(&raw, &OWN).unwrap();
        assert_eq!((held.reason.as_str(), held.source().as_str()), ("late", "raw/2/17/1"));
        assert_eq!((held.key, held.payload), (None, Some(Vec::new())));
        let names: Vec<&[u8]> = held.headers.iter().map(|(name, _)| name.as_slice()).collect();
        let kept = b"oncegate-raw-name-ff00";
        assert_eq!(names, [&b"a"[..], b"a", b"oncegate-reason", b"a", kept]);
        assert_eq!(held.headers[3].1.as_deref(), Some(&b"\xff"[..]));
    }

    #[test]
    fn what_oncegate_did_not_write_is_named() {
        for (missing, (name, _)) in OWN.iter().enumerate() {
            let others = OWN.iter().enumerate().filter(|(nth, _)| *nth != missing);
            let own: Vec<_> = others.map(|(_, pair)| *pair).collect();
            assert_eq!(read(&[], &own).unwrap_err().header, *name);
        }
        let elsewhere = [OWN[0], ("oncegate-source", "raw/3/17"), OWN[2], OWN[3]];
        assert_eq!(read(&[], &elsewhere).unwrap_err().header, "oncegate-source");
    }

    #[test]
    fn an_id_is_read_as_it_is_printed() {
        let id = HeldId { partition: 3, offset: 70 };
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in ["", "3", "3/", "/7", "3/-7", "a/1", "1/2/3"] {
            assert!(bad.parse::<HeldId>().is_err(), "{bad}");
        }
    }
}
