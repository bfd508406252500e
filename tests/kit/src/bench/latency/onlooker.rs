//! Reads committed records as they come, and notes how old each is.
//! Must not be in here: who wrote them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::{Message, Offset, TopicPartitionList};

use crate::error::{Doing, KitError, Result};
use crate::reader::new_consumer;

const POLL_TIMEOUT: Duration = Duration::from_millis(20);

/// A thread that reads a topic until it is told to stop.
pub(super) struct Onlooker {
    stop: Arc<AtomicBool>,
    measuring: Arc<AtomicBool>,
    seen: Arc<AtomicU64>,
    thread: Option<JoinHandle<Result<Vec<u32>>>>,
}

impl Onlooker {
    /// Reads from the beginning on.
    pub(super) fn start(bootstrap: &str, topic: &str, partitions: i32) -> Result<Onlooker> {
        let consumer = new_consumer(bootstrap, "oncegate-testkit", "read_committed")?;
        let mut list = TopicPartitionList::new();
        for partition in 0..partitions {
            list.add_partition_offset(topic, partition, Offset::Offset(0))
                .doing(|| "cannot name an offset".to_owned())?;
        }
        consumer.assign(&list).doing(|| format!("cannot read {topic}"))?;
        let (stop, measuring) = (Arc::default(), Arc::default());
        let seen = Arc::default();
        let (stopped, measured, counted) =
            (Arc::clone(&stop), Arc::clone(&measuring), Arc::clone(&seen));
        let thread = thread::spawn(move || read(&consumer, &stopped, &measured, &counted));
        Ok(Onlooker { stop, measuring, seen, thread: Some(thread) })
    }

    /// How many records were seen so far.
    pub(super) fn seen(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.seen)
    }

    /// Notes ages from now on.
    pub(super) fn begin(&self) {
        self.measuring.store(true, Ordering::Relaxed);
    }

    /// Stops; how many records there were, and the ages that were noted, in milliseconds.
    pub(super) fn end(&mut self) -> Result<(u64, Vec<u32>)> {
        self.stop.store(true, Ordering::Relaxed);
        let joined = self.thread.take().map(JoinHandle::join);
        let taken_ms = joined
            .and_then(std::result::Result::ok)
            .unwrap_or_else(|| Err(KitError::new("the reader of the latency panicked")))?;
        Ok((self.seen.load(Ordering::Relaxed), taken_ms))
    }
}

impl Drop for Onlooker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn read(
    consumer: &BaseConsumer,
    stop: &AtomicBool,
    measuring: &AtomicBool,
    seen: &AtomicU64,
) -> Result<Vec<u32>> {
    let mut taken_ms = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        match consumer.poll(POLL_TIMEOUT) {
            Some(Ok(record)) => {
                let now_ms = now_ms();
                if measuring.load(Ordering::Relaxed) {
                    let appended_ms = record.timestamp().to_millis().unwrap_or(now_ms);
                    taken_ms.push(u32::try_from(now_ms - appended_ms).unwrap_or(0));
                }
                seen.fetch_add(1, Ordering::Relaxed);
            }
            None | Some(Err(KafkaError::PartitionEOF(_))) => {}
            Some(Err(error)) => return Err(KitError::new(format!("cannot read: {error}"))),
        }
    }
    Ok(taken_ms)
}

fn now_ms() -> i64 {
    // A clock before 1970 gives ages of nothing, which a reader of the figures sees.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}
