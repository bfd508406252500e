//! A process that is ended in order and started again on its own state directory, on a machine
//! that has nothing else to do: from its start to the first committed record.

use std::time::{Duration, Instant};

use oncegate_testkit::broker::{Broker, BrokerOptions};
use oncegate_testkit::chaos::{Feed, Watch};
use oncegate_testkit::generator::{Kind, Sample, SampleOptions};
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::wait::wait_closely;
use oncegate_testkit::{KitError, Result};

use crate::spread;

const TIMEOUT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(5);
/// Few records, so that the load is none.
const RATE: u32 = 400;

/// Measures so many restarts.
pub fn measure(rounds: usize) -> Result<String> {
    let broker = Broker::start(BrokerOptions::default())?;
    let scene = Scene::new(&broker, "warm", SceneOptions::default())?;
    let partitions = scene.options.partitions;
    let sample = Sample::new(SampleOptions {
        records: RATE as usize * 60 * (rounds + 2),
        kinds: vec![Kind::Lab],
        partitions,
        ..SampleOptions::default()
    })?;
    let watch = Watch::start(&scene.bootstrap, &scene.clean(), partitions)?;
    let feed = Feed::start(&scene.bootstrap, scene.raw(), sample, Kind::Lab, RATE);
    let mut process = scene.start("gate")?;
    let began = Instant::now();
    moved(&watch, began)?;
    let (mut first, mut all) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        process.terminate()?;
        process.wait(TIMEOUT)?;
        let started = Instant::now();
        process = scene.start("gate")?;
        let any = wait_closely(TIMEOUT, LOOK, "a record is committed", || {
            let of = |partition| watch.moved(partition as usize, started);
            (0..partitions).filter_map(of).min().ok_or_else(String::new)
        })?;
        first.push((any - started).as_secs_f64());
        all.push((moved(&watch, started)? - started).as_secs_f64());
    }
    process.terminate()?;
    process.wait(TIMEOUT)?;
    drop(watch);
    let sent = feed.stop()?;
    let mut process = scene.start("gate")?;
    scene.wait_until_through()?;
    process.terminate()?;
    process.wait(TIMEOUT)?;
    let compared = scene.compare(&sent)?;
    if !compared.is_exact() {
        return Err(KitError::new(format!("the clean topic is wrong: {compared}")));
    }
    let ((a, b, c), (d, e, f)) = (spread(first), spread(all));
    println!(
        "warm restart, from the start of the process: first record after {a:.2}/{b:.2}/{c:.2} s, \
         every partition after {d:.2}/{e:.2}/{f:.2} s (minimum/median/maximum of {rounds})"
    );
    Ok(format!("warm_restart={b:.2}"))
}

fn moved(watch: &Watch, since: Instant) -> Result<Instant> {
    wait_closely(TIMEOUT, LOOK, "every partition moves", || {
        watch.all_moved(since).ok_or_else(|| format!("{:?} stand", watch.standing(since)))
    })
}
