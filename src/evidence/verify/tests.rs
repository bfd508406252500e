//! The join of journal and clean, without a broker.
//! Must not be in here: reading, sorting.
#![cfg(test)]

use super::{Bounds, Join, Matched, Row, Witness};
use crate::evidence::rows::Kind;
use crate::evidence::{Findings, RouteUnderProof, SourcePosition};
use crate::identity::{ContentDigest, EventKey};
use crate::settings::sample_route;

fn row(key: u8, digest: u8, at: (i32, i64), witness: Witness, place: i64) -> Row {
    Row {
        key: EventKey::new([key; 32]),
        digest: ContentDigest::new([digest; 16]),
        source: SourcePosition { partition: at.0, offset: at.1, item: 0 },
        witness,
        place,
        entry: 0,
    }
}

fn first(key: u8, at: (i32, i64), rank: u64) -> Row {
    row(key, 1, at, Witness::Journal { kind: Kind::First, rank }, 1_000)
}

fn clean(key: u8, at: (i32, i64), place: i64) -> Row {
    row(key, 1, at, Witness::Clean { kind: Kind::First }, place)
}

/// Joins rows over two partitions; the clean log begins at `low`.
fn join(low: i64, rows: &[Row]) -> (Vec<Matched>, Findings) {
    join_in(Bounds { clean_low: low, clean_judged: 500, unproven_below: None }, rows)
}

fn join_in(bounds: Bounds, rows: &[Row]) -> (Vec<Matched>, Findings) {
    let route = RouteUnderProof::new("g", &sample_route());
    let (bounds, mut findings) = ([bounds; 2], Findings::default());
    let mut sorted = rows.to_vec();
    sorted.sort_by_key(Row::to_bytes);
    let mut join = Join::new(&route, &bounds, &mut findings);
    sorted.iter().for_each(|row| {
        join.push(row);
    });
    let (_, matched) = join.finish();
    (matched, findings)
}

#[test]
fn rows_that_go_together_are_no_finding() {
    let correction = Witness::Journal { kind: Kind::Correction, rank: 2 };
    let rows = [
        first(1, (0, 3), 0),
        clean(1, (0, 3), 0),
        first(2, (1, 3), 0),
        clean(2, (1, 3), 0),
        // A correction: the same key with other content.
        row(1, 2, (0, 9), correction, 1_001),
        row(1, 2, (0, 9), Witness::Clean { kind: Kind::Correction }, 7),
    ];
    let (matched, findings) = join(0, &rows);
    assert!(findings.is_empty(), "{findings}");
    assert_eq!((matched[0].in_clean, matched[1].in_clean), (2, 1));
}

#[test]
fn headers_of_corrections_and_admitted_events_are_held_against_the_journal() {
    let journal =
        |kind, entry| Row { entry, ..row(1, 1, (0, 3), Witness::Journal { kind, rank: 0 }, 1_000) };
    let clean = |kind, entry| Row { entry, ..row(1, 1, (0, 3), Witness::Clean { kind }, 4) };
    let kinds = [(Kind::First, 0), (Kind::Correction, 0), (Kind::Admitted, 7), (Kind::Admitted, 8)];
    for said in kinds {
        for marked in kinds {
            let (_, findings) = join(0, &[journal(said.0, said.1), clean(marked.0, marked.1)]);
            assert_eq!(findings.count("other-verdict"), u64::from(said != marked), "{findings}");
        }
    }
}

#[test]
fn a_key_that_stands_twice_is_named() {
    let rows = [first(1, (0, 3), 0), clean(1, (0, 3), 4), clean(1, (0, 3), 9)];
    let (_, findings) = join(0, &rows);
    assert_eq!((findings.count("twice"), findings.named[0].offset), (1, Some(9)));
    // The gate itself let it through twice, the second time with other content as a first.
    let again = row(1, 2, (0, 8), Witness::Journal { kind: Kind::First, rank: 1 }, 1_001);
    let rows = [first(1, (0, 3), 0), clean(1, (0, 3), 4), again];
    let (_, findings) = join(0, &rows);
    assert_eq!((findings.count("twice-in-journal"), findings.count("missing")), (1, 1));
}

#[test]
fn two_partitions_are_named_once_with_both_places() {
    let rows = [first(1, (0, 3), 0), clean(1, (0, 3), 4), first(1, (1, 7), 0), clean(1, (1, 7), 6)];
    let (_, findings) = join(0, &rows);
    assert_eq!(findings.count("two-partitions"), 1);
    let text = findings.to_string();
    for words in ["raw/0/3", "raw/1/7", "clean/0/4", "clean/1/6", "by-key"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn below_the_start_is_gone_and_above_it_missing() {
    let mut rows: Vec<Row> = (0..60).map(|n| first(n, (0, i64::from(n)), u64::from(n))).collect();
    let kept = (0..60).filter(|n| *n >= 30 && *n != 45);
    rows.extend(kept.map(|n| clean(n, (0, i64::from(n)), i64::from(n))));
    let (matched, findings) = join(30, &rows);
    assert_eq!((matched[0].no_longer_retained, matched[0].missing), (30, 1));
    let named: Vec<_> = findings.named.iter().map(|finding| finding.kind).collect();
    assert_eq!(named, ["missing"]);
    assert!(findings.to_string().contains("raw raw/0/45 "), "{findings}");
    // The same with a log that begins at 0: all of them are missing.
    let (matched, findings) = join(0, &rows);
    assert_eq!((matched[0].no_longer_retained, matched[0].missing), (0, 31));
    assert_eq!(findings.count("missing"), 31);
    // And where nothing is left.
    let (matched, findings) = join(60, &rows[..60]);
    assert_eq!((matched[0].no_longer_retained, findings.is_empty()), (60, true));
}

#[test]
fn clean_records_without_an_entry_are_told_apart() {
    let rows = [clean(1, (0, 3), 4), clean(2, (0, 90), 5), clean(3, (0, 91), 500)];
    let (matched, findings) = join(0, &rows);
    assert_eq!((matched[0].without_entry, matched[0].newer), (2, 1));
    assert_eq!(findings.named[0].offset, Some(4));
    let cut = Bounds { clean_low: 0, clean_judged: 500, unproven_below: Some(50) };
    let (matched, findings) = join_in(cut, &rows);
    assert_eq!((matched[0].unproven, matched[0].without_entry), (1, 1));
    assert_eq!(findings.named[0].offset, Some(5));
}
