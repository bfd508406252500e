//! What a store remembers, and which entries it takes.

use crate::journal::{Journal, assert_holds};
use oncegate::journal::Receipt;
use oncegate::store::{PartitionStore, RocksStore, RocksStores, StoreBudget, StoreError, Stores};
use proptest::prelude::*;

pub fn stores(dir: &std::path::Path) -> RocksStores {
    RocksStores::open(dir, StoreBudget::default()).expect("registry")
}

pub fn open(stores: &RocksStores) -> RocksStore {
    stores.open("orders", 0).expect("store")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A store that is written after each commit and one that is restored from the journal hold
    /// the same, also when they are closed between entries.
    #[test]
    fn applied_and_restored_agree_with_the_model(
        entries in prop::collection::vec(
            (prop::collection::vec(0_u64..60, 0..40), any::<bool>()),
            1..12,
        ),
    ) {
        let dir = tempfile::tempdir().expect("temporary directory");
        let stores = stores(dir.path());
        let mut journal = Journal::new();
        let mut applied = stores.open("orders", 0).expect("store");
        let mut restored = stores.open("orders", 1).expect("store");
        for (keys, reopen) in entries {
            let entry = journal.write(&keys);
            applied.apply(&entry.receipt(), &entry.changed).expect("apply");
            restored.restore(&entry.receipt_of_journal(), &entry.read).expect("restore");
            if reopen {
                applied.flush().expect("flush");
                drop(applied);
                applied = stores.open("orders", 0).expect("store");
            }
            let receipt = entry.receipt();
            prop_assert_eq!(applied.position(), Some(receipt.position()));
            prop_assert_eq!(restored.position(), Some(receipt.position()));
            assert_holds(&mut applied, 0..60, &journal);
            assert_holds(&mut restored, 0..60, &journal);
        }
    }
}

#[test]
fn a_new_store_has_no_position_and_knows_nothing() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut store = open(&stores(dir.path()));
    assert_eq!(store.position(), None);
    assert_holds(&mut store, 0..2000, &Journal::new());
    store.look_up(&[], &mut vec![None]).expect("no keys, no answers");
}

/// The error's reason, where it is one of step.
fn why(result: Result<(), StoreError>) -> String {
    match result {
        Err(StoreError::OutOfStep { why, .. }) => why.to_string(),
        other => panic!("expected out of step, got {other:?}"),
    }
}

#[test]
fn only_the_next_entry_is_taken() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut store = open(&stores(dir.path()));
    let mut journal = Journal::new();
    let [first, second, third] = [&[1, 2][..], &[2, 3], &[4]].map(|keys| journal.write(keys));
    assert_eq!(why(store.apply(&second.receipt(), &second.changed)), "its number is not the next");
    store.apply(&first.receipt(), &first.changed).expect("apply");
    for entry in [&first, &third] {
        let refused = store.apply(&entry.receipt(), &entry.changed);
        assert_eq!(why(refused), "its number is not the next");
        let refused = store.restore(&entry.receipt_of_journal(), &entry.read);
        assert_eq!(why(refused), "its number is not the next");
    }
    let mismatched = store.restore(&third.receipt_of_journal(), &second.read);
    assert_eq!(why(mismatched), "the receipt is that of another entry");
    let earlier = Receipt::of_journal(&second.read, (0, 1));
    assert_eq!(why(store.restore(&earlier, &second.read)), "it stands earlier in the journal");
    // What was refused has changed nothing and does no harm to what follows.
    store.restore(&second.receipt_of_journal(), &second.read).expect("restore");
    store.apply(&third.receipt(), &third.changed).expect("apply");
    assert_holds(&mut store, 0..10, &journal);
}

#[test]
fn an_entry_of_another_chain_is_refused() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut store = open(&stores(dir.path()));
    let (mut ours, mut theirs) = (Journal::new(), Journal::new());
    let first = ours.write(&[1]);
    store.apply(&first.receipt(), &first.changed).expect("apply");
    theirs.write(&[2]);
    let foreign = theirs.write(&[3]);
    let refused = store.restore(&foreign.receipt_of_journal(), &foreign.read);
    assert_eq!(why(refused), "it continues another chain");
}

#[test]
#[should_panic(expected = "ascend")]
fn a_look_up_out_of_order_is_a_bug() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut store = open(&stores(dir.path()));
    let mut keys: Vec<_> = (0..9).map(crate::journal::key).collect();
    keys.sort_unstable();
    keys.reverse();
    let _ = store.look_up(&keys, &mut Vec::new());
}

#[test]
fn size_counts_keys_and_bytes() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut store = open(&stores(dir.path()));
    let mut journal = Journal::new();
    let entry = journal.write(&(0..5000).collect::<Vec<_>>());
    store.apply(&entry.receipt(), &entry.changed).expect("apply");
    store.flush().expect("flush");
    let size = store.size();
    assert!((5000..5100).contains(&size.keys_estimate), "{size:?}");
    assert!(size.disk_bytes > 100_000, "{size:?}");
}
