//! The journal's codec and chain: what is written is read back, and nothing else is.

use oncegate::gate::{Counts, FirstSighting, Progress, SightingKey, WindowState};
use oncegate::gate::{Incarnation, Part};
use oncegate::identity::{ContentDigest, EventKey};
use oncegate::journal::entry::{NO_ENTRY, begin_header, encode, encode_part};
use oncegate::journal::never::NeverLetThrough;
use oncegate::journal::packed::{Rows, unpack_absorbed, unpack_firsts};
use oncegate::journal::{
    Assembler, ChainHead, Entry, EntryContext, EntryError, Overruled, Position, encode_admit,
    encode_adopt, pb,
};
use proptest::prelude::*;

fn context() -> EntryContext {
    EntryContext {
        route: "g/lab".into(),
        raw_topic_id: "raw-id".into(),
        journal_topic_id: "journal-id".into(),
        raw_partitions: 3,
        recipe_fingerprint: [9; 32],
    }
}

fn read(parts: &[Vec<u8>]) -> Result<Option<Entry>, EntryError> {
    let mut assembler = Assembler::default();
    let mut last = None;
    for part in parts {
        last = assembler.push(part)?;
    }
    Ok(last)
}

fn begin() -> (Entry, Position) {
    let encoded = encode(1, NO_ENTRY, begin_header(&context(), 100), Rows::default());
    let entry = read(&encoded.parts).unwrap().unwrap();
    let position = Position::of_entry(&entry, 0, 1);
    (entry, position)
}

fn part(firsts: Vec<FirstSighting>, absorbed: Vec<SightingKey>) -> Part {
    let before = Progress { window: WindowState::EMPTY, decided_to: 100, skipped: vec![(40, 60)] };
    let mut counts = Counts { records: 7, first: firsts.len() as u64, ..Counts::default() };
    counts.duplicate = absorbed.len() as u64;
    counts.quarantined.insert("json".into(), 2);
    Part {
        partition: 2,
        incarnation: Incarnation(1),
        records: 0..7,
        from: 100,
        to: 5_000_000,
        outcomes: Vec::new(),
        counts,
        replay_counts: Counts { records: 1, replayed: 1, ..Counts::default() },
        after: Progress { decided_to: 5_000_000, ..before.clone() },
        before,
        changed: Vec::new(),
        corrections: firsts.iter().take(3).copied().collect(),
        conflicts: firsts.iter().skip(2).take(4).copied().collect(),
        firsts,
        absorbed,
        cut: None,
        last_record: Some((4_999_999, [3; 32])),
    }
}

fn key(n: u64) -> SightingKey {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&n.to_be_bytes());
    SightingKey { event_micros: n as i64 - 50, key: EventKey::new(bytes) }
}

fn first(n: u64) -> FirstSighting {
    FirstSighting {
        key: key(n),
        digest: ContentDigest::new([n as u8; 16]),
        offset: 100 + n as i64,
        item: n as u32,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn an_entry_is_read_as_it_was_written(firsts in 0u64..20_000, absorbed in 0u64..30_000) {
        let (_, position) = begin();
        let part = part((0..firsts).map(first).collect(), (0..absorbed).map(key).collect());
        let encoded = encode_part(&context(), &part, &position);
        for value in &encoded.parts {
            prop_assert!(value.len() < 900_000, "a record of {} bytes", value.len());
        }
        let entry = read(&encoded.parts).unwrap().unwrap();
        prop_assert_eq!(entry.hash, encoded.hash);
        prop_assert_eq!(&entry.header, &encoded.header);
        prop_assert!(unpack_firsts(&entry.rows.firsts, entry.base()).eq(part.firsts));
        prop_assert!(unpack_firsts(&entry.rows.corrections, entry.base()).eq(part.corrections));
        prop_assert!(unpack_firsts(&entry.rows.conflicts, entry.base()).eq(part.conflicts));
        prop_assert!(unpack_absorbed(&entry.rows.absorbed).eq(part.absorbed));
        let next = position.head().follow(&entry).unwrap();
        prop_assert_eq!(next, ChainHead { number: 2, hash: entry.hash });
    }
}

#[test]
fn totals_go_on_from_the_entry_before() {
    let (_, position) = begin();
    let second = encode_part(&context(), &part(vec![first(1)], vec![]), &position);
    let second = read(&second.parts).unwrap().unwrap();
    let third = encode_part(
        &context(),
        &part(vec![first(2)], vec![key(1)]),
        &Position::of_entry(&second, 2, 3),
    );
    let totals = third.header.total_counts.unwrap();
    assert_eq!((totals.records, totals.first, totals.duplicate), (14, 2, 1));
    assert_eq!(totals.quarantined["json"], 4);
    assert_eq!(third.header.total_replay_counts.unwrap().replayed, 2);
}

#[test]
fn a_position_survives_the_store() {
    let (_, position) = begin();
    assert_eq!(Position::from_bytes(&position.to_bytes()), Some(position.clone()));
    assert_eq!(position.committed_next(), 100);
    assert_eq!(Position::from_bytes(b"\xff\xff"), None);
}

#[test]
fn a_changed_byte_breaks_the_chain() {
    let (_, position) = begin();
    let second = encode_part(&context(), &part(vec![first(1)], vec![]), &position);
    let third_of = |second: &Entry| {
        let position = Position::of_entry(second, 2, 3);
        read(&encode_part(&context(), &part(vec![first(2)], vec![]), &position).parts)
    };
    let second_entry = read(&second.parts).unwrap().unwrap();
    let third = third_of(&second_entry).unwrap().unwrap();
    let head = position.head();
    assert!(head.follow(&second_entry).unwrap().follow(&third).is_ok());

    let mut forged = second.parts.clone();
    let last = forged[0].len() - 1;
    forged[0][last] ^= 1;
    let forged = read(&forged).unwrap().unwrap();
    let after_forged = head.follow(&forged).unwrap();
    assert_eq!(after_forged.follow(&third), Err(EntryError::BrokenChain { number: 3 }));
    let removed = head.follow(&third);
    assert_eq!(removed, Err(EntryError::NumberOutOfPlace { found: 3, last: 1 }));
}

#[test]
fn parts_out_of_place_and_foreign_records_are_refused() {
    let (_, position) = begin();
    let encoded =
        encode_part(&context(), &part((0..20_000).map(first).collect(), vec![]), &position);
    assert!(encoded.parts.len() > 1, "20,000 sightings exceed one record");
    let [one, two, ..] = encoded.parts.as_slice() else { panic!("two parts") };
    assert_eq!(
        read(std::slice::from_ref(two)),
        Err(EntryError::PartOutOfPlace { number: 2, part: 1 })
    );
    assert!(read(&[one.clone(), one.clone()]).is_err());
    assert_eq!(read(std::slice::from_ref(one)), Ok(None), "only all parts together count");
    assert_eq!(read(&[b"not a record".to_vec()]), Err(EntryError::Malformed));
    // Field 1 (format), varint 2.
    assert_eq!(read(&[vec![0x08, 0x02]]), Err(EntryError::UnknownFormat(2)));
}

#[test]
fn an_admission_moves_neither_offset_nor_clock() {
    let (_, position) = begin();
    let encoded = encode_part(&context(), &part((0..3).map(first).collect(), vec![]), &position);
    let before = Position::of_entry(&read(&encoded.parts).unwrap().unwrap(), 1, 2);
    let event = FirstSighting { offset: 40, ..first(7) };
    let admitted = encode_admit(&context(), &before, &event, ("a name", "a reason"));
    let entry = read(&admitted.parts).unwrap().unwrap();
    before.head().follow(&entry).expect("it goes on");
    let after = Position::of_entry(&entry, 2, 3);
    assert_eq!(after.progress(), before.progress());
    assert_eq!(
        (entry.header.from, entry.header.to),
        (before.committed_next(), before.committed_next())
    );
    assert_eq!(entry.header.last_raw_offset, before.header.last_raw_offset);
    assert!(unpack_firsts(&entry.rows.firsts, entry.base()).eq([event]));
    let (was, is) = (before.header.total_counts.unwrap(), entry.header.total_counts.unwrap());
    assert_eq!(is, oncegate::journal::pb::Counts { admitted: 1, ..was });
}

const OVERRULED: Overruled<'static> = Overruled { cause: "journal-cut", finding: "it was cut" };

#[test]
fn an_adoption_begins_an_epoch_and_keeps_what_is_known() {
    let (_, before) = begin();
    let mut header = before.header.clone();
    (header.clock_micros, header.horizon_micros) = (70, 20);
    (header.last_raw_offset, header.decided_to) = (99, 100);
    let before = Position { header, ..before };
    let moved = EntryContext { raw_topic_id: "another".into(), ..context() };
    let adopted = encode_adopt(&moved, Some(&before), 40, OVERRULED, ("a name", "a reason"));
    assert_eq!(before.head().follow(&read(&adopted.parts).unwrap().unwrap()).unwrap().number, 2);
    let header = &adopted.header;
    assert_eq!((header.kind, header.epoch), (pb::EntryKind::Adopt.into(), 1));
    assert_eq!((header.from, header.to, header.decided_to), (40, 40, 40));
    assert_eq!(header.skipped, [pb::OffsetRange { from: 0, to: 40 }], "undecided below");
    assert_eq!((header.clock_micros, header.horizon_micros), (70, 20));
    assert_eq!((header.clock_micros_before, header.horizon_micros_before), (70, 20));
    assert_eq!(header.total_counts, before.header.total_counts);
    assert_eq!((header.last_raw_offset, header.raw_topic_id.as_str()), (-1, "another"));
    let act = header.act.as_ref().unwrap();
    assert_eq!((act.cause.as_str(), act.finding.as_str()), ("journal-cut", "it was cut"));
    assert_eq!((act.by.as_str(), act.reason.as_str()), ("a name", "a reason"));
    let after = Position::of_written(&adopted, 1, 2);
    let next = encode_part(&moved, &part(vec![], vec![]), &after);
    assert_eq!(next.header.epoch, 1, "later entries are of the epoch");
}

#[test]
fn an_adoption_may_be_the_first_entry_and_then_proves_nothing_of_before() {
    let adopted = encode_adopt(&context(), None, 0, OVERRULED, ("a name", "a reason"));
    assert_eq!((adopted.number, adopted.header.skipped.len()), (1, 0));
    let mut proof = NeverLetThrough::new(key(1).key);
    let (entry, _) = begin();
    assert_eq!(proof.adopted(), None);
    proof.push(&adopted.parts[0]).unwrap();
    assert_eq!(proof.adopted(), Some(1));
    assert_ne!(entry.hash, adopted.hash);
}
