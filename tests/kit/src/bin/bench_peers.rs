//! `make bench-peers`: oncegate beside a bare exactly-once pipe and a Kafka Streams application,
//! in turns on one broker, and ends with `peers: oncegate=N bare=N streams=N ratio_bare=N.NN
//! ratio_streams=N.NN`, medians of the rounds. What is measured and how is in the kit's `bench`
//! module; nothing of it is here.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use oncegate_testkit::Result;
use oncegate_testkit::bench::cases::{self, Axes, Case};
use oncegate_testkit::bench::report::{Summary, costs, summaries, table, verdict};
use oncegate_testkit::bench::round::{Arena, BATCH_WAIT_MS, Plan};
use oncegate_testkit::bench::streams::StreamsApp;
use oncegate_testkit::bench::{Contender, latency, load, picture, series};
use oncegate_testkit::broker::{Broker, BrokerOptions};
use oncegate_testkit::generator::Sent;

/// Measures oncegate beside a bare exactly-once pipe and a Kafka Streams application.
#[derive(Parser)]
#[command(name = "bench_peers")]
struct Arguments {
    /// How many raw records
    #[arg(long, default_value_t = 3_000_000)]
    records: usize,
    /// How many rounds of each
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Records in a transaction of oncegate and of the bare pipe
    #[arg(long, default_value_t = 20_000)]
    batch: usize,
    /// Commit interval of Kafka Streams in milliseconds
    #[arg(long, default_value_t = 1_000)]
    commit_ms: u64,
    /// Writes the figures as a picture (SVG)
    #[arg(long)]
    picture: Option<PathBuf>,
    /// Then also with so many workers each, as in `1,2`
    #[arg(long, value_delimiter = ',')]
    workers: Vec<usize>,
    /// Then also with records of so many bytes, as in `200,500,6000`
    #[arg(long, value_delimiter = ',')]
    sizes: Vec<usize>,
    /// Then also with so many duplicates in a hundred, as in `0,10,50,90`
    #[arg(long, value_delimiter = ',')]
    duplicates: Vec<u32>,
    /// Then also the latency under steady loads
    #[arg(long)]
    latency: bool,
    /// For how many seconds each load is measured
    #[arg(long, default_value_t = 20)]
    latency_seconds: u64,
}

fn main() -> ExitCode {
    match bench(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench_peers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(arguments: &Arguments) -> Result<()> {
    let streams = StreamsApp::build()?;
    // One of our own, whatever else runs: its CPU time is measured.
    let broker = Broker::start(BrokerOptions { faults: true, ..BrokerOptions::default() })?;
    println!("broker: {} ({})", broker.bootstrap(), broker.describe());
    let axes = Axes {
        workers: &arguments.workers,
        bytes: &arguments.sizes,
        duplicates_percent: &arguments.duplicates,
    };
    let cases = cases::of(arguments.records, axes);
    let mut done: Vec<(&Case, Vec<Summary>)> = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        println!("\n{}", case.label);
        let plan = plan(arguments, case);
        let arena = Arena { broker: &broker, plan, streams: Some(&streams) };
        let name = format!("peers-{}-{number}", std::process::id());
        let rounds = series::run(&arena, case.load, (&Contender::ALL, arguments.rounds), &name)?;
        let summaries = summaries(&rounds);
        println!("{}{}", table(&summaries), costs(&summaries));
        done.push((case, summaries));
    }
    println!();
    if done.len() > 1 {
        print!("{}", cases::table(&done));
    }
    if let (true, Some(usual)) = (arguments.latency, cases.first()) {
        latencies(arguments, usual, &broker)?;
    }
    let Some((case, base)) = done.first() else { return Ok(()) };
    if let Some(path) = &arguments.picture {
        picture::write(path, base, &caption(arguments, case))?;
    }
    println!("peers: {}", verdict(base));
    Ok(())
}

fn latencies(arguments: &Arguments, usual: &Case, broker: &Broker) -> Result<()> {
    let plan = Plan { batch_wait_ms: latency::BATCH_WAIT_MS, ..plan(arguments, usual) };
    let arena = Arena { broker, plan, streams: None };
    let records: Vec<Sent> = load::sample(usual.load)?.collect();
    let name = format!("latency-{}", std::process::id());
    let all = latency::measure(&arena, &records, arguments.latency_seconds, &name)?;
    println!("{}", latency::ratios(&all));
    Ok(())
}

fn plan(arguments: &Arguments, case: &Case) -> Plan {
    Plan {
        batch_records: arguments.batch,
        batch_wait_ms: BATCH_WAIT_MS,
        workers: case.workers,
        commit_ms: arguments.commit_ms,
    }
}

fn caption(arguments: &Arguments, case: &Case) -> String {
    format!(
        "make bench-peers: {} lab results of about 390 bytes, one in ten a duplicate; {} workers \
         or threads each; {} rounds",
        grouped(case.load.records),
        case.workers,
        arguments.rounds
    )
}

/// `3000000` as `3,000,000`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn digits_stand_in_groups_of_three() {
        assert_eq!([7, 300, 65_000, 3_000_000].map(grouped), ["7", "300", "65,000", "3,000,000"]);
    }
}
