//! A short run of chaos: every kind of fault once, in an order that is always the same, and late
//! requests one after the other: the client says only once in 30 s that a connection is gone.
//! Must not be in here: how a fault is done.

use oncegate_testkit::chaos::{ChaosOptions, Course, Fault, run};

#[test]
fn every_kind_of_fault_once() {
    let late = [Fault::LateEndTxn, Fault::LateProduce, Fault::LateEndTxn, Fault::LateOffsets];
    let faults = [&late, &Fault::ALL[..], &late].concat();
    let count = faults.len();
    let course = Course::Fixed(faults);
    let options = ChaosOptions { seed: 6, course, kinds: Vec::new(), rate: 1_000, keep: false };
    let outcome = run(&options, &mut |line| println!("{line}")).unwrap_or_else(|e| panic!("{e}"));
    println!("{}\n{}", outcome.table(), outcome.compared);
    assert_eq!(outcome.faults.len(), count);
    assert!(outcome.is_exact(), "{}\n{}", outcome.compared, outcome.evidence.join("\n"));
}
