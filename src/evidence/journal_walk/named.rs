//! The committed offset of the group, and the entry that its metadata names.
//! Must not be in here: where it is read.

use super::{Findings, JournalWalk};
use crate::journal::entry::EntryHash;
use crate::journal::{ChainHead, Entry, OffsetMetadata};
use crate::kafka::witnesses::Committed;

/// What the group had committed, and the hash of the entry that it names once that was met.
pub(super) struct NamedByGroup {
    group: String,
    offset: i64,
    /// `None` where somebody else set the offset.
    metadata: Option<OffsetMetadata>,
    met: Option<EntryHash>,
}

impl NamedByGroup {
    pub(super) fn new(group: &str, committed: &Committed) -> NamedByGroup {
        NamedByGroup {
            group: group.to_owned(),
            offset: committed.offset,
            metadata: committed.metadata.parse().ok(),
            met: None,
        }
    }

    pub(super) fn meet(&mut self, entry: &Entry) {
        if self.metadata.as_ref().is_some_and(|names| names.entry_number == entry.number) {
            self.met.get_or_insert(entry.hash);
        }
    }
}

impl JournalWalk {
    /// After the last entry. The committed offset was read before the journal's end, so the entry
    /// that it names is there; a gate that runs may have written more.
    pub(super) fn check_committed(&self, findings: &mut Findings) {
        let Some(named) = &self.committed else { return };
        let NamedByGroup { group, offset, metadata, met } = named;
        let ahead = match self.covered_to {
            Some(to) if *offset > to => Some(format!("the journal ends at offset {to}")),
            None if *offset > 0 => Some("the journal holds no entry".to_owned()),
            _ => None,
        };
        if let Some(end) = ahead {
            let what = format!(
                "group {group} has committed offset {offset}, but {end}: what lies between was \
                 never decided, and the gate would not read it"
            );
            self.wrong(findings, "offset-ahead", self.open_at, what);
        }
        let Some(metadata) = metadata else { return };
        if self.topic_id.as_ref().is_some_and(|id| *id != metadata.journal_topic_id) {
            let what = format!(
                "the committed offset {offset} of group {group} names a journal topic of another \
                 id: this one was made anew"
            );
            self.wrong(findings, "journal-topic", self.open_at, what);
        }
        let (number, head) = (metadata.entry_number, self.head.unwrap_or(ChainHead::EMPTY));
        let is_deleted = self.first.is_some_and(|first| number < first);
        let what = match met {
            _ if number > head.number => format!("the journal ends at entry {}", head.number),
            Some(hash) if !metadata.names(&ChainHead { number, hash: *hash }) => {
                "whose hash in the journal is another".to_owned()
            }
            None if number > 0 && !is_deleted => "which the journal does not hold".to_owned(),
            _ => return,
        };
        let what =
            format!("the committed offset {offset} of group {group} names entry {number}, {what}");
        self.wrong(findings, "journal-tail", self.open_at, what);
    }
}
