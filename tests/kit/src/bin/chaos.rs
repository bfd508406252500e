//! `make chaos SEED=n MINUTES=m`: a run of the kit's chaos, line by line, its table and its last
//! line. Must not be in here: how it is played.

use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

use clap::Parser;
use oncegate_testkit::chaos::{ChaosOptions, Course, Fault, run};

/// Three brokers and three processes of the gate under load, faults at random from a seed; at the
/// end the clean topic is compared with what was sent.
#[derive(Parser)]
#[command(name = "chaos")]
struct Arguments {
    /// The same seed has the same faults in the same order; without one the clock gives it
    #[arg(long)]
    seed: Option<u64>,
    /// For how many minutes faults come
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    minutes: u64,
    /// So many faults in place of a time; a round of 25 has every kind
    #[arg(long, conflicts_with = "minutes")]
    faults: Option<usize>,
    /// Only faults of these kinds, with a comma between two
    #[arg(long, value_delimiter = ',', value_parser = kind)]
    only: Vec<Fault>,
    /// Records a second
    #[arg(long, default_value_t = 1_500, value_parser = clap::value_parser!(u32).range(60..))]
    rate: u32,
    /// Leave logs and state of the processes where they are
    #[arg(long)]
    keep: bool,
}

fn kind(name: &str) -> Result<Fault, String> {
    let known = || Fault::ALL.map(Fault::name).join(", ");
    let found = Fault::ALL.into_iter().find(|fault| fault.name() == name);
    found.ok_or_else(|| format!("no such kind; there are {}", known()))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let by_clock = || UNIX_EPOCH.elapsed().map_or(1, |since| since.as_secs());
    let options = ChaosOptions {
        seed: arguments.seed.unwrap_or_else(by_clock),
        course: match arguments.faults {
            Some(count) => Course::Count(count),
            None => Course::Random(Duration::from_secs(60 * arguments.minutes)),
        },
        kinds: if arguments.only.is_empty() { Fault::ALL.to_vec() } else { arguments.only },
        rate: arguments.rate,
        keep: arguments.keep,
    };
    println!("chaos: seed {}", options.seed);
    match run(&options, &mut |line| println!("{line}")) {
        Ok(outcome) => {
            for done in &outcome.faults {
                println!(
                    "fault {} recovery_ms={} pause_ms={}",
                    done.fault.name(),
                    done.recovery.as_millis(),
                    done.pause.as_millis()
                );
            }
            println!("\n{}", outcome.table());
            println!(
                "processes that ended by themselves and were started again: {}",
                outcome.exits
            );
            println!("{}", outcome.compared);
            outcome.evidence.iter().for_each(|said| println!("{said}"));
            if outcome.evidence.is_empty() {
                println!("reconcile and verify pass");
            }
            println!("{}", outcome.last_line());
            if outcome.is_exact() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            println!("chaos: seed {}: {error}", options.seed);
            ExitCode::FAILURE
        }
    }
}
