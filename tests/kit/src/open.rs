//! Whether a transaction is open on a topic: its last stable offset lies below its end.
//! Must not be in here: whose transaction it is.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};

use crate::error::{Doing, Result};

const ASK_TIMEOUT: Duration = Duration::from_secs(10);

/// Looks at a topic's partitions, fast enough to catch a transaction of some milliseconds.
pub struct OpenTransactions {
    committed: BaseConsumer,
    uncommitted: BaseConsumer,
    topic: String,
    partitions: i32,
}

impl OpenTransactions {
    /// Connects.
    pub fn watch(bootstrap: &str, topic: &str, partitions: i32) -> Result<OpenTransactions> {
        let consumer = |isolation: &str| {
            ClientConfig::new()
                .set("bootstrap.servers", bootstrap)
                .set("isolation.level", isolation)
                .create()
                .doing(|| format!("cannot make a consumer for {bootstrap}"))
        };
        Ok(OpenTransactions {
            committed: consumer("read_committed")?,
            uncommitted: consumer("read_uncommitted")?,
            topic: topic.to_owned(),
            partitions,
        })
    }

    /// Whether a transaction is open on any partition.
    pub fn any(&self) -> Result<bool> {
        for partition in 0..self.partitions {
            if self.on(partition)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a transaction is open on this partition. The stable end is asked for first and the
    /// end after it, and the stable end once more: what was written in between is no sign.
    pub fn on(&self, partition: i32) -> Result<bool> {
        let stable_end = || self.end(&self.committed, partition);
        if stable_end()? < self.end(&self.uncommitted, partition)? {
            let end = self.end(&self.uncommitted, partition)?;
            return Ok(stable_end()? < end);
        }
        Ok(false)
    }

    fn end(&self, consumer: &BaseConsumer, partition: i32) -> Result<i64> {
        let ends = consumer
            .fetch_watermarks(&self.topic, partition, ASK_TIMEOUT)
            .doing(|| format!("cannot ask for the end of {}/{partition}", self.topic))?;
        Ok(ends.1)
    }
}
