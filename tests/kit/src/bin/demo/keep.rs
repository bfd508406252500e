//! After the count, where it is asked for: both processes run again and events keep coming, so that
//! status and metrics can be looked at. Must not be in here: anything that is counted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use oncegate_testkit::Result;
use oncegate_testkit::generator::{Kind, Sample, SampleOptions};
use oncegate_testkit::produce::{PlainProducer, Timestamps};
use oncegate_testkit::signals::wait_for_signal;

use crate::PARTITIONS;
use crate::gate::Gate;
use crate::progress::Progress;
use crate::stage::Stage;

/// Records of each kind in a round, and how long it takes.
const ROUND: usize = 500;
const ROUND_TIME: Duration = Duration::from_secs(1);
/// Apart from the seeds of the counted sample.
const FIRST_SEED: u64 = 1 << 32;

/// Runs until a signal comes.
pub fn until_signal(stage: &Stage, gate: &Gate, progress: &Progress) -> Result<()> {
    let mut one = gate.start("one")?;
    let mut two = gate.start("two")?;
    gate.wait_ready(&mut one)?;
    gate.wait_ready(&mut two)?;
    for member in [&one, &two] {
        let address = member.address().unwrap_or_default();
        println!(
            "demo: keeps running: http://{address}/ http://{address}/status http://{address}/metrics"
        );
    }
    println!("demo: keeps running: broker {}; end it with Ctrl-C", stage.bootstrap);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let feeder = scope.spawn(|| feed(stage, &over));
        let waited = wait_for_signal();
        over.store(true, Ordering::Relaxed);
        let fed = feeder.join().unwrap_or(Ok(()));
        waited.and(fed)
    })?;
    progress.say("ending both processes with SIGTERM".to_owned());
    one.end()?;
    two.end()
}

/// Sends a small sample a second, each of another seed.
fn feed(stage: &Stage, over: &AtomicBool) -> Result<()> {
    let producer = PlainProducer::new(&stage.bootstrap)?;
    for seed in FIRST_SEED.. {
        let due = Instant::now() + ROUND_TIME;
        for kind in Kind::ALL {
            let options = SampleOptions {
                seed,
                records: ROUND,
                kinds: vec![kind],
                partitions: PARTITIONS,
                ..SampleOptions::default()
            };
            let sent = Sample::new(options)?.sent(kind);
            producer.send(&stage.raw(kind), &sent, Timestamps::EventTime)?;
        }
        if over.load(Ordering::Relaxed) {
            break;
        }
        // A pace, not a guess: nothing is expected to have happened after it.
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(())
}
