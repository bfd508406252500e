//! What an entry of the journal changes in a store.
//! Must not be in here: reading or writing a store; the entry's checks against a position.

use crate::gate::{FirstSighting, Sighting, SightingKey};
use crate::journal::packed::{unpack_absorbed, unpack_firsts};
use crate::journal::{Entry, pb};

/// An entry's effects: sightings that it holds whole, and counts for sightings of earlier entries.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fold {
    /// First sightings and corrections, with the absorptions that followed in the same entry; keys ascend.
    pub firsts: Vec<(SightingKey, Sighting)>,
    /// Keys of earlier entries, ascending, each once.
    pub counted: Vec<SightingKey>,
    /// How often each of `counted` was absorbed.
    pub counts: Vec<u32>,
}

impl Fold {
    /// Reads an entry.
    pub fn of(entry: &Entry) -> Fold {
        let base = entry.base();
        let admitted = entry.header.kind() == pb::EntryKind::Admit;
        let firsts = unpack_firsts(&entry.rows.firsts, base).map(|first| {
            let kept = admitted.then(|| SightingKey::kept(first.key.key));
            (kept.unwrap_or(first.key), sighting_of(&first))
        });
        let corrections = unpack_firsts(&entry.rows.corrections, base)
            .map(|other| (other.key.of_correction(&other.digest), sighting_of(&other)));
        let mut firsts: Vec<(SightingKey, Sighting)> = firsts.chain(corrections).collect();
        // Stable: of two sightings of one key, which no gate writes, the earlier stays.
        firsts.sort_by_key(|(key, _)| *key);
        firsts.dedup_by_key(|(key, _)| *key);
        let mut absorbed: Vec<SightingKey> = unpack_absorbed(&entry.rows.absorbed).collect();
        absorbed.sort_unstable();
        let mut fold = Fold { firsts, ..Fold::default() };
        for equal in absorbed.chunk_by(|a, b| a == b) {
            let count = u32::try_from(equal.len()).unwrap_or(u32::MAX);
            match fold.firsts.binary_search_by_key(&equal[0], |(key, _)| *key) {
                Ok(at) => count_up(&mut fold.firsts[at].1, count),
                Err(_) => {
                    fold.counted.push(equal[0]);
                    fold.counts.push(count);
                }
            }
        }
        fold
    }

    /// All changed sightings; `found` is what the store remembers of `counted`.
    pub fn changed(self, found: &[Option<Sighting>]) -> Vec<(SightingKey, Sighting)> {
        let mut changed = self.firsts;
        for ((key, count), found) in self.counted.into_iter().zip(self.counts).zip(found) {
            if let Some(mut sighting) = *found {
                count_up(&mut sighting, count);
                changed.push((key, sighting));
            }
        }
        changed.sort_unstable_by_key(|(key, _)| *key);
        changed
    }
}

fn sighting_of(first: &FirstSighting) -> Sighting {
    Sighting {
        digest: first.digest,
        first_offset: first.offset,
        first_item: first.item,
        load_count: 1,
    }
}

fn count_up(sighting: &mut Sighting, count: u32) {
    sighting.load_count = sighting.load_count.saturating_add(count);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{ContentDigest, EventKey};
    use crate::journal::packed::{Rows, pack_absorbed, pack_firsts};

    fn key(n: u8) -> SightingKey {
        SightingKey { event_micros: i64::from(n % 3), key: EventKey::new([n; 32]) }
    }

    fn sighting(n: u8, load_count: u32) -> Sighting {
        Sighting {
            digest: ContentDigest::new([n; 16]),
            first_offset: 100 + i64::from(n),
            first_item: u32::from(n),
            load_count,
        }
    }

    fn entry(firsts: &[u8], absorbed: &[u8]) -> Entry {
        let header = pb::EntryHeader { from: 100, to: 200, ..pb::EntryHeader::default() };
        let firsts: Vec<FirstSighting> = (firsts.iter())
            .map(|n| FirstSighting {
                key: key(*n),
                digest: ContentDigest::new([*n; 16]),
                offset: 100 + i64::from(*n),
                item: u32::from(*n),
            })
            .collect();
        let absorbed: Vec<SightingKey> = absorbed.iter().map(|n| key(*n)).collect();
        Entry {
            number: 1,
            hash: [0; 32],
            previous_hash: [0; 32],
            rows: Rows {
                firsts: pack_firsts(&firsts, header.from),
                absorbed: pack_absorbed(&absorbed),
                ..Rows::default()
            },
            header,
        }
    }

    #[test]
    fn absorptions_count_upon_firsts_of_the_entry_and_upon_the_store() {
        let fold = Fold::of(&entry(&[9, 4, 5], &[5, 7, 5, 8, 7, 7]));
        assert_eq!(fold.counted, [key(7), key(8)]);
        let changed = fold.changed(&[Some(sighting(7, 2)), None]);
        let mut expected = vec![
            (key(9), sighting(9, 1)),
            (key(4), sighting(4, 1)),
            (key(5), sighting(5, 3)),
            (key(7), sighting(7, 5)),
        ];
        expected.sort_unstable_by_key(|(key, _)| *key);
        assert_eq!(changed, expected);
    }

    /// A row of other content, and the sighting that a correction of it leaves.
    fn other(n: u8) -> (FirstSighting, (SightingKey, Sighting)) {
        let digest = ContentDigest::new([n + 100; 16]);
        let row = FirstSighting { key: key(n), digest, offset: 150, item: 1 };
        let sighting = Sighting { digest, first_offset: 150, first_item: 1, load_count: 1 };
        (row, (key(n).of_correction(&digest), sighting))
    }

    #[test]
    fn corrections_stand_beside_the_first_and_conflicts_leave_nothing() {
        let mut entry = entry(&[4], &[4]);
        let (row, (at, sighting)) = other(4);
        entry.rows.corrections = pack_firsts(&[row], 100);
        entry.rows.conflicts = pack_firsts(&[other(9).0], 100);
        entry.rows.absorbed.extend(pack_absorbed(&[at, at]));
        let mut expected = vec![
            (key(4), super::tests::sighting(4, 2)),
            (at, Sighting { load_count: 3, ..sighting }),
        ];
        expected.sort_unstable_by_key(|(key, _)| *key);
        assert_eq!(Fold::of(&entry).changed(&[]), expected);
    }

    #[test]
    fn an_admitted_event_stands_beyond_every_horizon() {
        let mut entry = entry(&[], &[]);
        entry.header.kind = pb::EntryKind::Admit.into();
        entry.header.act = Some(pb::Act { offset: 7, item: 1, ..pb::Act::default() });
        let row = FirstSighting { offset: 7, ..other(4).0 };
        entry.rows.firsts = pack_firsts(&[row], 7);
        let changed = Fold::of(&entry).changed(&[]);
        assert_eq!(changed.len(), 1);
        assert_eq!(changed[0].0, SightingKey::kept(key(4).key));
        assert_eq!(changed[0].1.first_offset, 7);
    }

    #[test]
    fn counts_saturate() {
        let fold = Fold::of(&entry(&[], &[1, 1]));
        assert_eq!(
            fold.changed(&[Some(sighting(1, u32::MAX - 1))]),
            [(key(1), sighting(1, u32::MAX))]
        );
    }

    #[test]
    fn an_entry_without_sightings_changes_nothing() {
        assert_eq!(Fold::of(&entry(&[], &[])), Fold::default());
    }
}
