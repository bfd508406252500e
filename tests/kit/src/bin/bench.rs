//! The bench of the gate: loads one raw topic, runs a bare exactly-once pipe and oncegate over it
//! in turns, and ends with `bench: oncegate=N bare=N ratio=N.NN`, medians of the rounds. What is
//! measured and how is in the kit's `bench` module; nothing of it is here.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use oncegate_testkit::Result;
use oncegate_testkit::bench::load::Load;
use oncegate_testkit::bench::report::{costs, summaries, table, verdict};
use oncegate_testkit::bench::round::{Arena, BATCH_WAIT_MS, Plan};
use oncegate_testkit::bench::{Contender, bare, series};
use oncegate_testkit::broker::{Broker, BrokerOptions};

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
    /// Workers of both
    #[arg(long, default_value_t = 1)]
    workers: usize,
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
    let broker = Broker::start(BrokerOptions::default())?;
    println!("broker: {} ({})", broker.bootstrap(), broker.describe());
    let plan = Plan {
        batch_records: arguments.batch,
        batch_wait_ms: BATCH_WAIT_MS,
        workers: arguments.workers,
        commit_ms: 0,
    };
    let arena = Arena { broker: &broker, plan, streams: None };
    let load = Load { records: arguments.records, again_share: 0.1, bytes: None };
    let nanos = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.subsec_nanos());
    let name = format!("bench-{}-{nanos}", std::process::id());
    let contenders = [Contender::Bare, Contender::Oncegate];
    let rounds = series::run(&arena, load, (&contenders, arguments.rounds), &name)?;
    let summaries = summaries(&rounds);
    println!("{}{}\nbench: {}", table(&summaries), costs(&summaries), verdict(&summaries));
    Ok(())
}
