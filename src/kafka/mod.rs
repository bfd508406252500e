//! The only place that names rdkafka: clients, their settings, and what is asked of a cluster.
//!
//! `broker` and `witnesses` hold the traits that the processor is written against, `logs` those of
//! the evidence commands; they and the values in them know no client. `property` knows nothing of the house, so that the settings can
//! ask it whether librdkafka takes a value; `config` makes clients' configurations out of
//! settings; `admin` asks the cluster what it is. Must not be in here: verdicts, stores, or what a
//! finding means.

pub mod admin;
mod advice;
mod appender;
pub mod broker;
mod client;
pub mod config;
mod deliveries;
mod describe;
mod discard;
pub mod facts;
mod log_reader;
pub mod logs;
mod member;
mod offsets_call;
mod outlet;
mod producer;
pub mod property;
mod reader;
mod rights;
mod statistics;
mod upstream;
pub mod witnesses;

pub use admin::{Admin, AdminError, NewTopicSpec, TopicDescription, TopicId, TopicState};
pub use appender::{AppendRecord, Appender};
pub use client::KafkaBroker;
pub use config::OutputLimits;
pub use facts::{ClusterFacts, Configs, TopicFacts};
pub use log_reader::KafkaLogs;
pub use reader::KafkaWitnesses;
pub use rights::Rights;

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
    described: &[describe::Described],
) -> Result<broker::TopicIds, String> {
    let find = |name: &str| {
        let found = described.iter().find(|topic| topic.name == name);
        let found = found.ok_or_else(|| format!("the cluster says nothing of topic {name}"))?;
        match &found.answer {
            Ok(description) => match &description.id {
                Some(id) => Ok((id.to_string(), description.partitions)),
                None => Err(format!("the cluster gives no id for topic {name}")),
            },
            Err(code) => Err(format!("topic {name}: {code}")),
        }
    };
    let ((raw, raw_partitions), (journal, _)) = (find(&topics.raw)?, find(&topics.journal)?);
    Ok(broker::TopicIds { raw, journal, raw_partitions })
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
