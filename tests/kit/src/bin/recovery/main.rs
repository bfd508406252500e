//! `make recovery`: how long the gate takes to come back, measured. The parts are in the modules;
//! each prints what it found, and the last line has all of it.
//! Must not be in here: a bound that fails a run. What is measured depends on the machine.

mod killed;
mod restore;
mod warm;

use std::process::ExitCode;

use clap::Parser;
use oncegate_testkit::Result;

/// Measures a kill of one of three processes, a rolling deploy, a warm restart, and a restore from
/// the journal.
#[derive(Parser)]
#[command(name = "recovery")]
struct Arguments {
    /// How often each is done
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Sightings of the restore
    #[arg(long, default_value_t = 3_000_000)]
    sightings: usize,
}

fn main() -> ExitCode {
    match measure(&Arguments::parse()) {
        Ok(line) => {
            println!("recovery: {line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("recovery: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> Result<String> {
    let rounds = usize::from(arguments.rounds);
    let parts = [
        warm::measure(rounds)?,
        killed::measure(rounds)?,
        restore::measure(arguments.sightings, rounds)?,
    ];
    Ok(parts.join(" "))
}

/// Minimum, median and maximum.
fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
    (at(0), at(values.len() / 2), at(values.len().saturating_sub(1)))
}
