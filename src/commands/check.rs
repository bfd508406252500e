//! `oncegate check`: everything that is wrong between the configuration and the cluster.
//! Must not be in here: a rule.

use super::load;
use crate::check::{CheckReport, Level};
use crate::cli::{CheckArgs, Outcome};

/// Checks and prints.
pub fn check(args: &CheckArgs) -> Outcome {
    let settings = match load(&args.config.config, &args.config.overrides()) {
        Ok(settings) => settings,
        Err(outcome) => return outcome,
    };
    match crate::check::check(&settings, args.timeout) {
        Ok(report) => {
            print!("{}", text(&report));
            if report.is_sound() { Outcome::Fine } else { Outcome::Wrong }
        }
        Err(error) => {
            eprintln!("check: {error}");
            Outcome::Wrong
        }
    }
}

/// One line a finding, and one that counts them.
fn text(report: &CheckReport) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        text.push_str(&format!("{finding}\n"));
    }
    let count = |level, name: &str| match report.count(level) {
        1 => format!("1 {name}"),
        count => format!("{count} {name}s"),
    };
    let counts = [count(Level::Error, "error"), count(Level::Warning, "warning")];
    text.push_str(&format!("check: {}, {}\n", counts[0], counts[1]));
    text
}
