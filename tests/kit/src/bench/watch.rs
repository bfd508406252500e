//! Watches a process from outside: what its group has committed, and the CPU that it has used.
//! Knows nothing of what the process is.

use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use crate::error::{Doing, KitError, Result};
use crate::process::Process;
use crate::wait::wait_closely;

/// Between two questions: a small part of what a transaction takes.
const LOOK_EVERY: Duration = Duration::from_millis(5);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a process may take to begin, and then to end.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(120);
const END_TIMEOUT: Duration = Duration::from_secs(1_800);

/// A group and the topic that it reads.
pub struct Watched {
    asker: BaseConsumer,
    topic: String,
    partitions: i32,
    records: i64,
}

/// What was seen between the first committed transaction and the last.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Records committed in between.
    pub records: i64,
    /// Seconds in between.
    pub seconds: f64,
    /// CPU seconds of the process in between.
    pub cpu_seconds: f64,
}

impl Run {
    /// Records a second.
    pub fn rate(&self) -> f64 {
        self.records as f64 / self.seconds
    }

    /// CPU seconds a million records.
    pub fn cpu_seconds_a_million(&self) -> f64 {
        self.cpu_seconds / self.records as f64 * 1e6
    }
}

impl Watched {
    /// A group that reads a topic of so many records, which begin at offset 0 and have no gaps.
    pub fn new(
        bootstrap: &str,
        group: &str,
        topic: &str,
        (partitions, records): (i32, u64),
    ) -> Result<Watched> {
        // Under read_committed the answer would wait for pending commits; this one is what is
        // committed at the moment.
        let asker = ClientConfig::new()
            .set("bootstrap.servers", bootstrap)
            .set("group.id", group)
            .set("isolation.level", "read_uncommitted")
            .set("enable.auto.commit", "false")
            .create()
            .doing(|| format!("cannot make a consumer for {bootstrap}"))?;
        Ok(Watched { asker, topic: topic.to_owned(), partitions, records: records as i64 })
    }

    /// Watches a process until all is committed.
    pub fn run(&self, process: &mut Process) -> Result<Run> {
        let first = self.wait(process, BEGIN_TIMEOUT, "the first transaction is committed", 1)?;
        let last = self.wait(process, END_TIMEOUT, "every record is committed", self.records)?;
        if first.committed >= self.records {
            return Err(KitError::new("there are too few records to measure a rate with"));
        }
        Ok(Run {
            records: last.committed - first.committed,
            seconds: last.at.duration_since(first.at).as_secs_f64(),
            cpu_seconds: last.cpu_seconds - first.cpu_seconds,
        })
    }

    fn wait(
        &self,
        process: &mut Process,
        timeout: Duration,
        what: &str,
        at_least: i64,
    ) -> Result<Moment> {
        wait_closely(timeout, LOOK_EVERY, what, || {
            if !process.is_running() {
                return Ok(Err(KitError::new(format!(
                    "the process ended before {what}; {}",
                    process.end_of_log()
                ))));
            }
            let committed = self.committed().map_err(|error| error.to_string())?;
            let at = Instant::now();
            if committed < at_least {
                return Err(format!("{committed} of {} records are committed", self.records));
            }
            Ok(cpu_seconds(process.id()).map(|cpu_seconds| Moment { at, committed, cpu_seconds }))
        })?
    }

    fn committed(&self) -> Result<i64> {
        let what = || format!("cannot ask for the committed offsets of {}", self.topic);
        let mut asked = TopicPartitionList::new();
        asked.add_partition_range(&self.topic, 0, self.partitions - 1);
        let answer = self.asker.committed_offsets(asked, ANSWER_TIMEOUT).doing(what)?;
        let offset = |offset| match offset {
            Offset::Offset(offset) => offset,
            _ => 0,
        };
        Ok(answer.elements().iter().map(|element| offset(element.offset())).sum())
    }
}

struct Moment {
    at: Instant,
    committed: i64,
    cpu_seconds: f64,
}

/// User and system time of a process, its threads together.
fn cpu_seconds(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/stat");
    let text = std::fs::read_to_string(&path).doing(|| format!("cannot read {path}"))?;
    // The name in parentheses may hold anything; user and system time are the 14th and 15th
    // field, the 12th and 13th behind the name.
    let behind_name = text.rsplit(')').next().unwrap_or_default();
    let ticks: Vec<u64> =
        behind_name.split_whitespace().skip(11).take(2).filter_map(|t| t.parse().ok()).collect();
    // SAFETY: sysconf has no memory effects.
    let ticks_a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    match ticks[..] {
        [user, system] if ticks_a_second > 0 => Ok((user + system) as f64 / ticks_a_second as f64),
        _ => Err(KitError::new(format!("{path} tells no CPU time"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_this_process_goes_on() {
        let before = cpu_seconds(std::process::id()).unwrap();
        let began = Instant::now();
        let mut sum = 0u64;
        while began.elapsed() < Duration::from_millis(200) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let used = cpu_seconds(std::process::id()).unwrap() - before;
        assert!(used > 0.0 && used < 60.0, "{used}");
    }
}
