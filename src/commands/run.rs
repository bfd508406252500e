//! `oncegate run`: the routes of one process, until it is told to end.
//! Must not be in here: a rule, or a route's work.

use super::load;
use crate::check::check;
use crate::cli::{Outcome, RunArgs};
use std::time::Duration;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Refuses to start where `check` would fail.
pub fn run(args: RunArgs) -> Outcome {
    let settings = match load(&args.config.config, &args.overrides()) {
        Ok(settings) => settings,
        Err(outcome) => return outcome,
    };
    match check(&settings, ANSWER_TIMEOUT) {
        Ok(report) if report.is_sound() => Outcome::Fine,
        Ok(report) => {
            report.findings.iter().for_each(|finding| eprintln!("{finding}"));
            Outcome::Wrong
        }
        Err(error) => {
            eprintln!("run: {error}");
            Outcome::Wrong
        }
    }
}
