//! The threads of the workers, and when the process has to end.
//! Must not be in here: how a worker's clients are made, or what it does.

use super::observer::Observer;
use super::worker::{Takeovers, Worker, WorkerExit};
use crate::kafka::broker::Broker;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A consumer that gives up again within this time has a cause that rejoining does not cure.
const REJOIN_WITHIN: Duration = Duration::from_secs(300);
/// Pause before a worker rejoins, so that a member of the same name can be told apart.
const REJOIN_PAUSE: Duration = Duration::from_secs(10);
/// View and figures are told this often, so that a loss of membership shows.
const PUBLISH_EVERY: Duration = Duration::from_secs(1);

/// Runs one worker until `stop`, and builds it anew where its consumer gave up: as often as
/// brokers were in trouble before, and once where they were not.
///
/// # Errors
/// Why it could not go on, for the operator.
pub fn run_worker<B, T, O>(
    name: &str,
    build: impl Fn() -> Result<Worker<B, T, O>, String>,
    stop: &AtomicBool,
) -> Result<(), String>
where
    B: Broker,
    T: Takeovers,
    O: Observer,
{
    let mut gave_up: Option<Instant> = None;
    loop {
        let mut worker = build()?;
        let exit = step_until(&mut worker, stop);
        worker.close();
        match exit {
            None => return Ok(()),
            Some(WorkerExit::ConsumerGaveUp { why, disturbed: true }) => {
                tracing::warn!(
                    worker = name,
                    "the consumer gave up ({why}) after trouble with brokers; rejoining"
                );
                pause(REJOIN_PAUSE, stop);
            }
            Some(WorkerExit::ConsumerGaveUp { why, disturbed: false }) => {
                let again = gave_up.is_some_and(|at| at.elapsed() < REJOIN_WITHIN);
                if again {
                    return Err(format!(
                        "worker {name}: its consumer gave up twice ({why}). Either a second process runs under the same instance id, or this one was away for longer than its session time-out: look for a copy of its state directory, then start it again."
                    ));
                }
                tracing::warn!(
                    worker = name,
                    "the consumer gave up ({why}): either a second process runs under the same instance id, or this one was away for longer than its session time-out; rejoining once"
                );
                gave_up = Some(Instant::now());
                pause(REJOIN_PAUSE, stop);
            }
            Some(exit @ WorkerExit::ProducersDied(..)) => {
                return Err(format!(
                    "worker {name}: {exit}. Either a second process runs under the same instance id, or transactions outlast their time-out."
                ));
            }
        }
    }
}

fn step_until<B, T, O>(worker: &mut Worker<B, T, O>, stop: &AtomicBool) -> Option<WorkerExit>
where
    B: Broker,
    T: Takeovers,
    O: Observer,
{
    let mut published = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        if let Err(exit) = worker.step() {
            return Some(exit);
        }
        if published.elapsed() >= PUBLISH_EVERY {
            published = Instant::now();
            worker.publish();
            worker.measure();
        }
    }
    None
}

fn pause(length: Duration, stop: &AtomicBool) {
    let until = Instant::now() + length;
    while Instant::now() < until && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(50));
    }
}
