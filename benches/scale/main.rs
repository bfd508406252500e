//! How the store of one partition grows: rates, disk and memory from a million keys on.
//!
//! `make bench-scale` runs it; docs/benchmarks.md says what its columns mean. It asks the store what
//! the gate asks it, a batch of 10,000 at a time, and has no broker. Must not be in here: a bound that
//! fails a run.

#[path = "../../src/allocator.rs"]
mod allocator;
mod grown;
mod keys;
mod milestone;
mod picture;
mod report;
mod system;
mod tally;

use clap::Parser;
use keys::MILLION;
use milestone::{Milestone, Site, grow, measure};
use oncegate::store::StoreBudget;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The error says all that there is to say: a bench is only ended by one.
type Done<T> = Result<T, Box<dyn Error>>;

const GIB: f64 = (1 << 30) as f64;
/// What a key takes on disk, with room for files that are merged.
const DISK_BYTES_PER_KEY: u64 = 100;
/// For the small stores, and for little runs.
const DISK_BYTES_MIN: u64 = 1 << 30;
/// Keys that a milestone adds to the store after it was measured.
const ADDED: u64 = 2 * MILLION;

/// Measures how one store grows.
#[derive(Parser)]
#[command(name = "scale")]
struct Arguments {
    /// Millions of keys at which to measure, ascending
    #[arg(long, value_delimiter = ',', default_value = "1,10,100",
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    millions: Vec<u64>,
    /// Memory of the store's budget
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u64).range(16..))]
    memory_mib: u64,
    /// Rounds of look-ups in turns with the small store
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(3..))]
    rounds: u64,
    /// Where the stores stand; they are removed at the end. 200 million keys take some 20 GB
    #[arg(long, default_value = env!("CARGO_TARGET_TMPDIR"))]
    folder: PathBuf,
    /// Writes an SVG
    #[arg(long)]
    picture: Option<PathBuf>,
    /// What cargo says to a bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("scale: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Done<()> {
    if !arguments.millions.is_sorted_by(|a, b| a < b) {
        return Err("--millions must ascend".into());
    }
    fs::create_dir_all(&arguments.folder)
        .map_err(|error| format!("cannot make {}: {error}", arguments.folder.display()))?;
    let folder = tempfile::Builder::new().prefix("scale-").tempdir_in(&arguments.folder)?;
    let milestones = climb(arguments, folder.path())?;
    print!("{}\n{}", report::tables(&milestones), ten_billion(&milestones));
    if let Some(picture) = &arguments.picture {
        picture::write(picture, &milestones, &caption(arguments))?;
    }
    println!("{}", report::last_line(&milestones));
    Ok(())
}

/// From milestone to milestone.
fn climb(arguments: &Arguments, folder: &Path) -> Done<Vec<Milestone>> {
    let most = arguments.millions.last().copied().unwrap_or_default() * MILLION;
    let milestones = arguments.millions.len() as u64;
    let keys_max = most + ADDED * milestones + MILLION;
    system::check_room(folder, keys_max * DISK_BYTES_PER_KEY + DISK_BYTES_MIN)?;
    let memory_bytes = usize::try_from(arguments.memory_mib << 20)?;
    let budget = StoreBudget { memory_bytes, ..StoreBudget::default() };
    let site = Site { folder, budget, rounds: arguments.rounds, keys_max };
    let mut large = site.open("large")?;
    let mut climbed: Vec<Milestone> = Vec::new();
    for millions in &arguments.millions {
        // A milestone adds keys to the store, perhaps beyond the next one.
        let least = large.keys() + if climbed.is_empty() { 0 } else { MILLION };
        let stretch = grow(&mut large, (millions * MILLION).max(least))?;
        climbed.push(measure(&site, &mut large, stretch)?);
        // Of a run that is ended early there remains what it has measured.
        eprint!("{}", report::tables(&climbed[climbed.len() - 1..]));
    }
    Ok(climbed)
}

fn ten_billion(milestones: &[Milestone]) -> String {
    milestones.last().map(report::ten_billion).unwrap_or_default()
}

fn caption(arguments: &Arguments) -> String {
    let machine = system::machine_gib().map_or(String::new(), |gib| {
        format!("; the machine has {gib:.0} GiB, in which the system holds files")
    });
    format!(
        "make bench-scale: batches of 10,000 keys of 40 bytes, sightings of some 20; budget {} MiB{machine}",
        arguments.memory_mib
    )
}
