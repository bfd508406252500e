//! Watches a process from outside: what its group has committed, and what it and the broker use.
//! Knows nothing of what the process is.

use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use crate::broker::Broker;
use crate::error::{Doing, KitError, Result};
use crate::process::Process;
use crate::usage::{cpu_seconds, peak_mib};
use crate::wait::wait_closely;

/// Between two questions, whose answers cost the broker CPU: a small part of what a run takes.
const LOOK_EVERY: Duration = Duration::from_millis(25);
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
    brokers: Vec<u32>,
}

/// What was seen between the moment when each partition had a committed transaction and the last
/// one.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Records committed in between.
    pub records: i64,
    /// Seconds in between.
    pub seconds: f64,
    /// CPU seconds of the process in between.
    pub cpu_seconds: f64,
    /// CPU seconds of the brokers in between, where they are processes of ours.
    pub broker_cpu_seconds: Option<f64>,
    /// The most memory that the process ever had, in MiB.
    pub peak_mib: f64,
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

    /// CPU seconds of the brokers a million records.
    pub fn broker_cpu_seconds_a_million(&self) -> Option<f64> {
        self.broker_cpu_seconds.map(|seconds| seconds / self.records as f64 * 1e6)
    }
}

impl Watched {
    /// A group that reads a topic of so many records, which begin at offset 0 and have no gaps.
    pub fn new(
        broker: &Broker,
        group: &str,
        topic: &str,
        (partitions, records): (i32, u64),
    ) -> Result<Watched> {
        // Under read_committed the answer would wait for pending commits; this one is what is
        // committed at the moment.
        let asker = ClientConfig::new()
            .set("bootstrap.servers", broker.bootstrap())
            .set("group.id", group)
            .set("isolation.level", "read_uncommitted")
            .set("enable.auto.commit", "false")
            .create()
            .doing(|| format!("cannot make a consumer for {}", broker.bootstrap()))?;
        Ok(Watched {
            asker,
            topic: topic.to_owned(),
            partitions,
            records: records as i64,
            brokers: broker.process_ids(),
        })
    }

    /// Watches a process until all is committed.
    pub fn run(&self, process: &mut Process) -> Result<Run> {
        let everywhere = |committed: &[i64]| committed.iter().all(|offset| *offset > 0);
        let all = |committed: &[i64]| committed.iter().sum::<i64>() >= self.records;
        let first =
            self.wait(process, BEGIN_TIMEOUT, "each partition has a transaction", everywhere)?;
        let last = self.wait(process, END_TIMEOUT, "every record is committed", all)?;
        if first.committed >= self.records {
            return Err(KitError::new("there are too few records to measure a rate with"));
        }
        let brokers = last.brokers_cpu_seconds - first.brokers_cpu_seconds;
        Ok(Run {
            records: last.committed - first.committed,
            seconds: last.at.duration_since(first.at).as_secs_f64(),
            cpu_seconds: last.cpu_seconds - first.cpu_seconds,
            broker_cpu_seconds: (!self.brokers.is_empty()).then_some(brokers),
            peak_mib: peak_mib(process.id())?,
        })
    }

    fn wait(
        &self,
        process: &mut Process,
        timeout: Duration,
        what: &str,
        enough: impl Fn(&[i64]) -> bool,
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
            if !enough(&committed) {
                return Err(format!("{committed:?} of {} records are committed", self.records));
            }
            Ok(self.moment(at, committed.iter().sum(), process.id()))
        })?
    }

    fn moment(&self, at: Instant, committed: i64, process: u32) -> Result<Moment> {
        let brokers: Result<Vec<f64>> = self.brokers.iter().map(|id| cpu_seconds(*id)).collect();
        let brokers_cpu_seconds = brokers?.iter().sum();
        Ok(Moment { at, committed, cpu_seconds: cpu_seconds(process)?, brokers_cpu_seconds })
    }

    /// By partition.
    fn committed(&self) -> Result<Vec<i64>> {
        let what = || format!("cannot ask for the committed offsets of {}", self.topic);
        let mut asked = TopicPartitionList::new();
        asked.add_partition_range(&self.topic, 0, self.partitions - 1);
        let answer = self.asker.committed_offsets(asked, ANSWER_TIMEOUT).doing(what)?;
        let offset = |offset| match offset {
            Offset::Offset(offset) => offset,
            _ => 0,
        };
        Ok(answer.elements().iter().map(|element| offset(element.offset())).collect())
    }
}

struct Moment {
    at: Instant,
    committed: i64,
    cpu_seconds: f64,
    brokers_cpu_seconds: f64,
}
