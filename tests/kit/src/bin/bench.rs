//! The bench of the gate: loads one raw topic, runs a bare exactly-once pipe and oncegate over it
//! in turns, and ends with `bench: oncegate=N bare=N ratio=N.NN`, medians of the rounds. What is
//! measured and how is in the kit's `bench` module; nothing of it is here.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, Subcommand};
use oncegate_testkit::bench::report::{Round, round_line, summary};
use oncegate_testkit::bench::{Contender, bare, load, round};
use oncegate_testkit::broker::{Broker, BrokerOptions};
use oncegate_testkit::{KitError, Result};

/// Measures oncegate beside a bare exactly-once pipe on the same topic and broker.
#[derive(Parser)]
#[command(name = "bench")]
struct Arguments {
    /// How many raw records
    #[arg(long, default_value_t = 1_000_000)]
    records: usize,
    /// How many rounds of each
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Records in a transaction, of both
    #[arg(long, default_value_t = 20_000)]
    batch: usize,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Subcommand)]
enum Part {
    /// The bare pipe as a process of its own, until it is killed
    #[command(hide = true)]
    Bare {
        #[arg(long)]
        config: PathBuf,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.part {
        Some(Part::Bare { config }) => bare::run(config),
        None => bench(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(arguments: &Arguments) -> Result<()> {
    if arguments.rounds == 0 || arguments.batch == 0 || arguments.records / 4 < arguments.batch {
        return Err(KitError::new(
            "it takes at least one round, and records for at least four transactions",
        ));
    }
    let broker = Broker::start(BrokerOptions::default())?;
    println!("broker: {} ({})", broker.bootstrap(), broker.describe());
    let nanos = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.subsec_nanos());
    let name = format!("bench-{}-{nanos}", std::process::id());
    let began = Instant::now();
    let loaded = load::load(broker.bootstrap(), &format!("{name}.raw"), arguments.records)?;
    println!(
        "loaded: {} lab results of {} bytes on average, {} distinct, in {:.1} s",
        loaded.all.records(),
        loaded.bytes / loaded.all.records(),
        loaded.distinct.records(),
        began.elapsed().as_secs_f64()
    );
    let mut rounds = Vec::new();
    for number in 1..=arguments.rounds {
        let mut contenders = [Contender::Bare, Contender::Oncegate];
        if number % 2 == 0 {
            contenders.reverse();
        }
        for contender in contenders {
            let name = format!("{name}.{}{number}", contender.name());
            let run = round::run(&broker, &loaded, contender, (&name, arguments.batch))?;
            let round = Round { number, contender, run };
            println!("{}", round_line(&round));
            rounds.push(round);
        }
    }
    println!("{}", summary(&rounds));
    Ok(())
}
