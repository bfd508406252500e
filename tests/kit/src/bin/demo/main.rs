//! `make demo`: three routes on a real broker, two processes, one of them killed in the middle of
//! a transaction, and a count of what the topics hold at the end.
//! The order of the acts is here; how each is done, in the modules. Nothing here derives a key.

mod cases;
mod fault;
mod feed;
mod gate;
mod keep;
mod progress;
mod stage;
mod table;
mod tally;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use oncegate_testkit::broker::{Broker, BrokerOptions};
use oncegate_testkit::error::Doing;
use oncegate_testkit::generator::{Kind, Sample, SampleOptions, Sent};
use oncegate_testkit::topics::{Admin, TopicSpec};
use oncegate_testkit::{KitError, Result};

use crate::feed::Feed;
use crate::gate::Gate;
use crate::progress::Progress;
use crate::stage::Stage;
use crate::tally::Tally;

const PARTITIONS: i32 = 4;
const FEED_TIMEOUT: Duration = Duration::from_secs(120);

/// Runs the gate over a sample on a real broker, kills it meanwhile, and counts the topics.
#[derive(Parser)]
#[command(name = "demo")]
struct Arguments {
    /// The same seed gives the same sample
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many records, over the three routes
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(3_000..))]
    records: u32,
    /// The folder that `config/` and `topics/` are in
    #[arg(long, value_name = "DIR", default_value = ".")]
    project: PathBuf,
    /// Go on after the count, with events that keep coming, until Ctrl-C
    #[arg(long)]
    keep: bool,
}

/// What the generator sends, by kind.
pub(crate) type Samples = Vec<(Kind, Vec<Sent>)>;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let folder = match tempfile::Builder::new().prefix("oncegate-demo-").tempdir() {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!("demo: cannot create a temporary folder: {error}");
            return ExitCode::FAILURE;
        }
    };
    let progress = Progress::start();
    let kept = folder.path().to_owned();
    let told = |what: &str| {
        eprintln!("{what}");
        eprintln!("demo: failed; its logs, state and configuration are in {}", kept.display());
    };
    match play(&arguments, folder.path(), &progress) {
        Ok(faults) if faults.is_empty() => ExitCode::SUCCESS,
        Ok(faults) => {
            told(&faults.join("\n"));
            let _ = folder.keep();
            ExitCode::FAILURE
        }
        Err(error) => {
            told(&format!("demo: {error}"));
            let _ = folder.keep();
            ExitCode::FAILURE
        }
    }
}

/// The acts of the demo, in order; gives what is wrong with the counts.
fn play(
    arguments: &Arguments,
    folder: &std::path::Path,
    progress: &Progress,
) -> Result<Vec<String>> {
    let binary = oncegate_testkit::process::default_binary()?;
    let options = SampleOptions {
        seed: arguments.seed,
        records: arguments.records as usize,
        partitions: PARTITIONS,
        ..SampleOptions::default()
    };
    progress.say(format!(
        "starting a broker and making {} records from seed {}",
        arguments.records, arguments.seed
    ));
    // Both take seconds and neither needs the other.
    let making = std::thread::spawn(move || samples(options));
    let broker = Broker::start(BrokerOptions::default())?;
    progress.say(format!("the broker answers at {}: {}", broker.bootstrap(), broker.describe()));
    let samples =
        making.join().map_err(|_| KitError::new("the generator of the sample panicked"))??;

    let stage = Stage::set(&arguments.project, folder, &broker)?;
    let admin = Admin::new(&stage.bootstrap)?;
    let raw: Vec<TopicSpec> = Kind::ALL
        .iter()
        // CreateTime is the event's, and a broker deletes by it.
        .map(|kind| TopicSpec::new(stage.raw(*kind), PARTITIONS).config("retention.ms", -1))
        .collect();
    admin.create(&raw)?;
    let hard = TopicSpec::new(stage.named(&format!("{}.raw", cases::ROUTE)), PARTITIONS);
    admin.create(&[hard.config("retention.ms", -1)])?;
    let gate = Gate::new(binary, &stage);
    gate.command(&["topics", "apply"], progress)?;
    gate.command(&["check"], progress)?;

    let samples = run(&stage, &gate, samples, progress)?;
    progress.say("reading clean, audit and quarantine (read_committed) and counting".to_owned());
    let tallies = tally::of_all(&stage, &samples)?;
    let (text, well) = cases::judged(&stage)?;
    println!("\nhard cases of route {}:\n{text}", cases::ROUTE);
    if !well {
        return Err(KitError::new("a hard case did not end as it is due".to_owned()));
    }
    for route in Kind::ALL.map(Kind::name).into_iter().chain([cases::ROUTE]) {
        gate.command(&["reconcile", route], progress)?;
        gate.command(&["verify", route], progress)?;
    }
    let total = Tally::total(&tallies);
    let faults = total.faults();
    let keep = arguments.keep && faults.is_empty();
    if faults.is_empty() && !keep {
        stage.strike(&admin, progress);
    }
    print!("{}", table::text(&tallies));
    if !keep {
        println!("to look at status and metrics while it runs: make demo KEEP=1");
    }
    println!("{}", table::last_line(&total));
    if keep {
        keep::until_signal(&stage, &gate, progress)?;
        stage.strike(&admin, progress);
    }
    Ok(faults)
}

/// From the first process's start to the orderly end of both.
fn run(stage: &Stage, gate: &Gate, samples: Samples, progress: &Progress) -> Result<Samples> {
    let mut one = gate.start("one")?;
    let mut two = gate.start("two")?;
    gate.wait_ready(&mut one)?;
    gate.wait_ready(&mut two)?;
    progress.say(format!(
        "two processes run ({} and {}), one group a route, {} routes",
        one.id(),
        two.id(),
        Kind::ALL.len()
    ));
    let feed = Feed::start(stage, samples);
    feed.wait_until_share(0.25, progress, FEED_TIMEOUT)?;
    feed.slow(true);
    fault::kill_in_transaction(stage, gate, &mut one, progress)?;
    feed.slow(false);
    let samples = feed.finish(progress, FEED_TIMEOUT)?;
    let hard = cases::send(stage)?;
    progress.say(format!("sent {hard} hard cases to route {} as well", cases::ROUTE));
    progress.say("all is sent; waiting until all is decided".to_owned());
    progress::wait_until_through(stage, progress, || {
        for process in [&mut one, &mut two] {
            if !process.is_running() {
                return Err(KitError::new(format!(
                    "{} ended by itself; {}",
                    process.name(),
                    process.end_of_log()
                )));
            }
        }
        Ok(())
    })?;
    progress.say("all is decided; ending both processes with SIGTERM".to_owned());
    one.end()?;
    two.end()?;
    Ok(samples)
}

/// Every kind in a thread of its own.
fn samples(options: SampleOptions) -> Result<Samples> {
    let sample = Sample::new(options)?;
    let making: Vec<_> = Kind::ALL
        .iter()
        .map(|kind| {
            let (kind, sample) = (*kind, sample.clone());
            std::thread::spawn(move || (kind, sample.sent(kind)))
        })
        .collect();
    making
        .into_iter()
        .map(|one| one.join().map_err(|_| "it panicked"))
        .collect::<std::result::Result<Samples, _>>()
        .doing(|| "the sample could not be made".to_owned())
}
