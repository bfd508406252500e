//! The metadata of the committed source offset: it names the entry written with it, so that each
//! log is a witness of the others.
//! Must not be in here: anything longer than Kafka's default limit of 4,096 bytes allows.

use super::chain::ChainHead;
use crate::gate::output::Hex;
use std::str::FromStr;

/// Bytes of the entry's hash that the metadata carries.
const HASH_BYTES: usize = 16;

/// Where a log ended when the transaction was drained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEnd {
    /// Id of the topic.
    pub topic_id: String,
    /// Last offset delivered to the partition by this gate; -1 where none is known.
    pub last_offset: i64,
    /// Every record below this offset is accounted for.
    pub accounted_to: i64,
}

impl LogEnd {
    /// A log that holds nothing that is known.
    pub fn empty(topic_id: &str) -> LogEnd {
        LogEnd::based(topic_id, 0)
    }

    /// A log of which the last record is not known; all that it holds now is accounted for.
    pub fn based(topic_id: &str, high_watermark: i64) -> LogEnd {
        LogEnd { topic_id: topic_id.to_owned(), last_offset: -1, accounted_to: high_watermark }
    }

    /// The same log after a record was delivered.
    #[must_use]
    pub fn after(&self, last_offset: i64) -> LogEnd {
        LogEnd { topic_id: self.topic_id.clone(), last_offset, accounted_to: last_offset + 1 }
    }
}

impl std::fmt::Display for LogEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.topic_id, self.last_offset, self.accounted_to)
    }
}

/// What a committed source offset says of the other logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetMetadata {
    /// Id of the journal topic.
    pub journal_topic_id: String,
    /// Number of the journal entry committed with the offset.
    pub entry_number: u64,
    /// First bytes of its hash.
    pub entry_hash: [u8; HASH_BYTES],
    /// End of the clean partition.
    pub clean: LogEnd,
    /// End of the quarantine partition.
    pub quarantine: LogEnd,
}

impl OffsetMetadata {
    /// Metadata that names an entry.
    pub fn new(
        journal_topic_id: String,
        head: &ChainHead,
        clean: LogEnd,
        quarantine: LogEnd,
    ) -> Self {
        let mut entry_hash = [0; HASH_BYTES];
        entry_hash.copy_from_slice(&head.hash[..HASH_BYTES]);
        OffsetMetadata {
            journal_topic_id,
            entry_number: head.number,
            entry_hash,
            clean,
            quarantine,
        }
    }

    /// Whether it names this entry.
    pub fn names(&self, head: &ChainHead) -> bool {
        self.entry_number == head.number && self.entry_hash[..] == head.hash[..HASH_BYTES]
    }
}

impl std::fmt::Display for OffsetMetadata {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "oncegate/1 journal={}/{}/{} clean={} quarantine={}",
            self.journal_topic_id,
            self.entry_number,
            Hex(&self.entry_hash),
            self.clean,
            self.quarantine,
        )
    }
}

/// The metadata of an offset is not oncegate's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the committed offset's metadata was not written by oncegate")]
pub struct ForeignMetadata;

impl FromStr for OffsetMetadata {
    type Err = ForeignMetadata;

    fn from_str(text: &str) -> Result<OffsetMetadata, ForeignMetadata> {
        parse(text).ok_or(ForeignMetadata)
    }
}

fn parse(text: &str) -> Option<OffsetMetadata> {
    let mut words = text.strip_prefix("oncegate/1 ")?.split(' ');
    let mut journal = words.next()?.strip_prefix("journal=")?.split('/');
    let journal_topic_id = journal.next()?.to_owned();
    let entry_number = journal.next()?.parse().ok()?;
    let mut entry_hash = [0; HASH_BYTES];
    hex::decode_to_slice(journal.next()?, &mut entry_hash).ok()?;
    let clean = log_end(words.next()?.strip_prefix("clean=")?)?;
    let quarantine = log_end(words.next()?.strip_prefix("quarantine=")?)?;
    Some(OffsetMetadata { journal_topic_id, entry_number, entry_hash, clean, quarantine })
}

fn log_end(text: &str) -> Option<LogEnd> {
    let mut words = text.split('/');
    let topic_id = words.next()?.to_owned();
    let (last_offset, accounted_to) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    words.next().is_none().then_some(LogEnd { topic_id, last_offset, accounted_to })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_wrote_and_nothing_else() {
        let head = ChainHead { number: 17, hash: [7; 32] };
        let end = |last_offset| LogEnd::empty("q-Fe_5S3Ry").after(last_offset);
        let metadata = OffsetMetadata::new("w_2x".into(), &head, end(41), end(-1));
        assert_eq!(metadata.to_string().parse(), Ok(metadata.clone()));
        assert!(metadata.names(&head));
        assert!(!metadata.names(&ChainHead { number: 18, ..head }));
        assert!(!metadata.names(&ChainHead { hash: [8; 32], ..head }));
        for foreign in ["", "someone else's", "oncegate/2 journal=a/1/00", "oncegate/1 journal=a/1"]
        {
            assert_eq!(foreign.parse::<OffsetMetadata>(), Err(ForeignMetadata), "{foreign}");
        }
    }
}
