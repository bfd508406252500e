//! Journal entries: built from a part, cut into records, and put together again.
//! Must not be in here: topics, offsets of the journal's own log, or what a store does with it.

use super::packed::{Rows, pack_absorbed, pack_firsts};
use super::pb;
use crate::gate::{Counts, Part, WindowState};
use prost::Message;
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// The version that this code writes and reads.
pub const FORMAT: u32 = 1;

/// SHA-256 of an entry.
pub type EntryHash = [u8; 32];

/// The hash that stands before the first entry.
pub const NO_ENTRY: EntryHash = [0; 32];

/// Packed bytes in one part: far below the smallest usual record limit (1 MB).
const PACKED_BYTES_MAX: usize = 600_000;

/// What is wrong with a record of the journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// It is no protobuf of this format.
    #[error("it is not a journal record of oncegate")]
    Malformed,
    /// It was written by another version.
    #[error("its format is version {0}, this version of oncegate reads version {FORMAT}")]
    UnknownFormat(u32),
    /// Its parts do not follow each other.
    #[error("part {part} of entry {number} is out of place")]
    PartOutOfPlace {
        /// Entry number.
        number: u64,
        /// Part found.
        part: u32,
    },
    /// Its number does not follow the entry before.
    #[error("entry {found} follows entry {last}")]
    NumberOutOfPlace {
        /// Number found.
        found: u64,
        /// Number of the entry before.
        last: u64,
    },
    /// Its hash of the entry before is another.
    #[error("entry {number} does not continue the chain: its hash of the entry before is another")]
    BrokenChain {
        /// Entry number.
        number: u64,
    },
}

/// An entry as read from the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Number in its journal partition, from 1.
    pub number: u64,
    /// Its own hash.
    pub hash: EntryHash,
    /// Hash of the entry before.
    pub previous_hash: EntryHash,
    /// Everything but the sightings.
    pub header: pb::EntryHeader,
    /// Its packed sightings.
    pub rows: Rows,
}

/// An entry as it is to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodedEntry {
    /// Number in its journal partition.
    pub number: u64,
    /// Its own hash.
    pub hash: EntryHash,
    /// The values of its records, in order.
    pub parts: Vec<Vec<u8>>,
    /// Everything but the sightings.
    pub header: pb::EntryHeader,
}

/// Cuts an entry into parts and hashes it.
pub fn encode(
    number: u64,
    previous_hash: EntryHash,
    header: pb::EntryHeader,
    mut rows: Rows,
) -> EncodedEntry {
    let mut blocks = vec![rows.split_front(PACKED_BYTES_MAX)];
    while !rows.is_empty() {
        blocks.push(rows.split_front(PACKED_BYTES_MAX));
    }
    let count = blocks.len() as u32;
    let mut hasher = Sha256::new();
    let mut parts = Vec::with_capacity(blocks.len());
    for (nth, rows) in blocks.into_iter().enumerate() {
        let part = pb::EntryPart {
            format: FORMAT,
            number,
            part: nth as u32,
            parts: count,
            previous_hash: previous_hash.to_vec(),
            header: (nth == 0).then(|| header.clone()),
            firsts: rows.firsts,
            absorbed: rows.absorbed,
            corrections: rows.corrections,
            conflicts: rows.conflicts,
        };
        let bytes = part.encode_to_vec();
        hasher.update(&bytes);
        parts.push(bytes);
    }
    EncodedEntry { number, hash: hasher.finalize().into(), parts, header }
}

impl Entry {
    /// The raw offset from which the offsets of its rows are counted.
    pub fn base(&self) -> i64 {
        match &self.header.act {
            Some(act) if self.header.kind == i32::from(pb::EntryKind::Admit) => act.offset,
            _ => self.header.from,
        }
    }
}

/// Puts parts together into entries.
#[derive(Default)]
pub struct Assembler {
    open: Option<(Entry, Sha256, u32, u32)>,
}

impl Assembler {
    /// Takes the value of the next journal record; gives the entry that it completes.
    ///
    /// # Errors
    /// [`EntryError`] where the record is malformed or out of place.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<Entry>, EntryError> {
        let part = pb::EntryPart::decode(bytes).map_err(|_| EntryError::Malformed)?;
        if part.format != FORMAT {
            return Err(EntryError::UnknownFormat(part.format));
        }
        let out_of_place = EntryError::PartOutOfPlace { number: part.number, part: part.part };
        let previous_hash: EntryHash =
            part.previous_hash.as_slice().try_into().map_err(|_| EntryError::Malformed)?;
        let rows = Rows {
            firsts: part.firsts,
            corrections: part.corrections,
            conflicts: part.conflicts,
            absorbed: part.absorbed,
        };
        if !rows.is_whole() {
            return Err(EntryError::Malformed);
        }
        let (mut entry, mut hasher, next, parts) = match (self.open.take(), part.header) {
            (None, Some(header)) if part.part == 0 && part.parts > 0 => {
                let entry = Entry {
                    number: part.number,
                    hash: NO_ENTRY,
                    previous_hash,
                    header,
                    rows: Rows::default(),
                };
                (entry, Sha256::new(), 0, part.parts)
            }
            (Some(open), None) => open,
            _ => return Err(out_of_place),
        };
        let follows = entry.number == part.number
            && entry.previous_hash == previous_hash
            && part.part == next
            && part.parts == parts;
        if !follows {
            return Err(out_of_place);
        }
        hasher.update(bytes);
        entry.rows.append(&rows);
        if next + 1 < parts {
            self.open = Some((entry, hasher, next + 1, parts));
            return Ok(None);
        }
        entry.hash = hasher.finalize().into();
        Ok(Some(entry))
    }

    /// Whether an entry has begun whose last part has not come.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }
}

/// What the entries of a route have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryContext {
    /// `group/route`.
    pub route: String,
    /// Id of the raw topic.
    pub raw_topic_id: String,
    /// Id of the journal topic.
    pub journal_topic_id: String,
    /// Number of raw partitions.
    pub raw_partitions: i32,
    /// SHA-256 of the recipe's meaning.
    pub recipe_fingerprint: [u8; 32],
}

/// The header of the entry that begins a partition at `from`.
pub fn begin_header(context: &EntryContext, from: i64) -> pb::EntryHeader {
    let WindowState { clock_micros, horizon_micros } = WindowState::EMPTY;
    pb::EntryHeader {
        kind: pb::EntryKind::Begin.into(),
        from,
        to: from,
        decided_to: from,
        clock_micros_before: clock_micros,
        clock_micros,
        horizon_micros_before: horizon_micros,
        horizon_micros,
        last_raw_offset: -1,
        total_counts: Some(pb::Counts::default()),
        total_replay_counts: Some(pb::Counts::default()),
        ..context_header(context)
    }
}

pub(super) fn context_header(context: &EntryContext) -> pb::EntryHeader {
    pb::EntryHeader {
        route: context.route.clone(),
        raw_topic_id: context.raw_topic_id.clone(),
        journal_topic_id: context.journal_topic_id.clone(),
        raw_partitions: context.raw_partitions,
        recipe_fingerprint: context.recipe_fingerprint.to_vec(),
        ..pb::EntryHeader::default()
    }
}

/// The entry of a part, after the entry that `last` describes.
pub fn encode_part(context: &EntryContext, part: &Part, last: &super::Position) -> EncodedEntry {
    let mut total = counts_of(last.header.total_counts.as_ref());
    total.merge(&part.counts);
    let mut total_replay = counts_of(last.header.total_replay_counts.as_ref());
    total_replay.merge(&part.replay_counts);
    let (last_raw_offset, last_raw_hash) = match part.last_record {
        Some((offset, hash)) => (offset, hash.to_vec()),
        None => (last.header.last_raw_offset, last.header.last_raw_hash.clone()),
    };
    let header = pb::EntryHeader {
        kind: pb::EntryKind::Range.into(),
        from: part.from,
        to: part.to,
        decided_to: part.after.decided_to,
        skipped: (part.after.skipped.iter())
            .map(|(from, to)| pb::OffsetRange { from: *from, to: *to })
            .collect(),
        counts: Some(pb_counts(&part.counts)),
        replay_counts: Some(pb_counts(&part.replay_counts)),
        total_counts: Some(pb_counts(&total)),
        total_replay_counts: Some(pb_counts(&total_replay)),
        clock_micros_before: part.before.window.clock_micros,
        clock_micros: part.after.window.clock_micros,
        horizon_micros_before: part.before.window.horizon_micros,
        horizon_micros: part.after.window.horizon_micros,
        last_raw_offset,
        last_raw_hash,
        epoch: last.header.epoch,
        ..context_header(context)
    };
    let rows = Rows {
        firsts: pack_firsts(&part.firsts, part.from),
        corrections: pack_firsts(&part.corrections, part.from),
        conflicts: pack_firsts(&part.conflicts, part.from),
        absorbed: pack_absorbed(&part.absorbed),
    };
    encode(last.number + 1, last.hash, header, rows)
}

pub(super) fn pb_counts(counts: &Counts) -> pb::Counts {
    pb::Counts {
        records: counts.records,
        first: counts.first,
        duplicate: counts.duplicate,
        replayed: counts.replayed,
        quarantined: (counts.quarantined.iter())
            .map(|(reason, count)| (reason.to_string(), *count))
            .collect(),
        correction: counts.correction,
        conflict: counts.conflict,
        admitted: counts.admitted,
    }
}

/// Counts as an entry holds them; absent ones are zero.
pub fn counts_of(counts: Option<&pb::Counts>) -> Counts {
    let Some(counts) = counts else {
        return Counts::default();
    };
    Counts {
        records: counts.records,
        first: counts.first,
        duplicate: counts.duplicate,
        replayed: counts.replayed,
        quarantined: (counts.quarantined.iter())
            .map(|(reason, count)| (Cow::Owned(reason.clone()), *count))
            .collect(),
        correction: counts.correction,
        conflict: counts.conflict,
        admitted: counts.admitted,
    }
}
