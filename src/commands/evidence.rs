//! What the evidence commands share: settings, clients, progress, and the printing of a report.
//! Must not be in here: anything that is proven.

use super::{load, route_named};
use crate::cli::{EvidenceArgs, Outcome, RouteArgs};
use crate::evidence::{EvidenceError, Reading, RouteUnderProof, Source};
use crate::kafka::KafkaLogs;
use crate::settings::ClientProperties;
use serde::Serialize;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Between two lines of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Runs a command over the topics of a route.
pub fn of_route<R: Serialize + Display>(
    command: &str,
    args: &RouteArgs,
    prove: impl FnOnce(&mut Source<'_>, &RouteUnderProof) -> Result<R, EvidenceError>,
    is_sound: impl FnOnce(&R) -> bool,
) -> Outcome {
    let settings = match load(&args.config.config, &args.config.overrides()) {
        Ok(settings) => settings,
        Err(outcome) => return outcome,
    };
    let route = match route_named(&settings, &args.route) {
        Ok(route) => route,
        Err(outcome) => return outcome,
    };
    let route = RouteUnderProof::new(&settings.group, route);
    let (properties, group) = (&settings.kafka, route.group.clone());
    with_source(
        command,
        &args.evidence,
        properties,
        &group,
        |source| prove(source, &route),
        is_sound,
    )
}

/// Runs a command over the logs of a cluster.
pub fn with_source<R: Serialize + Display>(
    command: &str,
    args: &EvidenceArgs,
    properties: &ClientProperties,
    group: &str,
    prove: impl FnOnce(&mut Source<'_>) -> Result<R, EvidenceError>,
    is_sound: impl FnOnce(&R) -> bool,
) -> Outcome {
    let mut logs = match KafkaLogs::connect(properties, group) {
        Ok(logs) => logs,
        Err(error) => {
            eprintln!("{command}: {error}");
            return Outcome::Faulty;
        }
    };
    let mut progress = Progress::new(args.progress || std::io::stderr().is_terminal());
    let mut observer = |reading: &Reading<'_>| progress.tell(reading);
    let mut source = Source::new(&mut logs, args.timeout, &mut observer);
    match prove(&mut source) {
        Ok(report) => {
            let sound = is_sound(&report);
            match print(&report, args.json) {
                Ok(()) if sound => Outcome::Fine,
                Ok(()) => Outcome::Wrong,
                Err(error) => {
                    eprintln!("{command}: the report cannot be written: {error}");
                    Outcome::Wrong
                }
            }
        }
        Err(error) => {
            eprintln!("{command}: {}", properties.scrub(&error.to_string()));
            Outcome::Wrong
        }
    }
}

fn print<R: Serialize + Display>(report: &R, json: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match json {
        true => {
            serde_json::to_writer_pretty(&mut out, report)?;
            writeln!(out)
        }
        false => write!(out, "{report}"),
    }
}

/// Says on standard error how far things are.
struct Progress {
    on: bool,
    last: Instant,
}

impl Progress {
    fn new(on: bool) -> Progress {
        Progress { on, last: Instant::now() }
    }

    fn tell(&mut self, reading: &Reading<'_>) {
        if !self.on || self.last.elapsed() < PROGRESS_EVERY {
            return;
        }
        self.last = Instant::now();
        let Reading { topic, partition, next, until } = reading;
        eprintln!("{topic}/{partition}: at offset {next} of {until}");
    }
}
