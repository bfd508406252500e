//! The acts of a person on a partition: going on behind records that nobody decided. Each is
//! refused where it has no ground, journaled by name and reason where it has, and proven by
//! `reconcile` and `verify` afterwards.

mod common;

use common::{act, broker, end, entries, logs, rest, sample, unique};
use oncegate::journal::pb::EntryKind;
use oncegate_testkit::generator::{Kind, Sent};
use oncegate_testkit::produce::{Timestamps, produce};
use oncegate_testkit::reader::read_topic;
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::topics::{Admin, GroupOffset};
use oncegate_testkit::wait::wait_until;
use std::collections::BTreeSet;
use std::time::Duration;

/// Distinct events, all of partition 0.
fn events(seed: u64, count: usize) -> Vec<Sent> {
    let mut sent = sample(seed, Kind::Lab, count * 2);
    sent.retain(|one| one.first_of().is_some());
    sent.truncate(count);
    sent.iter_mut().for_each(|one| one.partition = 0);
    sent
}

fn scene(name: &str) -> Scene {
    let options = SceneOptions { partitions: 1, ..SceneOptions::default() };
    Scene::new(broker(), &unique(name), options).expect("a scene")
}

fn send(scene: &Scene, sent: &[Sent]) {
    produce(&scene.bootstrap, &scene.raw(), sent, Timestamps::EventTime).expect("produced");
}

fn run(scene: &Scene) {
    let mut one = scene.start("one").expect("started");
    rest(scene, &["one"]);
    scene.wait_readyz("one", 200, "ready").expect("it runs");
    end(&mut one);
}

/// Offsets of the raw records whose events stand in clean.
fn passed(scene: &Scene) -> BTreeSet<i64> {
    let clean = read_topic(&scene.bootstrap, &scene.clean()).expect("the clean topic");
    let offset = |source: &str| source.rsplit('/').next().and_then(|offset| offset.parse().ok());
    (clean.iter().flatten())
        .filter_map(|record| offset(record.header("oncegate-source")?))
        .collect()
}

fn assert_proven(scene: &Scene) {
    for command in ["reconcile", "verify"] {
        let (well, said) = scene.command(&[command, "route"]).expect("it runs");
        assert!(well, "{command}: {said}");
    }
}

#[test]
fn raw_head_deleted_past_the_committed_offset_is_a_gap_that_a_person_accepts() {
    let (scene, sent) = (scene("gap"), events(71, 160));
    send(&scene, &sent[..100]);
    run(&scene);
    let (well, said) = act(&scene, "accept-gap", &[]);
    assert!(!well && said.contains("there is no gap"), "{said}");
    send(&scene, &sent[100..]);
    let admin = Admin::new(&scene.bootstrap).expect("an admin client");
    admin.delete_records(&scene.raw(), 0, 120).expect("deleted");
    let mut one = scene.start("one").expect("started");
    scene
        .wait_readyz("one", 503, "refused (raw-head-deleted: ")
        .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one"])));
    end(&mut one);
    assert_eq!(passed(&scene), (0..100).collect());

    let (well, said) = act(&scene, "accept-gap", &[]);
    assert!(well && said.contains("goes on at 120; [100, 120) stays undecided"), "{said}");
    run(&scene);
    assert_eq!(passed(&scene), (0..100).chain(120..160).collect());
    let entries = entries(&scene, 0);
    let gap = entries.iter().find(|entry| entry.header.kind == i32::from(EntryKind::Gap));
    let header = &gap.expect("a gap in the journal").header;
    assert_eq!((header.from, header.to), (100, 120));
    assert_eq!(header.act.as_ref().map(|act| act.by.as_str()), Some("J. Roe"));
    assert_proven(&scene);
}

#[test]
fn skipped_records_stay_undecided_and_are_decided_when_they_are_read_after_all() {
    let (scene, sent) = (scene("skip"), events(72, 60));
    send(&scene, &sent[..40]);
    run(&scene);
    send(&scene, &sent[40..]);
    for (to, why) in [("40", "must lie behind"), ("10", "must lie behind"), ("61", "must lie")] {
        let (well, said) = act(&scene, "skip", &["--to", to]);
        assert!(!well && said.contains(why), "{said}");
    }
    let (well, said) = act(&scene, "skip", &["--to", "45"]);
    assert!(well && said.contains("[40, 45) stays undecided"), "{said}");
    run(&scene);
    assert_eq!(passed(&scene), (0..40).chain(45..60).collect());
    assert_proven(&scene);

    let offsets =
        [GroupOffset { topic: scene.raw(), partition: 0, offset: 30, metadata: String::new() }];
    let (admin, group) = (Admin::new(&scene.bootstrap).expect("an admin client"), scene.group());
    wait_until(Duration::from_secs(30), "the group has no members and takes offsets", || {
        admin.set_group_offsets(&group, &offsets).is_ok()
    })
    .expect("rewound");
    let (well, said) = act(&scene, "skip", &["--to", "50"]);
    assert!(!well && said.contains("finish the replay first"), "{said}");
    run(&scene);
    assert_eq!(passed(&scene), (0..60).collect(), "what was skipped was new, the rest was not");
    let last = entries(&scene, 0).pop().expect("an entry").header;
    let totals = last.total_counts.expect("totals");
    let replayed = last.total_replay_counts.expect("totals");
    assert_eq!((totals.first, replayed.first, replayed.duplicate), (60, 0, 25));
    assert_proven(&scene);
}
