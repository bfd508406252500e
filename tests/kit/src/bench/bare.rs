//! The bare exactly-once pipe: consume, produce unchanged, send offsets, commit. A thread a worker,
//! over the clients that a worker of oncegate would have, with the very same settings and batch
//! size, and as fast as they go: each record is sent on as it is polled. No gate, no store, no
//! journal, and no word on what becomes of a worker that loses a partition: the pipe then ends.

mod deliveries;
mod membership;
mod pipe;

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use oncegate::check::check;
use oncegate::settings::{Overrides, Settings};

use crate::error::{Doing, KitError, Result};
use membership::Settling;
use pipe::Pipe;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Copies the raw topic of the only route of a configuration to its clean topic, until killed.
pub fn run(config: &Path) -> Result<()> {
    let failed = || format!("the settings in {} are not sound", config.display());
    let settings = Settings::load(config, &Overrides::default()).doing(failed)?;
    let report = check(&settings, ANSWER_TIMEOUT).doing(failed)?;
    let (Some(route), Some(facts)) = (settings.routes.first(), report.routes.first()) else {
        return Err(KitError::new(failed()));
    };
    let settling = Arc::new(Settling::new(route.workers, facts.raw_partitions as usize));
    let mut pipes = Vec::new();
    for worker in 0..route.workers {
        pipes.push(Pipe::new(&settings.kafka, route, facts, (worker, &settling))?);
    }
    // The first worker that fails ends them all: a half-fed copy measures nothing.
    let (told, first_failure) = mpsc::channel();
    for pipe in pipes {
        let told = told.clone();
        thread::spawn(move || told.send(pipe.run()));
    }
    drop(told);
    first_failure.recv().unwrap_or_else(|_| Err(KitError::new("the workers are gone")))
}
