//! When a cluster counts as ready: every broker that should answer gives metadata that names
//! all of them, and the controller takes requests. Starts and stops nothing.

use std::time::Duration;

use futures::executor::block_on;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};

use crate::error::{KitError, Result};
use crate::wait::wait_for;

const ASK_TIMEOUT: Duration = Duration::from_secs(3);

/// Waits until the broker at `address` knows `brokers` brokers and reaches the controller.
/// `gone` is asked between two looks and ends the waiting with its reason.
pub fn wait_ready(
    address: &str,
    brokers: usize,
    timeout: Duration,
    gone: impl Fn() -> Option<String>,
) -> Result<()> {
    let probe = Probe::new(address)?;
    let what = format!("the Kafka broker at {address} answers");
    wait_for(timeout, &what, || match gone() {
        Some(reason) => Ok(Err(KitError::new(reason))),
        None => probe.look(brokers).map(Ok),
    })?
}

struct Probe {
    consumer: BaseConsumer,
    admin: AdminClient<DefaultClientContext>,
}

impl Probe {
    fn new(address: &str) -> Result<Probe> {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", address)
            .set("reconnect.backoff.ms", "20")
            .set("reconnect.backoff.max.ms", "100");
        let failed = |error| KitError::new(format!("cannot make a client for {address}: {error}"));
        Ok(Probe {
            consumer: config.create().map_err(failed)?,
            admin: config.create().map_err(failed)?,
        })
    }

    fn look(&self, brokers: usize) -> std::result::Result<(), String> {
        let metadata = self
            .consumer
            .fetch_metadata(None, ASK_TIMEOUT)
            .map_err(|error| format!("no metadata ({error})"))?;
        let seen = metadata.brokers().len();
        if seen < brokers {
            return Err(format!("metadata names {seen} of {brokers} brokers"));
        }
        // In KRaft the metadata's "controller" is any broker. Only a request that the controller
        // itself must answer proves it; this one is validated there and changes nothing.
        let topic =
            NewTopic::new("oncegate-testkit-readiness", 1, TopicReplication::Fixed(brokers as i32));
        let options = AdminOptions::new()
            .request_timeout(Some(ASK_TIMEOUT))
            .operation_timeout(Some(ASK_TIMEOUT))
            .validate_only(true);
        let answer = block_on(self.admin.create_topics([&topic], &options))
            .map_err(|error| format!("the controller does not answer ({error})"))?;
        match answer.into_iter().next() {
            Some(Err((_, code))) => Err(format!("the controller refuses a topic ({code})")),
            _ => Ok(()),
        }
    }
}
