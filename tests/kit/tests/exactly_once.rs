//! Exactly-once against a real broker: what readers of the clean topic saw, compared with what
//! the generator sent, and whether journal, offsets and stores agree afterwards.

mod common;

use std::time::Duration;

use common::{Feeder, assert_agreement, assert_exact, broker, end, logs, rest, sample, unique};
use oncegate_testkit::generator::{Kind, Sent};
use oncegate_testkit::process::Process;
use oncegate_testkit::produce::{Timestamps, TransactionOptions, produce, produce_transactional};
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::topics::{Admin, GroupOffset};
use oncegate_testkit::wait::wait_until;

fn scene(name: &str, options: SceneOptions) -> Scene {
    Scene::new(broker(), &unique(name), options).expect("a scene")
}

fn send(scene: &Scene, sent: &[Sent]) {
    produce(&scene.bootstrap, &scene.raw(), sent, Timestamps::EventTime).expect("produced");
}

/// Stops a process at a moment at which a transaction of its is open, and stays open.
fn catch_in_transaction(scene: &Scene, process: &mut Process, stop: fn(&mut Process)) {
    let open = scene.open_transactions().expect("watchers");
    wait_until(Duration::from_secs(60), "a transaction is open", || open.any().expect("ends"))
        .unwrap_or_else(|error| panic!("{error}\n{}", process.end_of_log()));
    stop(process);
}

#[test]
fn plain_run_over_every_kind() {
    for kind in Kind::ALL {
        let scene = scene("plain", SceneOptions { kind, workers: 2, ..SceneOptions::default() });
        let sent = sample(7, kind, 10_000);
        send(&scene, &sent);
        let mut one = scene.start("one").expect("started");
        rest(&scene, &["one"]);
        let found = assert_exact(&scene, &sent, &["one"]);
        assert!(found.again > 1000 && found.broken > 5, "the sample is no sample: {found}");
        end(&mut one);
        assert_agreement(&scene, &sent, &["one"]);
    }
}

/// (a)
#[test]
fn one_of_two_is_killed_in_a_transaction_and_restarted() {
    let scene = scene("killed", SceneOptions { batch_records: 2_000, ..SceneOptions::default() });
    let feeder = Feeder::start(&scene, sample(11, Kind::Lab, 600_000));
    let mut one = scene.start("one").expect("started");
    let mut two = scene.start("two").expect("started");
    for nth in 1..6 {
        let taken_over = || scene.log("one").matches("taken over").count();
        wait_until(Duration::from_secs(60), "the first process works", || taken_over() >= nth)
            .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one", "two"])));
        catch_in_transaction(&scene, &mut one, |process| {
            process.kill9().expect("killed");
        });
        one = scene.start("one").expect("started again");
    }
    let sent = feeder.stop();
    assert!(sent.len() < 600_000, "the faults were over while records still came");
    rest(&scene, &["one", "two"]);
    assert_exact(&scene, &sent, &["one", "two"]);
    // A partition that is still being taken over has a store that is not level yet.
    for process in ["one", "two"] {
        scene.wait_readyz(process, 200, "ready").expect("all partitions run");
    }
    end(&mut one);
    end(&mut two);
    assert_agreement(&scene, &sent, &["one", "two"]);
}

/// (b)
#[test]
fn the_state_directory_is_deleted_between_runs() {
    let options = SceneOptions { kind: Kind::Inventory, ..SceneOptions::default() };
    let scene = scene("deleted", options);
    let sent = sample(13, Kind::Inventory, 20_000);
    send(&scene, &sent[..12_000]);
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    one.kill9().expect("killed");
    std::fs::remove_dir_all(scene.state_dir("one")).expect("deleted");
    send(&scene, &sent[12_000..]);
    let mut one = scene.start("one").expect("started again");
    rest(&scene, &["one"]);
    assert_exact(&scene, &sent, &["one"]);
    end(&mut one);
    assert_agreement(&scene, &sent, &["one"]);
}

/// (c)
#[test]
fn the_group_is_rewound_to_the_beginning() {
    let scene = scene("rewound", SceneOptions { kind: Kind::Epcis, ..SceneOptions::default() });
    let sent = sample(17, Kind::Epcis, 20_000);
    send(&scene, &sent);
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    end(&mut one);
    let offsets: Vec<GroupOffset> = (0..scene.options.partitions)
        .map(|partition| GroupOffset {
            topic: scene.raw(),
            partition,
            offset: 0,
            metadata: String::new(),
        })
        .collect();
    let admin = Admin::new(&scene.bootstrap).expect("an admin client");
    let group = scene.group();
    wait_until(Duration::from_secs(30), "the group has no members and takes offsets", || {
        admin.set_group_offsets(&group, &offsets).is_ok()
    })
    .expect("rewound");
    let mut one = scene.start("one").expect("started again");
    rest(&scene, &["one"]);
    assert_exact(&scene, &sent, &["one"]);
    end(&mut one);
    assert_agreement(&scene, &sent, &["one"]);
    let replayed: u64 = (0..4)
        .map(|partition| common::entries(&scene, partition))
        .map(|entries| entries.last().unwrap().header.total_replay_counts.clone().unwrap().records)
        .sum();
    assert_eq!(replayed as usize, sent.len(), "every record was read again and counted apart");
}

/// (d)
#[test]
fn a_member_joins_and_leaves_under_load() {
    let scene = scene("joining", SceneOptions::default());
    let feeder = Feeder::start(&scene, sample(19, Kind::Lab, 900_000));
    let mut one = scene.start("one").expect("started");
    for _ in 0..2 {
        let mut two = scene.start("two").expect("started");
        let joined = format!("taken over route=\"route\" topic=\"{}\"", scene.raw());
        let before = scene.log("two").matches(&joined).count();
        wait_until(Duration::from_secs(60), "the second member has partitions", || {
            scene.log("two").matches(&joined).count() > before
        })
        .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one", "two"])));
        end(&mut two);
    }
    let sent = feeder.stop();
    rest(&scene, &["one", "two"]);
    assert_exact(&scene, &sent, &["one", "two"]);
    end(&mut one);
    assert_agreement(&scene, &sent, &["one", "two"]);
}

/// (e)
#[test]
fn a_process_is_stopped_in_a_transaction_past_all_time_outs_and_woken() {
    let options =
        SceneOptions { session_ms: 6_000, transaction_ms: 6_000, ..SceneOptions::default() };
    let scene = scene("stopped", options);
    let feeder = Feeder::start(&scene, sample(23, Kind::Lab, 600_000));
    let mut one = scene.start("one").expect("started");
    let open = scene.open_transactions().expect("watchers");
    loop {
        catch_in_transaction(&scene, &mut one, |process| process.freeze().expect("stopped"));
        // It may have been committed in the very moment of the stop.
        if open.any().expect("ends") {
            break;
        }
        one.thaw().expect("woken");
    }
    let mut two = scene.start("two").expect("started");
    let sent = feeder.stop();
    // The other takes all over, which waits for both time-outs, and does all the work.
    rest(&scene, &["one", "two"]);
    assert_exact(&scene, &sent, &["one", "two"]);
    one.thaw().expect("woken");
    // It is done with what it held when it is a member again or has given up.
    wait_until(Duration::from_secs(60), "the woken process has rejoined or ended", || {
        !one.is_running() || scene.log("one").matches("taken over").count() > 4
    })
    .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one", "two"])));
    rest(&scene, &["one", "two"]);
    assert_exact(&scene, &sent, &["one", "two"]);
    if one.is_running() {
        end(&mut one);
    }
    end(&mut two);
    assert_agreement(&scene, &sent, &["one", "two"]);
}

/// (f)
#[test]
fn a_partition_lost_with_a_half_collected_batch_and_got_back() {
    // The first process collects for 40 s before it sends; the second sends at once.
    let slow = SceneOptions {
        partitions: 1,
        batch_records: 100_000,
        batch_wait_ms: 40_000,
        session_ms: 6_000,
        ..SceneOptions::default()
    };
    let scene = scene("got-back", slow.clone());
    let quick = SceneOptions { batch_wait_ms: 20, batch_records: 500, ..slow };
    scene.write_config("quick.toml", &quick).expect("written");
    let options = oncegate_testkit::generator::SampleOptions {
        seed: 29,
        records: 3_000,
        kinds: vec![Kind::Lab],
        partitions: 1,
        ..Default::default()
    };
    let sent = oncegate_testkit::generator::Sample::new(options).expect("sound").sent(Kind::Lab);
    let mut one = scene.start("one").expect("started");
    wait_until(Duration::from_secs(30), "the first process runs", || {
        scene.log("one").contains("taken over")
    })
    .expect("running");
    send(&scene, &sent[..2_000]);
    let metrics = |process: &mut Process| process.log_text();
    wait_until(Duration::from_secs(30), "the first process collects", || {
        metrics(&mut one).contains("collecting")
    })
    .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one"])));
    one.freeze().expect("stopped");
    let mut two = scene.start_with("two", "quick.toml").expect("started");
    rest(&scene, &["one", "two"]);
    two.kill9().expect("killed");
    one.thaw().expect("woken");
    send(&scene, &sent[2_000..]);
    rest(&scene, &["one", "two"]);
    assert_exact(&scene, &sent, &["one", "two"]);
    assert!(scene.log("one").matches("taken over").count() > 1, "it was taken over once more");
    end(&mut one);
    assert_agreement(&scene, &sent, &["one", "two"]);
}

#[test]
fn raw_transactions_and_their_markers_are_passed() {
    let scene = scene("markers", SceneOptions::default());
    let sent = sample(31, Kind::Lab, 3_000);
    let transactions = TransactionOptions { id: unique("raw"), records: 50, abort_every: Some(4) };
    produce_transactional(
        &scene.bootstrap,
        &scene.raw(),
        &sent,
        Timestamps::EventTime,
        &transactions,
    )
    .expect("produced");
    let mut one = scene.start("one").expect("started");
    // Through means: the committed offset has reached the log's end, markers included.
    rest(&scene, &["one"]);
    assert_exact(&scene, &sent, &["one"]);
    end(&mut one);
    assert_agreement(&scene, &sent, &["one"]);
}
