//! The only place that names rdkafka: clients, their settings, and what is asked of a cluster.
//!
//! `broker` and `witnesses` hold the traits that the processor is written against; they and the
//! values in them know no client. This room never imports `store`.

pub mod broker;
mod client;
mod member;
mod producer;
mod reader;
mod topic_ids;
pub mod witnesses;

pub use client::KafkaBroker;
pub use reader::KafkaWitnesses;
pub use topic_ids::TopicDescription;

use crate::gate::Target;
use rdkafka::config::RDKafkaLogLevel;

/// Names of a route's topics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteTopics {
    /// Raw.
    pub raw: String,
    /// Clean.
    pub clean: String,
    /// Quarantine.
    pub quarantine: String,
    /// Audit.
    pub audit: String,
    /// Journal.
    pub journal: String,
}

impl RouteTopics {
    /// The topic of an output.
    pub fn name(&self, target: Target) -> &str {
        match target {
            Target::Clean => &self.clean,
            Target::Quarantine => &self.quarantine,
            Target::Audit => &self.audit,
            Target::Journal => &self.journal,
        }
    }
}

/// Reads the answer to a question for the raw and the journal topic. An unknown id equals
/// nothing, so a cluster that gives none is no answer.
fn topic_ids_of(
    topics: &RouteTopics,
    described: &[TopicDescription],
) -> Result<broker::TopicIds, String> {
    let find = |name: &str| {
        (described.iter())
            .find(|topic| topic.name == name && !topic.id.is_empty())
            .ok_or_else(|| format!("the cluster gives no id for topic {name}"))
    };
    let (raw, journal) = (find(&topics.raw)?, find(&topics.journal)?);
    Ok(broker::TopicIds {
        raw: raw.id.clone(),
        journal: journal.id.clone(),
        raw_partitions: raw.partitions,
    })
}

/// A line of the client library, at its own level; what it retries by itself is no error yet.
fn log_line(level: RDKafkaLogLevel, fac: &str, message: &str) {
    match level {
        RDKafkaLogLevel::Emerg
        | RDKafkaLogLevel::Alert
        | RDKafkaLogLevel::Critical
        | RDKafkaLogLevel::Error => tracing::warn!(target: "librdkafka", "{fac}: {message}"),
        RDKafkaLogLevel::Warning | RDKafkaLogLevel::Notice => {
            tracing::info!(target: "librdkafka", "{fac}: {message}");
        }
        RDKafkaLogLevel::Info | RDKafkaLogLevel::Debug => {
            tracing::debug!(target: "librdkafka", "{fac}: {message}");
        }
    }
}
