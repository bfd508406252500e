//! What must hold at the end of a history: what readers see, and who must not be served.
//! Must not be in here: what the gate tells of itself, but for its refusals.

use crate::cluster::Cluster;
use crate::feed::{Truth, judge};
use crate::log::Topic;
use oncegate::gate::ConflictPolicy;
use std::collections::BTreeSet;

impl Cluster {
    /// Why a partition must not be served at the end, by what the logs have become.
    pub fn demanded(&self, partition: i32) -> Option<String> {
        let page = &self.book.pages[partition as usize];
        page.head?;
        if let Some((_, why)) = page.dead_since {
            return Some(why.to_owned());
        }
        if page.journal_lost {
            return Some("the journal lost its tail".into());
        }
        if let Some(lost) = page.output_lost {
            return Some(lost.into());
        }
        let raw = self.log(Topic::Raw, partition);
        if let Some((offset, hash)) = &page.last_raw
            && raw.at(*offset).is_none_or(|record| hash_of(record) != *hash)
        {
            return Some(format!("the last raw record decided, {offset}, is another or gone"));
        }
        (page.to < raw.low).then(|| "records were deleted unread".into())
    }

    /// What a reader of committed records sees against what was sent.
    pub fn check_readers(
        &self,
        partition: i32,
        (truths, policy): (&[Truth], ConflictPolicy),
        whole: bool,
    ) -> Result<(), String> {
        let clean: Vec<(i64, u64)> = (self.log(Topic::Clean, partition).committed())
            .map(|(_, record)| (record.source, record.tag))
            .collect();
        if !clean.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(format!("ORDER: clean does not stand in raw order: {clean:?}"));
        }
        let page = &self.book.pages[partition as usize];
        if let Some(from) = page.regrown_from
            && !whole
            && let Some(new) = clean.iter().find(|(_, tag)| *tag >= from)
        {
            return Err(format!("raw record {new:?} of the log that grew again was let through"));
        }
        if !whole {
            return Ok(());
        }
        let raw = self.log(Topic::Raw, partition);
        let expected = judge(truths, policy, raw.committed());
        if clean != expected.firsts {
            let (a, b): (BTreeSet<_>, BTreeSet<_>) =
                (clean.iter().collect(), expected.firsts.iter().collect());
            return Err(format!(
                "LOST or too many: missing {:?}, not expected {:?}",
                b.difference(&a).collect::<Vec<_>>(),
                a.difference(&b).collect::<Vec<_>>()
            ));
        }
        let sources = |topic| -> BTreeSet<i64> {
            self.log(topic, partition).committed().map(|(_, record)| record.source).collect()
        };
        let quarantined = sources(Topic::Quarantine);
        if quarantined != expected.quarantined {
            return Err(format!(
                "quarantine holds {:?}, expected {:?}",
                quarantined.difference(&expected.quarantined).collect::<Vec<_>>(),
                expected.quarantined.difference(&quarantined).collect::<Vec<_>>()
            ));
        }
        if let Some(lost) = expected.audited.difference(&sources(Topic::Audit)).next() {
            return Err(format!("the duplicate at {lost} is in no audit record"));
        }
        if page.records != expected.records {
            return Err(format!(
                "the journal counts {} records, {} were sent",
                page.records, expected.records
            ));
        }
        Ok(())
    }
}

/// The hash of a raw record, as the journal notes it.
pub fn hash_of(record: &crate::log::Record) -> Vec<u8> {
    use sha2::{Digest, Sha256};
    let mut hasher = Sha256::new();
    for part in [&record.key, &record.payload] {
        hasher.update(part.as_ref().map_or(-1, |bytes| bytes.len() as i64).to_be_bytes());
        hasher.update(part.as_deref().unwrap_or_default());
    }
    hasher.finalize().to_vec()
}
