//! The act of adopting: a person goes on where the logs contradict each other. What is known stays
//! known, name and reason stand in the journal, and the answer says what can no longer be proven.
//! Must not be in here: the refusals themselves (`refusals`, `tails`, `fault_logs`).

mod common;

use common::{act, assert_exact, await_readyz, broker, end, entries, rest, sample, unique};
use oncegate::journal::pb::EntryKind;
use oncegate_testkit::generator::{Kind, Sent};
use oncegate_testkit::produce::{Timestamps, produce};
use oncegate_testkit::reader::read_topic;
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::topics::{Admin, TopicSpec};
use oncegate_testkit::wait::wait_until;
use std::time::Duration;

/// A scene with one partition, whose gate let the first half of a sample through and ended.
fn served(name: &str, seed: u64) -> (Scene, Vec<Sent>) {
    let options = SceneOptions { partitions: 1, ..SceneOptions::default() };
    let scene = Scene::new(broker(), &unique(name), options).expect("a scene");
    let mut sent = sample(seed, Kind::Lab, 4_000);
    sent.iter_mut().for_each(|one| one.partition = 0);
    send(&scene, &sent[..2_000]);
    serve(&scene);
    (scene, sent)
}

fn send(scene: &Scene, sent: &[Sent]) {
    produce(&scene.bootstrap, &scene.raw(), sent, Timestamps::EventTime).expect("produced");
}

fn serve(scene: &Scene) {
    let mut one = scene.start("one").expect("started");
    rest(scene, &["one"]);
    await_readyz(scene, "one", 200, "ready");
    end(&mut one);
}

fn assert_refused(scene: &Scene, cause: &str) {
    let mut one = scene.start("one").expect("started");
    await_readyz(scene, "one", 503, &format!("partition 0: refused ({cause}: "));
    end(&mut one);
}

fn recreate(scene: &Scene, topic: &str) {
    let admin = Admin::new(&scene.bootstrap).expect("an admin client");
    admin.delete(&[topic]).expect("deleted");
    let stamp = if topic == scene.journal() { "LogAppendTime" } else { "CreateTime" };
    let spec = TopicSpec::new(topic, 1)
        .config("retention.ms", -1)
        .config("retention.bytes", -1)
        .config("cleanup.policy", "delete")
        .config("message.timestamp.type", stamp)
        .config("max.message.bytes", if topic == scene.raw() { 1_048_588 } else { 1_100_000 });
    admin.create(&[spec]).expect("created");
}

/// The adoption stands in the journal, by cause, name and reason.
fn assert_journaled(scene: &Scene, cause: &str, at: i64) {
    let entries = entries(scene, 0);
    let adopt = |kind: i32| kind == i32::from(EntryKind::Adopt);
    let entry = entries.iter().find(|entry| adopt(entry.header.kind)).expect("an adoption");
    let header = &entry.header;
    let act = header.act.as_ref().expect("an act");
    assert_eq!((header.from, header.to, header.epoch), (at, at, 1));
    let said = (act.cause.as_str(), act.by.as_str(), act.reason.as_str());
    assert_eq!(said, (cause, "J. Roe", "retention"));
    assert_eq!(entries.last().map(|last| last.header.epoch), Some(1), "later ones are of it");
}

#[test]
fn a_raw_topic_that_was_created_again_is_adopted_with_all_that_is_known() {
    let (scene, sent) = served("adopt-raw", 141);
    let (well, said) = act(&scene, "adopt", &["--at", "0"]);
    assert!(!well && said.contains("there is nothing to adopt"), "{said}");
    recreate(&scene, &scene.raw());
    // The upstream sends all once more, and goes on.
    send(&scene, &sent);
    assert_refused(&scene, "raw-recreated");
    let (well, said) = act(&scene, "adopt", &["--at", "4001"]);
    assert!(!well && said.contains("must lie within it"), "{said}");
    let (well, said) = act(&scene, "adopt", &["--at", "0"]);
    assert!(well && said.contains("goes on at 0, in epoch 1"), "{said}");
    assert!(said.contains("can no longer be proven"), "{said}");
    serve(&scene);
    assert_exact(&scene, &sent, &["one"]);
    assert_journaled(&scene, "raw-recreated", 0);
    // Also a store that is built anew knows it all.
    std::fs::remove_dir_all(scene.state_dir("one").join("stores")).expect("removed");
    send(&scene, &sent);
    serve(&scene);
    let twice = [&sent[..], &sent].concat();
    assert_exact(&scene, &twice, &["one"]);
    for command in ["verify", "reconcile"] {
        let (well, said) = scene.command(&[command, "route"]).expect("it runs");
        assert!(well, "{command}: {said}");
    }
}

#[test]
fn a_journal_that_is_gone_is_adopted_as_a_beginning() {
    let (scene, sent) = served("adopt-journal", 142);
    recreate(&scene, &scene.journal());
    let admin = Admin::new(&scene.bootstrap).expect("an admin client");
    wait_until(Duration::from_secs(30), "the group is empty and was deleted", || {
        admin.delete_group(&scene.group()).is_ok()
    })
    .expect("deleted");
    std::fs::remove_dir_all(scene.state_dir("one")).expect("removed");
    assert_refused(&scene, "clean-not-empty");
    let (well, said) = act(&scene, "adopt", &["--at", "2000"]);
    assert!(well && said.contains("does not pass once more"), "{said}");
    assert_journaled(&scene, "clean-not-empty", 2_000);
    let fresh: Vec<Sent> = (sent[2_000..].iter())
        .filter(|one| one.first_of().is_some())
        .filter(|one| sent[..2_000].iter().all(|old| old.first_of() != one.first_of()))
        .cloned()
        .collect();
    send(&scene, &fresh);
    serve(&scene);
    let all = [&sent[..2_000], &fresh].concat();
    assert_exact(&scene, &all, &["one"]);
    // It proves nothing of the time before: `verify` says so.
    let (well, said) = scene.command(&["verify", "route"]).expect("it runs");
    assert!(!well && said.contains("without-entry"), "{said}");
}

#[test]
fn a_clean_topic_that_was_created_again_is_adopted_without_passing_anything_again() {
    let (scene, sent) = served("adopt-clean", 143);
    recreate(&scene, &scene.clean());
    assert_refused(&scene, "clean-tail-lost");
    let (well, said) = act(&scene, "adopt", &["--at", "2000"]);
    assert!(well && said.contains("stands in clean"), "{said}");
    assert_journaled(&scene, "clean-tail-lost", 2_000);
    send(&scene, &sent);
    serve(&scene);
    let clean = read_topic(&scene.bootstrap, &scene.clean()).expect("the clean topic");
    let passed_before = sent[..2_000].iter().filter(|one| one.first_of().is_some()).count();
    let found = scene.compare(&sent).expect("the clean topic");
    assert_eq!((found.twice, found.out_of_order, found.altered), (0, 0, 0), "{found}");
    assert_eq!(clean[0].len(), found.distinct - passed_before, "only what is new: {found}");
    assert_eq!(found.missing, passed_before, "{found}");
}

/// What must not be overruled.
#[test]
fn another_recipe_is_not_adopted() {
    let (scene, _) = served("adopt-recipe", 144);
    let config = scene.dir.path().join("gate.toml");
    let text = std::fs::read_to_string(&config).expect("the configuration");
    let recipe = "recipe = \"inventory-batch\"";
    assert!(text.contains("recipe = \"lab-result\""), "{text}");
    std::fs::write(&config, text.replace("recipe = \"lab-result\"", recipe)).expect("written");
    let (well, said) = act(&scene, "adopt", &["--at", "2000"]);
    assert!(!well && said.contains("the partition is refused: other-recipe"), "{said}");
}
