//! Traffic for a cluster that shows what oncegate does: creates the raw topics of the shipped
//! configuration, and sends events to them for ever, at a steady rate and in bounded memory.
//! Must not be in here: what is sent, which is in `flow`, or a look at what becomes of it.

mod flow;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use oncegate_testkit::Result;
use oncegate_testkit::error::Doing;
use oncegate_testkit::produce::{PlainProducer, Timestamps};
use oncegate_testkit::topics::{Admin, TopicSpec};
use oncegate_testkit::wait::wait_for;
use tokio::signal::unix::{SignalKind, signal};

use crate::flow::Flow;

/// A cluster that starts at the same time needs a while.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// Few and larger transactions cost the broker less than many small ones.
const STEP_TIME: Duration = Duration::from_millis(500);
const TELL_EVERY: Duration = Duration::from_secs(60);
/// Kafka deletes the oldest segments of a raw partition beyond this: what runs for ever must not
/// fill the disk with what was read long ago.
const RAW_BYTES_MAX: u64 = 128 << 20;
const SEGMENT_BYTES: u64 = 32 << 20;

/// Sends events to the raw topics of the shipped configuration until it is told to stop.
#[derive(Parser)]
#[command(name = "traffic")]
struct Arguments {
    /// Brokers to ask first
    #[arg(long, value_name = "HOST:PORT,...", env = "ONCEGATE_BOOTSTRAP", global = true)]
    #[arg(default_value = "127.0.0.1:9092")]
    bootstrap: String,
    /// Partitions of each raw topic
    #[arg(long, default_value_t = 4, global = true)]
    #[arg(value_parser = clap::value_parser!(i32).range(1..=1_000))]
    partitions: i32,
    #[command(subcommand)]
    command: Act,
}

#[derive(Subcommand)]
enum Act {
    /// Wait for the cluster and create the raw topics that are missing
    Create,
    /// Send events for ever
    Send {
        /// Records a second over all topics
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=4_000))]
        rate: u32,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.command {
        Act::Create => create(&arguments),
        Act::Send { rate } => send(&arguments, rate),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("traffic: {error}");
            ExitCode::FAILURE
        }
    }
}

fn create(arguments: &Arguments) -> Result<()> {
    let admin = Admin::new(&arguments.bootstrap)?;
    let what = format!("the cluster at {} answers", arguments.bootstrap);
    let mut missing = Vec::new();
    for topic in flow::topics() {
        let id = wait_for(START_TIMEOUT, &what, || {
            admin.topic_id(topic).map_err(|error| error.to_string())
        })?;
        if id.is_none() {
            let spec = TopicSpec::new(topic, arguments.partitions)
                .config("retention.bytes", RAW_BYTES_MAX)
                .config("segment.bytes", SEGMENT_BYTES);
            missing.push(spec);
        }
    }
    if !missing.is_empty() {
        admin.create(&missing)?;
    }
    println!("traffic: {} raw topics created", missing.len());
    Ok(())
}

/// Sends until a signal comes. A cluster that is away for long ends it with status 1, and whoever
/// supervises it starts it again.
fn send(arguments: &Arguments, rate: u32) -> Result<()> {
    let stop = stop_at_signal()?;
    let producer = PlainProducer::new(&arguments.bootstrap)?;
    let mut flows = Flow::all(rate, arguments.partitions, now_ms())?;
    let (mut sent, mut told) = (0, Instant::now());
    println!("traffic: sending {rate} records a second to {}", arguments.bootstrap);
    while !stop.load(Ordering::Relaxed) {
        let due = Instant::now() + STEP_TIME;
        for flow in &mut flows {
            let some = flow.step(STEP_TIME, now_ms())?;
            producer.enqueue(flow.topic(), &some, Timestamps::Now)?;
            sent += some.len();
        }
        producer.finish("the raw topics")?;
        if told.elapsed() >= TELL_EVERY {
            println!("traffic: {sent} records sent");
            told = Instant::now();
        }
        // A pace, not a guess: nothing is expected to have happened after it. Time that was lost
        // is not made up for, so a broker that comes back does not meet a flood.
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    println!("traffic: ended, {sent} records sent");
    Ok(())
}

/// A flag that SIGTERM and SIGINT set: the first process of a container has no other way to end.
fn stop_at_signal() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .doing(|| "cannot make a runtime".to_owned())?;
    let (mut terminate, mut interrupt) = {
        let _context = runtime.enter();
        let failed = || "cannot wait for signals".to_owned();
        (
            signal(SignalKind::terminate()).doing(failed)?,
            signal(SignalKind::interrupt()).doing(failed)?,
        )
    };
    let told = stop.clone();
    std::thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        });
        told.store(true, Ordering::Relaxed);
    });
    Ok(stop)
}

fn now_ms() -> i64 {
    std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis() as i64)
}
