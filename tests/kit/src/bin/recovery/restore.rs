//! A process whose stores are gone: how fast they are built from the journal, and in how much
//! memory.

use std::fs;
use std::time::{Duration, Instant};

use oncegate_testkit::broker::{Broker, BrokerOptions};
use oncegate_testkit::error::Doing;
use oncegate_testkit::generator::{Kind, Sample, SampleOptions, Sent};
use oncegate_testkit::process::Process;
use oncegate_testkit::produce::{Timestamps, produce};
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::wait::wait_closely;
use oncegate_testkit::{KitError, Result};

use crate::spread;

const PARTITIONS: i32 = 4;
const AT_ONCE: usize = 50_000;
const TIMEOUT: Duration = Duration::from_secs(600);
const END_TIMEOUT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(10);

/// Lets so many events through, and measures so many restores.
pub fn measure(sightings: usize, rounds: usize) -> Result<String> {
    let broker = Broker::start(BrokerOptions::default())?;
    let options = SceneOptions {
        partitions: PARTITIONS,
        batch_records: 10_000,
        batch_wait_ms: 50,
        transaction_ms: 30_000,
        store_memory: "256MiB".to_owned(),
        ..SceneOptions::default()
    };
    let scene = Scene::new(&broker, "restore", options)?;
    let sample = Sample::new(SampleOptions {
        records: sightings,
        kinds: vec![Kind::Lab],
        partitions: PARTITIONS,
        again_share: 0.0,
        broken_share: 0.0,
        ..SampleOptions::default()
    })?;
    let mut stream = sample.stream(Kind::Lab);
    loop {
        let some: Vec<Sent> = stream.by_ref().take(AT_ONCE).collect();
        if some.is_empty() {
            break;
        }
        produce(&scene.bootstrap, &scene.raw(), &some, Timestamps::EventTime)?;
    }
    let mut process = scene.start("gate")?;
    wait_closely(TIMEOUT, Duration::from_millis(500), "all is let through", || {
        scene.wait_until_through().map_err(|error| error.to_string())
    })?;
    end(&mut process)?;
    let (mut rates, mut memory) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let stores = scene.state_dir("gate").join("stores");
        fs::remove_dir_all(&stores).doing(|| format!("cannot delete {}", stores.display()))?;
        let before = scene.log("gate").len();
        let mut process = scene.start("gate")?;
        let restored = |told: &str| told.matches(" sightings=").count();
        let mut resident_kb = 0;
        let mut first = None;
        let began = Instant::now();
        let seconds = wait_closely(TIMEOUT, LOOK, "every partition is taken over", || {
            resident_kb = resident_kb.max(resident(process.id()));
            let log = scene.log("gate");
            let told = log.get(before..).unwrap_or_default();
            if told.contains("restoring from the journal") {
                first.get_or_insert_with(Instant::now);
            }
            match restored(told) as i32 {
                PARTITIONS => Ok(first.unwrap_or(began).elapsed().as_secs_f64()),
                some => Err(format!("{some} of {PARTITIONS}")),
            }
        })?;
        rates.push(sightings as f64 / seconds);
        memory.push(resident_kb as f64 / 1024.0);
        end(&mut process)?;
    }
    let ((a, b, c), (_, _, most)) = (spread(rates), spread(memory));
    println!(
        "restore of {sightings} sightings of {PARTITIONS} partitions into empty stores: \
         {a:.0}/{b:.0}/{c:.0} a second (minimum/median/maximum), at most {most:.0} MiB resident"
    );
    Ok(format!("restore={b:.0} restore_mib={most:.0}"))
}

fn end(process: &mut Process) -> Result<()> {
    process.terminate()?;
    match process.wait(END_TIMEOUT)?.success() {
        true => Ok(()),
        false => Err(KitError::new(format!("it did not end well; {}", process.end_of_log()))),
    }
}

/// Resident memory of a process, in kB; 0 once it has ended.
fn resident(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}
