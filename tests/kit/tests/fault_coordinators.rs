//! Coordinators that go away and come back under load. An answer that is missing is never taken for
//! "nothing was committed", and a lone member goes on.
//! Must not be in here: other faults of brokers (`faults`).

mod common;

use common::{
    Feeder, SOON, assert_agreement, assert_exact, await_readyz, await_transaction, end, entries,
    logs, rest, sample, size_of_test, unique,
};
use std::time::Instant;

use oncegate::journal::Entry;
use oncegate::journal::pb::EntryKind;
use oncegate_testkit::broker::{Broker, BrokerOptions};
use oncegate_testkit::generator::Kind;
use oncegate_testkit::process::Process;
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::topics::Admin;
use oncegate_testkit::wait::wait_until;

fn scene_on(broker: &Broker, name: &str, options: SceneOptions) -> Scene {
    Scene::new(broker, &unique(name), options).expect("a scene")
}

/// confluentinc/librdkafka#3437: the coordinator restarts over and over under load. Its group's and
/// its transactions' partitions go to another broker each time, and so to each in turn. (Where one
/// broker is the whole cluster, it may complete a transaction without the markers, which then
/// hangs: docs/operations.md.)
#[test]
fn coordinator_restarts_ten_times() {
    let broker = three_brokers();
    let scene = scene_on(&broker, "restarts", SceneOptions::default());
    let admin = Admin::new(&scene.bootstrap).expect("an admin client");
    let partition = offsets_partition(&scene.group(), 4);
    let mut one = scene.start("one").expect("started");
    let sample = sample(106, Kind::Lab, 100_000);
    let mut sent = Vec::new();
    for some in sample.chunks(10_000) {
        let feeder = Feeder::start(&scene, some.to_vec());
        let open = scene.open_transactions().expect("watchers");
        await_transaction(&scene, &open, &["one"]);
        let leader = admin.leader("__consumer_offsets", partition).expect("a leader");
        broker.node(leader).expect("the node").kill().expect("killed");
        sent.extend(feeder.stop());
        broker.start_again(leader).expect("started again");
        await_running(&scene, &mut [("one", &mut one)]);
    }
    rest(&scene, &["one"]);
    await_readyz(&scene, "one", 200, "ready");
    assert_exact(&scene, &sent, &["one"]);
    end(&mut one);
    assert_agreement(&scene, &sent, &["one"]);
}

fn three_brokers() -> Broker {
    let options = BrokerOptions { brokers: 3, faults: true, ..BrokerOptions::default() };
    Broker::start(options).expect("three brokers")
}

/// Waits until everything is through. A call of the client that does not come back ends its
/// process, and it is started again, as a supervisor would.
fn await_running(scene: &Scene, processes: &mut [(&str, &mut Process)]) {
    let deadline = Instant::now() + SOON * 5;
    loop {
        for (name, process) in processes.iter_mut() {
            if !process.is_running() {
                assert!(scene.log(name).contains("does not come back"), "{}", scene.log(name));
                **process = scene.start(name).expect("started again");
            }
        }
        let through = scene.wait_until_through().is_ok();
        if through && processes.iter_mut().all(|(_, process)| process.is_running()) {
            return;
        }
        let names: Vec<&str> = processes.iter().map(|(name, _)| *name).collect();
        assert!(Instant::now() < deadline, "{}", logs(scene, &names));
    }
}

/// The partition of the offsets' log that holds a group, as the broker chooses it.
fn offsets_partition(group: &str, partitions: i32) -> i32 {
    let hash = group
        .encode_utf16()
        .fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    (hash & i32::MAX) % partitions
}

/// apache/kafka#23339: a new coordinator says for a moment that nothing is committed.
#[test]
fn coordinator_dies_while_partitions_change_hands() {
    let broker = three_brokers();
    let options = SceneOptions { batch_records: 2_000, ..SceneOptions::default() };
    let scene = scene_on(&broker, "hands", options);
    let admin = Admin::new(&scene.bootstrap).expect("an admin client");
    let partition = offsets_partition(&scene.group(), 4);
    let rounds = size_of_test("ONCEGATE_TEST_HANDS", 3);
    let sample = sample(108, Kind::Lab, rounds * 20_000);
    let mut sent = Vec::new();
    let mut one = scene.start("one").expect("started");
    await_readyz(&scene, "one", 200, "ready");
    // A member that restarts on its directory keeps its partitions, so each time another joins.
    let names: Vec<String> = (0..rounds).map(|nth| format!("joins-{nth}")).collect();
    let all = || [&["one"][..], &names.iter().map(String::as_str).collect::<Vec<_>>()].concat();
    for (some, name) in sample.chunks(20_000).zip(&names) {
        let feeder = Feeder::start(&scene, some.to_vec());
        let open = scene.open_transactions().expect("watchers");
        await_transaction(&scene, &open, &["one"]);
        let before = scene.log("one").matches("partitions revoked").count();
        let mut two = scene.start(name).expect("started");
        wait_until(SOON, "a partition changes hands", || {
            // It may come from a member that has ended.
            scene.log("one").matches("partitions revoked").count() > before
                || scene.log(name).contains("taken over")
        })
        .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one", name])));
        let leader = admin.leader("__consumer_offsets", partition).expect("a leader");
        broker.node(leader).expect("the node").kill().expect("killed");
        sent.extend(feeder.stop());
        broker.start_again(leader).expect("started again");
        await_running(&scene, &mut [("one", &mut one), (name.as_str(), &mut two)]);
        end(&mut two);
    }
    assert_exact(&scene, &sent, &all());
    for partition in 0..4 {
        let begins = |entry: &&Entry| entry.header.kind == i32::from(EntryKind::Begin);
        assert_eq!(entries(&scene, partition).iter().filter(begins).count(), 1, "first starts");
    }
    rest(&scene, &["one"]);
    await_readyz(&scene, "one", 200, "ready");
    end(&mut one);
    assert_agreement(&scene, &sent, &all());
}
