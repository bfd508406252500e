//! Chaos: three brokers and three processes of the gate under load, faults at random from a seed,
//! and at the end the clean topic against what was sent.
//!
//! The gate reaches the brokers through proxies only; the load and all looks go past them. The
//! order of events is here; how each is done, in the modules. Nothing here derives a key.

mod act;
mod fault;
mod feed;
mod judge;
mod proxy;
mod report;
mod stage;
mod watch;

use std::time::{Duration, Instant};

pub use fault::{Fault, ROUND};
pub use feed::Feed;
pub use report::{Done, Outcome};
pub use watch::Watch;

use crate::error::{KitError, Result};
use crate::generator::{Kind, Sample, SampleOptions};
use fault::Plan;
use stage::{PARTITIONS, Stage};

/// How long after a fault every partition must have moved again.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(120);

/// Which faults a run has.
pub enum Course {
    /// At random, until the time is over.
    Random(Duration),
    /// At random, so many.
    Count(usize),
    /// These, in order.
    Fixed(Vec<Fault>),
}

/// What a run is made of.
pub struct ChaosOptions {
    /// The same seed has the same faults in the same order.
    pub seed: u64,
    /// Which.
    pub course: Course,
    /// The kinds of those at random.
    pub kinds: Vec<Fault>,
    /// Records a second.
    pub rate: u32,
    /// Leave logs and state of the processes where they are, also where all went well.
    pub keep: bool,
}

/// Plays a run; `say` gets a line for each fault.
///
/// # Errors
/// [`KitError`] where the stage cannot be set, a fault cannot be done, or the gate does not
/// recover from one.
pub fn run(options: &ChaosOptions, say: &mut dyn FnMut(String)) -> Result<Outcome> {
    let mut stage = Stage::set()?;
    let played = play(options, &mut stage, say);
    if options.keep || !played.as_ref().is_ok_and(Outcome::is_exact) {
        say(format!("logs and state are in {}", stage.keep().display()));
    }
    played
}

fn play(options: &ChaosOptions, stage: &mut Stage, say: &mut dyn FnMut(String)) -> Result<Outcome> {
    let scene = &stage.scene;
    let watch = Watch::start(&scene.bootstrap, &scene.clean(), PARTITIONS)?;
    let feed =
        Feed::start(&scene.bootstrap, scene.raw(), sample(options)?, Kind::Lab, options.rate);
    let mut plan = Plan::new(options.seed, &options.kinds);
    let mut faults: Vec<Under> = Vec::new();
    let began = Instant::now();
    recovered(stage, &watch, began)?;
    say(format!("{:6.1} s  all partitions move", began.elapsed().as_secs_f64()));
    while let Some(fault) = options.course.next(faults.len(), began, &mut plan) {
        let at = Instant::now();
        let what =
            act::act(fault, stage, &mut plan).map_err(|error| failed(fault, &error, stage))?;
        faults.push(Under { fault, at, gone: Instant::now() });
        say(format!("{:6.1} s  {:<15} {what}", began.elapsed().as_secs_f64(), fault.name()));
        // Some faults meet a gate at rest, some one that is still busy with the last.
        if plan.one_of(3) > 0 {
            recovered(stage, &watch, Instant::now())
                .map_err(|error| failed(fault, &error, stage))?;
        }
        std::thread::sleep(plan.millis(0, 1_000));
    }
    recovered(stage, &watch, Instant::now())?;
    let faults = faults.iter().filter_map(|under| under.done(&watch)).collect();
    let sent = feed.stop()?;
    let (compared, evidence) = judge::judge(stage, &sent)?;
    Ok(Outcome { seed: options.seed, faults, compared, evidence, exits: stage.exits() })
}

/// A fault that was done.
struct Under {
    fault: Fault,
    at: Instant,
    /// When its cause was gone.
    gone: Instant,
}

impl Under {
    /// What it cost; none where the partitions have not all moved since.
    fn done(&self, watch: &Watch) -> Option<Done> {
        let moved = watch.all_moved(self.gone)?;
        let (recovery, pause) = (moved - self.gone, watch.longest_pause(self.at, moved));
        Some(Done { fault: self.fault, recovery, pause })
    }
}

impl Course {
    fn next(&self, done: usize, began: Instant, plan: &mut Plan) -> Option<Fault> {
        match self {
            Course::Random(time) => (began.elapsed() < *time).then(|| plan.next()),
            Course::Count(count) => (done < *count).then(|| plan.next()),
            Course::Fixed(faults) => faults.get(done).copied(),
        }
    }
}

fn failed(fault: Fault, error: &KitError, stage: &Stage) -> KitError {
    KitError::new(format!("{}: {error}\n{}", fault.name(), stage.ends_of_logs()))
}

/// Waits until records of every partition came after `since`, and gives when they had.
fn recovered(stage: &mut Stage, watch: &Watch, since: Instant) -> Result<Instant> {
    crate::wait::wait_for(RECOVERY_TIMEOUT, "every partition moves again", || {
        stage.tend().map_err(|error| error.to_string())?;
        watch.all_moved(since).ok_or_else(|| format!("{:?} stand", watch.standing(since)))
    })
}

fn sample(options: &ChaosOptions) -> Result<Sample> {
    let seconds = match &options.course {
        Course::Random(time) => time.as_secs() + 300,
        Course::Count(faults) => 60 * (*faults as u64 + 5),
        Course::Fixed(faults) => 60 * (faults.len() as u64 + 5),
    };
    Sample::new(SampleOptions {
        seed: options.seed,
        records: (seconds * u64::from(options.rate)) as usize,
        kinds: vec![Kind::Lab],
        partitions: PARTITIONS,
        ..SampleOptions::default()
    })
}
