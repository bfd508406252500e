//! Faults of brokers, clients and time under load: each ends with a clean topic that is exact.
//! Must not be in here: faults of coordinators (`fault_coordinators`), stores (`fault_stores`),
//! logs (`fault_logs`), or of what stands beside the gate (`fault_neighbours`).
//!
//! Where the test of each fault is, by the rows of the design:
//!
//! | row | test |
//! | --- | --- |
//! | bad record | `verdicts`, `exactly_once::plain_run_over_every_kind` |
//! | record that the broker refuses | `refusals::a_record_that_the_broker_refuses_is_quarantined_alone` |
//! | broker away | `brokers_away_for_minutes`, `refusals::the_broker_is_not_there_at_start` |
//! | an upstream transaction hangs | `fault_logs::upstream_transaction_hangs_on_raw` |
//! | abort, slow or dropped connection | `fault_coordinators`, the simulation |
//! | transaction times out | `transaction_times_out` |
//! | producer fenced | `producer_fenced` |
//! | outcome of a commit unknown | `outcome_of_a_commit_is_unknown` |
//! | kill -9 | `exactly_once::one_of_two_is_killed_in_a_transaction_and_restarted` |
//! | store corrupt or gone | `fault_stores::store_corrupt_...`, `fault_stores::store_gone` |
//! | a log lost its tail | `fault_logs::each_log_that_lost_its_tail`, `tails` |
//! | the group's offsets lost theirs | `fault_logs::offsets_that_lost_their_tail_are_a_replay` |
//! | journal head deleted | `fault_logs::journal_head_deleted`, `refusals::journal_emptied_with_and_without_a_store` |
//! | journal shorter than the store | `refusals::journal_shorter_than_the_store_which_is_set_aside_and_built_anew` |
//! | raw head deleted | `acts::raw_head_deleted_past_the_committed_offset_is_a_gap_that_a_person_accepts` |
//! | group offsets expired | `refusals::group_offsets_expired_go_on_at_the_journal` |
//! | group moved forward | `refusals::group_moved_forward` |
//! | raw topic recreated | `refusals::raw_topic_recreated_while_running`, `..._stopped`, `adopt` |
//! | partitions added | `refusals::raw_partitions_added_while_running_and_while_stopped` |
//! | disk full, file handles | `fault_stores::disk_full_...`, `fault_stores::too_few_file_handles` |
//! | clock set back | `fault_neighbours::clock_of_the_machine_set_back` |
//! | the same instance id twice | `fault_neighbours::second_process_with_the_same_instance_id` |
//! | two groups on one clean topic | `fault_neighbours::two_groups_on_one_clean_topic_are_refused`, `tails` |
//! | wrong recipe fingerprint | `refusals::wrong_recipe_fingerprint` |
//! | a right is missing | `fault_neighbours::acl_missing_for_one_topic` |
//! | SIGTERM | `refusals::a_stop_ends_in_time_although_the_broker_is_frozen`, `stop_right_after_raw_was_deleted`, `stops_amid_a_rebalance_and_a_restore` |
//! | configuration wrong | `topics_and_check::a_faulty_configuration_has_its_own_status` |

mod common;

use std::time::{Duration, Instant};

use common::{
    Feeder, SOON, assert_agreement, assert_exact, await_log, await_readyz, await_transaction,
    broker, end, logs, own_broker, rest, sample, unique,
};
use oncegate_testkit::broker::{Broker, Node};
use oncegate_testkit::generator::{Kind, Sent};
use oncegate_testkit::process::Process;
use oncegate_testkit::produce::{Timestamps, produce};
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::wait::wait_until;
use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, Producer};

/// More than any of these tests needs: the feeder is stopped when the fault is over.
const ENOUGH: usize = 900_000;
const UNKNOWN: &str = "the outcome of a transaction is unknown";

fn scene_on(broker: &Broker, name: &str, options: SceneOptions) -> Scene {
    Scene::new(broker, &unique(name), options).expect("a scene")
}

/// All was sent, let through once, and the logs and stores agree.
fn assert_whole(scene: &Scene, feeder: Feeder, mut one: Process) {
    let sent = feeder.stop();
    assert!(sent.len() < ENOUGH, "the fault was over while records still came");
    rest(scene, &["one"]);
    await_readyz(scene, "one", 200, "ready");
    assert_exact(scene, &sent, &["one"]);
    end(&mut one);
    assert_agreement(scene, &sent, &["one"]);
}

/// Strikes while a transaction is open. It may be over before the blow falls, so the gate's log has
/// to tell that it was not; else it is done again. Gives what was sent.
fn strike_in_a_transaction(
    scene: &Scene,
    sample: &[Sent],
    strike: impl Fn(),
    undo: impl Fn(),
) -> Vec<Sent> {
    await_readyz(scene, "one", 200, "ready");
    let open = scene.open_transactions().expect("watchers");
    let mut sent = Vec::new();
    for some in sample.chunks(20_000) {
        produce(&scene.bootstrap, &scene.raw(), some, Timestamps::EventTime).expect("produced");
        sent.extend_from_slice(some);
        await_transaction(scene, &open, &["one"]);
        strike();
        let told = || scene.log("one").contains(UNKNOWN);
        if wait_until(SOON, "the gate tells of an unknown outcome", told).is_ok() {
            return sent;
        }
        undo();
        rest(scene, &["one"]);
    }
    panic!("no transaction was open when it struck\n{}", logs(scene, &["one"]));
}

/// The row "broker away".
#[test]
fn brokers_away_for_minutes() {
    const AWAY: Duration = Duration::from_secs(130);
    let broker = own_broker();
    let scene = scene_on(&broker, "away", SceneOptions::default());
    // The producer of the load must not give up, so what is to come is sent in two halves.
    let sent = sample(101, Kind::Lab, 160_000);
    let (before, after) = sent.split_at(100_000);
    let mut one = scene.start("one").expect("started");
    let node = broker.node(1).expect("the node");
    let strike = || node.kill().expect("killed");
    let undo = || broker.start_again(1).expect("started again");
    let sent_before = strike_in_a_transaction(&scene, before, strike, undo);
    let gone = Instant::now();
    await_readyz(&scene, "one", 503, "transactional producer not initialised");
    wait_until(AWAY * 2, "the brokers were away for minutes", || {
        assert!(one.is_running(), "{}", one.end_of_log());
        gone.elapsed() > AWAY
    })
    .expect("away");
    broker.start_again(1).expect("started again");
    rest(&scene, &["one"]);
    let feeder = Feeder::start(&scene, after.to_vec());
    await_readyz(&scene, "one", 200, "ready");
    let sent_after = feeder.stop();
    let sent = [sent_before, sent_after].concat();
    rest(&scene, &["one"]);
    assert_exact(&scene, &sent, &["one"]);
    end(&mut one);
    assert_agreement(&scene, &sent, &["one"]);
}

/// The process stalls for longer than the transaction may take, and stays a member.
#[test]
fn transaction_times_out() {
    let options =
        SceneOptions { session_ms: 120_000, transaction_ms: 6_000, ..SceneOptions::default() };
    let scene = scene_on(broker(), "timed-out", options);
    let feeder = Feeder::start(&scene, sample(102, Kind::Lab, ENOUGH));
    let mut one = scene.start("one").expect("started");
    let open = scene.open_transactions().expect("watchers");
    // Its commit may have been under way in the very moment of the stop: one that is still open
    // after a while waits for the process.
    const UNDER_WAY: Duration = Duration::from_secs(2);
    loop {
        await_transaction(&scene, &open, &["one"]);
        one.freeze().expect("stopped");
        if wait_until(UNDER_WAY, "it has ended", || !open.any().expect("ends")).is_err() {
            break;
        }
        one.thaw().expect("woken");
    }
    wait_until(SOON, "the broker has ended the transaction", || !open.any().expect("ends"))
        .expect("ended");
    one.thaw().expect("woken");
    await_log(&scene, "one", UNKNOWN, 1, SOON);
    assert_whole(&scene, feeder, one);
}

/// The row "producer fenced": somebody else initialises the same transactional id.
#[test]
fn producer_fenced() {
    let scene = scene_on(broker(), "fenced", SceneOptions::default());
    let feeder = Feeder::start(&scene, sample(103, Kind::Lab, ENOUGH));
    let one = scene.start("one").expect("started");
    let open = scene.open_transactions().expect("watchers");
    await_transaction(&scene, &open, &["one"]);
    let instance = std::fs::read_to_string(scene.state_dir("one").join("instance")).expect("id");
    for times in 1..=2 {
        await_readyz(&scene, "one", 200, "ready");
        let intruder: BaseProducer = ClientConfig::new()
            .set("bootstrap.servers", &scene.bootstrap)
            .set("transactional.id", format!("{}-route-{}-0", scene.name, instance.trim()))
            .create()
            .expect("a producer");
        intruder.init_transactions(Duration::from_secs(30)).expect("initialised");
        await_log(&scene, "one", UNKNOWN, times, SOON);
    }
    assert_whole(&scene, feeder, one);
}

/// The broker stands still in a transaction for so long that its outcome cannot be waited for.
#[test]
fn outcome_of_a_commit_is_unknown() {
    let broker = own_broker();
    let scene = scene_on(&broker, "unknown", SceneOptions::default());
    let mut one = scene.start("one").expect("started");
    let node = broker.node(1).expect("the node");
    let strike = || node.freeze().expect("frozen");
    let undo = || node.thaw().expect("thawed");
    let sent = sample(104, Kind::Lab, 100_000);
    let sent = strike_in_a_transaction(&scene, &sent, strike, undo);
    await_readyz(&scene, "one", 503, "transactional producer not initialised");
    node.thaw().expect("thawed");
    rest(&scene, &["one"]);
    await_readyz(&scene, "one", 200, "ready");
    assert_exact(&scene, &sent, &["one"]);
    end(&mut one);
    assert_agreement(&scene, &sent, &["one"]);
}

/// confluentinc/librdkafka#3437: a lone static member is away for three session time-outs; no
/// second process exists, and none is named as the only cause.
#[test]
fn lone_member_away_past_its_session() {
    let options = SceneOptions { session_ms: 6_000, transaction_ms: 6_000, ..Default::default() };
    let scene = scene_on(broker(), "lone", options);
    let feeder = Feeder::start(&scene, sample(105, Kind::Lab, ENOUGH));
    let mut one = scene.start("one").expect("started");
    let open = scene.open_transactions().expect("watchers");
    await_transaction(&scene, &open, &["one"]);
    one.freeze().expect("stopped");
    let since = Instant::now();
    wait_until(SOON, "three sessions have passed", || since.elapsed() > Duration::from_secs(18))
        .expect("passed");
    one.thaw().expect("woken");
    let taken_over = |scene: &Scene| scene.log("one").matches("taken over").count();
    wait_until(SOON, "it goes on, or has ended to be restarted", || {
        taken_over(&scene) > 4 || !one.is_running()
    })
    .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one"])));
    let log = scene.log("one");
    assert!(!log.contains("a second process") || log.contains("was away for longer"), "{log}");
    if !one.is_running() {
        assert!(!one.wait(SOON).expect("ended").success());
        one = scene.start("one").expect("started again");
    }
    assert_whole(&scene, feeder, one);
}

/// fede1024/rust-rdkafka#509, #517: raw is deleted just before the stop.
#[test]
fn stop_right_after_raw_was_deleted() {
    let scene = scene_on(broker(), "deleted", SceneOptions::default());
    let feeder = Feeder::start(&scene, sample(107, Kind::Lab, 40_000));
    let mut one = scene.start("one").expect("started");
    let open = scene.open_transactions().expect("watchers");
    await_transaction(&scene, &open, &["one"]);
    let sent = feeder.stop();
    rest(&scene, &["one"]);
    let admin = oncegate_testkit::topics::Admin::new(&scene.bootstrap).expect("an admin client");
    admin.delete(&[&scene.raw()]).expect("deleted");
    one.terminate().expect("it runs");
    let status = one.wait(Duration::from_secs(35)).expect("it ends in time");
    assert!(status.code().is_some(), "it ended by itself: {status}");
    assert_exact(&scene, &sent, &["one"]);
}

/// fede1024/rust-rdkafka#509, #517 (P20): the brokers are frozen while partitions change hands, and
/// while a store is restored, and the process is told to stop.
#[test]
fn stops_amid_a_rebalance_and_a_restore() {
    let broker = own_broker();
    let scene = scene_on(&broker, "stops", SceneOptions::default());
    let node = broker.node(1).expect("the node");
    let feeder = Feeder::start(&scene, sample(109, Kind::Lab, ENOUGH));
    let mut one = scene.start("one").expect("started");
    await_readyz(&scene, "one", 200, "ready");
    let mut two = scene.start("two").expect("started");
    await_log(&scene, "one", "partitions revoked", 1, SOON);
    let sent = feeder.stop();
    frozen_stop(node, &mut one);
    one = scene.start("one").expect("started again");
    rest(&scene, &["one", "two"]);
    end(&mut two);
    rest(&scene, &["one"]);
    end(&mut one);
    std::fs::remove_dir_all(scene.state_dir("one").join("stores")).expect("the stores are gone");
    let restored = scene.log("one").matches("restoring from the journal").count();
    one = scene.start("one").expect("started again");
    await_log(&scene, "one", "restoring from the journal", restored + 1, SOON);
    frozen_stop(node, &mut one);
    one = scene.start("one").expect("started again");
    rest(&scene, &["one"]);
    assert_exact(&scene, &sent, &["one", "two"]);
    end(&mut one);
    // Partitions that are still the second one's have their level store there.
    assert_agreement(&scene, &sent, &["one", "two"]);
}

/// Tells a process to stop while its broker is frozen, and thaws the broker once it has.
fn frozen_stop(node: &Node, process: &mut Process) {
    node.freeze().expect("frozen");
    process.terminate().expect("it runs");
    let status = process.wait(Duration::from_secs(35)).expect("it ends in time");
    node.thaw().expect("thawed");
    assert!(status.code().is_some(), "it ended by itself: {status}");
}
