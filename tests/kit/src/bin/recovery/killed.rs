//! `kill -9` of one of three processes, and a rolling deploy: how long the partitions of the
//! others stand still, beside a time in which nothing happens, and when those of the killed
//! process move again.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use oncegate_testkit::broker::{Broker, BrokerOptions};
use oncegate_testkit::chaos::{Feed, Watch};
use oncegate_testkit::generator::{Kind, Sample, SampleOptions};
use oncegate_testkit::process::Process;
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::wait::wait_for;
use oncegate_testkit::{KitError, Result};

use crate::spread;

const PROCESSES: [&str; 3] = ["one", "two", "three"];
const PARTITIONS: i32 = 6;
const RATE: u32 = 3_000;
const SESSION_MS: u64 = 6_000;
const TRANSACTION_MS: u64 = 10_000;
/// Session, transaction, the broker's scan of ten seconds, and some.
const WINDOW: Duration = Duration::from_secs(30);
const TIMEOUT: Duration = Duration::from_secs(120);
const END_TIMEOUT: Duration = Duration::from_secs(40);

/// Measures so many rounds of nothing, of a kill and of a deploy, in turns.
pub fn measure(rounds: usize) -> Result<String> {
    let broker = Broker::start(BrokerOptions::default())?;
    let options = SceneOptions {
        partitions: PARTITIONS,
        session_ms: SESSION_MS,
        transaction_ms: TRANSACTION_MS,
        ..SceneOptions::default()
    };
    let scene = Scene::new(&broker, "killed", options)?;
    let sample = Sample::new(SampleOptions {
        records: RATE as usize * (60 + 300 * rounds),
        kinds: vec![Kind::Lab],
        partitions: PARTITIONS,
        ..SampleOptions::default()
    })?;
    let watch = Watch::start(&scene.bootstrap, &scene.clean(), PARTITIONS)?;
    let feed = Feed::start(&scene.bootstrap, scene.raw(), sample, Kind::Lab, RATE);
    let mut processes: Vec<Process> =
        PROCESSES.iter().map(|name| scene.start(name)).collect::<Result<_>>()?;
    let (mut quiet, mut others, mut back) = (Vec::new(), Vec::new(), Vec::new());
    let (mut stayed, mut went) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let held = settle(&scene, &watch)?;
        let killed = round % PROCESSES.len();
        let of_others = |partition: &usize| !held[killed].contains(partition);
        // Nothing happens.
        let began = Instant::now();
        std::thread::sleep(WINDOW);
        quiet.push(longest(&watch, began, began + WINDOW, |_| true));
        // One is killed, and stays away.
        let began = Instant::now();
        processes[killed].kill9()?;
        std::thread::sleep(WINDOW);
        others.push(longest(&watch, began, began + WINDOW, of_others));
        let moved = wait_for(TIMEOUT, "the killed process's partitions move", || {
            let of = |partition: &usize| watch.moved(*partition, began + Duration::from_secs(1));
            held[killed].iter().map(of).collect::<Option<Vec<_>>>().ok_or_else(String::new)
        })?;
        back.extend(moved.into_iter().max().map(|moved| (moved - began).as_secs_f64()));
        processes[killed] = scene.start(PROCESSES[killed])?;
        // A deploy: each in turn, when the one before is ready.
        settle(&scene, &watch)?;
        for (process, name) in processes.iter_mut().zip(PROCESSES) {
            let held = held_by(&scene, name)?;
            let began = Instant::now();
            process.terminate()?;
            process.wait(END_TIMEOUT)?;
            *process = scene.start(name)?;
            scene.wait_readyz(name, 200, "ready")?;
            let moved = wait_for(TIMEOUT, "every partition moves", || {
                watch.all_moved(began + Duration::from_secs(1)).ok_or_else(String::new)
            })?;
            stayed.push(longest(&watch, began, moved, |partition| !held.contains(partition)));
            went.push(longest(&watch, began, moved, |partition| held.contains(partition)));
        }
    }
    let sent = feed.stop()?;
    scene.wait_until_through()?;
    for process in &mut processes {
        process.terminate()?;
        process.wait(END_TIMEOUT)?;
    }
    let compared = scene.compare(&sent)?;
    if !compared.is_exact() {
        return Err(KitError::new(format!("the clean topic is wrong: {compared}")));
    }
    let told = |what: &str, values: Vec<f64>| {
        let (least, median, most) = spread(values);
        println!("{what}: {least:.2}/{median:.2}/{most:.2} s (minimum/median/maximum)");
        median
    };
    let quiet = told("longest pause of a partition where nothing happens", quiet);
    let others = told("longest pause of the others' partitions after kill -9", others);
    let back = told("until all partitions of the killed process move again", back);
    let stayed = told("deploy: longest pause of partitions of the other processes", stayed);
    let went = told("deploy: longest pause of partitions of the process", went);
    Ok(format!(
        "quiet={quiet:.2} others={others:.2} back={back:.2} deploy_others={stayed:.2} deploy_own={went:.2}"
    ))
}

fn longest(watch: &Watch, from: Instant, to: Instant, of: impl Fn(&usize) -> bool) -> f64 {
    let pauses = watch.pauses(from, to);
    let chosen = pauses.iter().enumerate().filter(|(partition, _)| of(partition));
    chosen.map(|(_, pause)| pause.as_secs_f64()).fold(0.0, f64::max)
}

/// Waits until each process runs two partitions and all move; gives who has which.
fn settle(scene: &Scene, watch: &Watch) -> Result<Vec<BTreeSet<usize>>> {
    let held = wait_for(TIMEOUT, "each process runs two partitions", || {
        let held: Vec<BTreeSet<usize>> = PROCESSES
            .iter()
            .map(|name| held_by(scene, name))
            .collect::<Result<_>>()
            .map_err(|error| error.to_string())?;
        match held.iter().all(|held| held.len() == 2) {
            true => Ok(held),
            false => Err(format!("{held:?}")),
        }
    })?;
    let now = Instant::now();
    wait_for(TIMEOUT, "every partition moves", || watch.all_moved(now).ok_or_else(String::new))?;
    Ok(held)
}

/// The partitions that a process says it runs.
fn held_by(scene: &Scene, name: &str) -> Result<BTreeSet<usize>> {
    let (_, metrics) = scene.get(name, "/metrics")?;
    let runs = metrics.lines().filter(|line| {
        line.starts_with("oncegate_partition_state{")
            && line.contains("state=\"running\"")
            && line.ends_with(" 1")
    });
    let number = |line: &str| line.split("partition=\"").nth(1)?.split('"').next()?.parse().ok();
    Ok(runs.filter_map(number).collect())
}
