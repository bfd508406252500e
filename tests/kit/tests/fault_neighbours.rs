//! Faults of what stands beside a process: another of its name, another deployment, rights that
//! are missing, a clock that is set back. Each asserts what readers of the clean topic saw.
//! Must not be in here: faults of brokers (`faults`), stores or logs.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{
    Feeder, SOON, assert_agreement, assert_exact, await_log, await_readyz, broker, end, logs, rest,
    sample, unique,
};
use oncegate_testkit::broker::{Broker, BrokerOptions};
use oncegate_testkit::generator::{Kind, Sent};
use oncegate_testkit::process::Process;
use oncegate_testkit::produce::{Timestamps, produce};
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::topics::{Admin, Operation};
use oncegate_testkit::wait::wait_until;

fn scene(name: &str, options: SceneOptions) -> Scene {
    Scene::new(broker(), &unique(name), options).expect("a scene")
}

fn send(scene: &Scene, sent: &[Sent]) {
    produce(&scene.bootstrap, &scene.raw(), sent, Timestamps::EventTime).expect("produced");
}

/// A copied state directory, or an id given twice: each fences the other, and one gives up.
#[test]
fn second_process_with_the_same_instance_id() {
    let scene = scene("twins", SceneOptions::default());
    let feeder = Feeder::start(&scene, sample(121, Kind::Lab, 900_000));
    let start = |process: &str| {
        let mut options = scene.process_options(process, "gate.toml");
        options.arguments.extend(["--instance", "twin"].map(Into::into));
        Process::start(&options).expect("started")
    };
    let mut one = start("one");
    await_log(&scene, "one", "taken over", 4, SOON);
    let mut two = start("two");
    wait_until(SOON * 3, "one of the two has given up", || !one.is_running() || !two.is_running())
        .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one", "two"])));
    let (gone, mut left, left_name) = match one.is_running() {
        true => (&mut two, one, "one"),
        false => (&mut one, two, "two"),
    };
    assert_eq!(gone.wait(SOON).expect("ended").code(), Some(1));
    let said = gone.log_text();
    assert!(said.contains("a second process runs under the same instance id"), "{said}");
    assert!(said.contains("was away for longer than its session time-out"), "both: {said}");
    // The other may have been fenced in the same moment.
    if !left.is_running() {
        left = start(left_name);
    }
    let sent = feeder.stop();
    rest(&scene, &["one", "two"]);
    await_readyz(&scene, left_name, 200, "ready");
    assert_exact(&scene, &sent, &["one", "two"]);
    end(&mut left);
    assert_agreement(&scene, &sent, &["one", "two"]);
}

/// Another group, with a journal of its own, is pointed at a clean topic that is in use.
#[test]
fn two_groups_on_one_clean_topic_are_refused() {
    let first = scene("owner", SceneOptions::default());
    let sent = sample(122, Kind::Lab, 6_000);
    send(&first, &sent);
    let mut one = first.start("one").expect("started");
    rest(&first, &["one"]);
    let options = SceneOptions { raw: Some(first.raw()), ..SceneOptions::default() };
    let second = scene("stranger", options);
    let config = second.dir.path().join("gate.toml");
    let text = std::fs::read_to_string(&config).expect("the configuration");
    let text = text.replace(&second.clean(), &first.clean());
    std::fs::write(&config, text).expect("written");
    let declared = second.dir.path().join(format!("topics/{}.toml", second.clean()));
    std::fs::remove_file(declared).expect("removed");
    let mut two = second.start("two").expect("started");
    for partition in 0..4 {
        await_readyz(
            &second,
            "two",
            503,
            &format!("partition {partition}: refused (clean-not-empty"),
        );
    }
    end(&mut two);
    assert_exact(&first, &sent, &["one"]);
    end(&mut one);
    assert_agreement(&first, &sent, &["one"]);
}

/// The row "ACL missing for one topic", here the right to write to clean, taken away under way. (At
/// the start `check` tells it: tests/security.rs.)
#[test]
fn acl_missing_for_one_topic() {
    let options = BrokerOptions { faults: true, ..BrokerOptions::default() }
        .property(
            "authorizer.class.name",
            "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        )
        .property("allow.everyone.if.no.acl.found", true);
    let broker = Broker::start(options).expect("a broker with an authorizer");
    let scene = Scene::new(&broker, &unique("acl"), SceneOptions::default()).expect("a scene");
    let admin = Admin::new(&scene.bootstrap).expect("an admin client");
    let sent = sample(123, Kind::Lab, 6_000);
    let mut one = scene.start("one").expect("started");
    await_readyz(&scene, "one", 200, "ready");
    // With the first rule of a topic, what it does not allow is forbidden.
    let seen = [Operation::Describe, Operation::DescribeConfigs, Operation::Read];
    admin.allow(&scene.clean(), &seen).expect("allowed");
    send(&scene, &sent);
    let body = await_readyz(&scene, "one", 503, "Topic authorization failed");
    assert!(body.contains("clean"), "it names what may not be written: {body}");
    assert!(one.is_running(), "{}", one.end_of_log());
    let clean = oncegate_testkit::reader::read_topic(&scene.bootstrap, &scene.clean());
    assert_eq!(clean.expect("the clean topic").iter().flatten().count(), 0);
    admin.allow(&scene.clean(), &[Operation::Write]).expect("allowed");
    rest(&scene, &["one"]);
    await_readyz(&scene, "one", 200, "ready");
    assert_exact(&scene, &sent, &["one"]);
    end(&mut one);
    assert_agreement(&scene, &sent, &["one"]);
}

/// Builds what shifts the wall clock of a process by the seconds that a file holds.
fn clock_shifter(folder: &Path) -> PathBuf {
    const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shift_clock.c");
    let library = folder.join("shift_clock.so");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .args([SOURCE, "-ldl"])
        .output()
        .expect("a C compiler, which the build of the client needs too");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    library
}

/// The wall clock of the process is set back by a day under load. The Kafka client waits by that
/// clock, so it may stand still for as long: then `/readyz` says so, and a restart cures it.
#[test]
fn clock_of_the_machine_set_back() {
    const DAY_S: i64 = 86_400;
    let window = "window = \"400d\"\nretry_horizon = \"1d\"\nmax_future = \"1h\"\n\
                  arrival = \"create-time\"\n";
    let options = SceneOptions { route_lines: window.to_owned(), ..SceneOptions::default() };
    let scene = scene("clock", options);
    let (shift, library) = (scene.dir.path().join("shift"), clock_shifter(scene.dir.path()));
    std::fs::write(&shift, "0").expect("written");
    let feeder = Feeder::start(&scene, sample(124, Kind::Lab, 900_000));
    let options = (scene.process_options("one", "gate.toml"))
        .variable("LD_PRELOAD", &library)
        .variable("SHIFT_CLOCK_FILE", &shift);
    let mut one = Process::start(&options).expect("started");
    let open = scene.open_transactions().expect("watchers");
    common::await_transaction(&scene, &open, &["one"]);
    // Replaced whole, so that no half of it is read.
    let next = scene.dir.path().join("next");
    std::fs::write(&next, (-DAY_S).to_string()).expect("written");
    std::fs::rename(&next, &shift).expect("renamed");
    let decided = || {
        let ends = oncegate_testkit::reader::watermarks(&scene.bootstrap, &scene.journal());
        ends.expect("ends").iter().map(|(_, end)| end).sum::<i64>()
    };
    let before = decided();
    let stands = || scene.get("one", "/readyz").is_ok_and(|(_, body)| body.contains("not moved"));
    // Some transactions beyond the one that was under way.
    wait_until(SOON, "it goes on, or says that it stands", || stands() || decided() > before + 100)
        .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one"])));
    let sent = feeder.stop();
    assert!(sent.len() < 900_000, "the fault came while records still came");
    one.kill9().expect("killed");
    let mut one = Process::start(&options).expect("started on the same clock");
    rest(&scene, &["one"]);
    await_readyz(&scene, "one", 200, "ready");
    assert_exact(&scene, &sent, &["one"]);
    end(&mut one);
    assert_agreement(&scene, &sent, &["one"]);
}
