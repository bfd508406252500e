//! Latency under a steady load: from the moment when the broker appended a raw record to the
//! moment when a reader of committed records has it in hand. The raw topic has LogAppendTime and
//! the contenders keep the timestamp, so each clean record bears the first moment, in whole
//! milliseconds of the clock that reader and broker share.
//! Must not be in here: a load that the contender cannot bear, other than by being told so.

mod feeder;
mod onlooker;

use std::fmt;
use std::time::Duration;

use crate::bench::Contender;
use crate::bench::load::PARTITIONS;
use crate::bench::round::{Arena, forget};
use crate::error::{KitError, Result};
use crate::generator::Sent;
use crate::process::Process;
use crate::scene::Scene;
use crate::topics::{Admin, TopicSpec};
use feeder::Feeder;
use onlooker::Onlooker;

/// How long the contenders wait for a transaction to fill.
pub const BATCH_WAIT_MS: u64 = 10;
/// The loads, in percent of what the gate can bear.
const LOADS_PERCENT: [u32; 2] = [20, 80];
/// The part of a load that goes before the measuring.
const WARM_UP: Duration = Duration::from_secs(3);
/// Records that are sent before, and waited for.
const FIRST_RECORDS: usize = 1_000;
/// The contender that says what capacity is.
const MEASURE: Contender = Contender::Oncegate;

/// What one contender did under one load.
#[derive(Clone, Copy, Debug)]
pub struct Latency {
    /// Who ran.
    pub contender: Contender,
    /// The load in percent of the gate's capacity.
    pub load_percent: u32,
    /// Records a second that were sent.
    pub rate: f64,
    /// Milliseconds that half of the records took at most.
    pub p50_ms: u32,
    /// 99 in 100 of them.
    pub p99_ms: u32,
    /// 999 in 1000 of them.
    pub p999_ms: u32,
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<9} at {:>2} % ({:>6.0} records/s): p50 {} ms, p99 {} ms, p99.9 {} ms",
            self.contender.name(),
            self.load_percent,
            self.rate,
            self.p50_ms,
            self.p99_ms,
            self.p999_ms
        )
    }
}

/// Measures the gate's capacity while it is fed and read, then the latency of the bare pipe and
/// of the gate at parts of it. Says a line about each; `name` is the measurement's own.
pub fn measure(
    arena: &Arena<'_>,
    records: &[Sent],
    seconds: u64,
    name: &str,
) -> Result<Vec<Latency>> {
    let capacity = {
        let run = Run::begin(arena, MEASURE, &format!("{name}.capacity"))?;
        let (_, rest) = run.warm(records)?;
        let capacity = run.feeder.as_fast_as_it_goes(rest, Duration::from_secs(seconds))?;
        run.end(&[])?;
        capacity
    };
    println!("latency: fed and read at once, the gate bears {capacity:.0} records/s");
    let mut done = Vec::new();
    for load_percent in LOADS_PERCENT {
        for contender in [Contender::Bare, Contender::Oncegate] {
            let rate = capacity * f64::from(load_percent) / 100.0;
            let run = Run::begin(arena, contender, &format!("{name}.{}", done.len()))?;
            let (first, rest) = run.warm(records)?;
            let count = |time: Duration| (time.as_secs_f64() * rate) as usize;
            let warm = rest.len().min(count(WARM_UP));
            let all = rest.len().min(count(WARM_UP + Duration::from_secs(seconds)));
            run.feeder.at_a_rate(&rest[..warm], rate)?;
            run.onlooker.begin();
            let sent_rate = run.feeder.at_a_rate(&rest[warm..all], rate)?;
            let mut taken_ms = run.end(&records[..first + all])?;
            taken_ms.sort_unstable();
            let latency = Latency {
                contender,
                load_percent,
                rate: sent_rate,
                p50_ms: percentile(&taken_ms, 0.5)?,
                p99_ms: percentile(&taken_ms, 0.99)?,
                p999_ms: percentile(&taken_ms, 0.999)?,
            };
            println!("latency: {latency}");
            done.push(latency);
        }
    }
    Ok(done)
}

/// The gate's p99 to the bare pipe's, by load.
pub fn ratios(all: &[Latency]) -> String {
    let p99 = |contender, percent| {
        let found = all.iter().find(|l| l.contender == contender && l.load_percent == percent);
        found.map_or(f64::NAN, |latency| f64::from(latency.p99_ms))
    };
    let ratio = |percent| {
        let ratio = p99(Contender::Oncegate, percent) / p99(Contender::Bare, percent);
        format!("{ratio:.2} at {percent} %")
    };
    format!("latency: p99 to the bare copy's: {}", LOADS_PERCENT.map(ratio).join(", "))
}

/// A contender that is fed, and a reader of what it writes.
struct Run {
    contender: Contender,
    scene: Scene,
    raw: String,
    process: Process,
    feeder: Feeder,
    onlooker: Onlooker,
}

impl Run {
    fn begin(arena: &Arena<'_>, contender: Contender, name: &str) -> Result<Run> {
        let raw = format!("{name}.raw");
        let spec = TopicSpec::new(&raw, PARTITIONS)
            .config("retention.ms", -1)
            .config("message.timestamp.type", "LogAppendTime");
        Admin::new(arena.broker.bootstrap())?.create(&[spec])?;
        let scene = arena.scene(name, &raw)?;
        let process = arena.start(contender, &scene)?;
        let onlooker = Onlooker::start(&scene.bootstrap, &scene.clean(), PARTITIONS)?;
        let feeder = Feeder::new(&scene.bootstrap, &raw, contender, onlooker.seen())?;
        Ok(Run { contender, scene, raw, process, feeder, onlooker })
    }

    /// Sends a few records and waits until they are seen; gives their number and the others.
    fn warm<'r>(&self, records: &'r [Sent]) -> Result<(usize, &'r [Sent])> {
        let (first, rest) = records.split_at(records.len().min(FIRST_RECORDS));
        self.feeder.send(first)?;
        self.feeder.wait_until_seen()?;
        Ok((first.len(), rest))
    }

    /// Waits until all is seen; what each record took since the measuring began.
    fn end(mut self, sent: &[Sent]) -> Result<Vec<u32>> {
        self.feeder.finish()?;
        self.feeder.wait_until_seen()?;
        let (seen, taken_ms) = self.onlooker.end()?;
        self.process.kill9()?;
        let expected = sent.iter().filter(|one| passes(self.contender, one)).count() as u64;
        if !sent.is_empty() && seen != expected {
            return Err(KitError::new(format!(
                "{} wrote {seen} records, not {expected}",
                self.contender.name()
            )));
        }
        forget(self.contender, &self.scene)?;
        Admin::new(&self.scene.bootstrap)?.delete(&[&self.raw])?;
        Ok(taken_ms)
    }
}

/// Whether a contender lets a record through.
fn passes(contender: Contender, one: &Sent) -> bool {
    contender == Contender::Bare || one.first_of().is_some()
}

/// The smallest of the sorted figures that this share of them does not exceed.
fn percentile(sorted: &[u32], share: f64) -> Result<u32> {
    let place = (sorted.len() as f64 * share).ceil() as usize;
    let none = || KitError::new("no record was seen while the latency was measured");
    sorted.get(place.max(1) - 1).copied().ok_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles() {
        let hundred: Vec<u32> = (1..=100).collect();
        assert_eq!(percentile(&hundred, 0.5).unwrap(), 50);
        assert_eq!(percentile(&hundred, 0.99).unwrap(), 99);
        assert_eq!(percentile(&hundred, 0.999).unwrap(), 100);
        assert_eq!(percentile(&[7], 0.5).unwrap(), 7);
        assert!(percentile(&[], 0.5).is_err());
    }
}
