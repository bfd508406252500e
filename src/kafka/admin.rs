//! The admin side: what the cluster is, what its topics are, and the creation of missing ones.
//! Must not be in here: whether what is found is right; or any change of what exists.

use super::advice::{is_denial, telling, with_advice};
use super::config::admin_config;
use super::describe::{describe_topics, noted_errors};
use super::rights::{Rights, group_rights};
use crate::settings::ClientProperties;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_executor::block_on;
use rdkafka::admin::{
    AdminClient, AdminOptions, ConfigResource, NewTopic, OwnedResourceSpecifier, ResourceSpecifier,
    TopicReplication,
};
use rdkafka::client::DefaultClientContext;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaErrorCode;
use std::collections::BTreeMap;
use std::time::Duration;

/// Stands for the cluster's default where Kafka takes a number.
const CLUSTER_DEFAULT: i32 = -1;

/// How long a group's coordinator is waited for.
const COORDINATOR_WAIT_MAX: Duration = Duration::from_secs(3);

/// Id of a topic, as Kafka prints it. A topic created again has another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(String);

impl TopicId {
    /// The id of these two halves; `None` for zero, which brokers without ids give.
    pub fn from_halves(most: i64, least: i64) -> Option<TopicId> {
        if (most, least) == (0, 0) {
            return None;
        }
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&most.to_be_bytes());
        bytes[8..].copy_from_slice(&least.to_be_bytes());
        Some(TopicId(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// As Kafka prints it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for TopicId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why the cluster gave no answer, by what the caller can do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdminError {
    /// Nobody answered: try again later.
    #[error("the cluster cannot be reached: {0}")]
    Unreachable(String),
    /// The cluster does not let this user in, or does not let it do this: a person must act.
    #[error("the cluster refuses: {0}")]
    Denied(String),
    /// The cluster said no for another reason.
    #[error("the cluster answers: {0}")]
    Failed(String),
}

/// What the cluster says of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopicState {
    /// It is there.
    Present(TopicDescription),
    /// It is not.
    Missing,
    /// This user may not know.
    Denied,
}

/// A topic as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicDescription {
    /// Its id; `None` from brokers that have none.
    pub id: Option<TopicId>,
    /// Number of partitions.
    pub partitions: i32,
    /// Replicas of the partition that has fewest.
    pub replication: i32,
    /// What this user may do to it; `None` where the cluster does not say.
    pub rights: Option<Rights>,
}

/// A topic to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTopicSpec {
    /// Its name.
    pub name: String,
    /// Number of partitions.
    pub partitions: i32,
    /// Replicas of each partition; `None`: the cluster's default.
    pub replication: Option<i32>,
    /// Configs that differ from the cluster's defaults.
    pub config: BTreeMap<String, String>,
}

/// An admin client. Its calls block, each for no longer than its time-out.
pub struct Admin {
    client: AdminClient<DefaultClientContext>,
    properties: ClientProperties,
    timeout: Duration,
}

impl Admin {
    /// Makes a client; asks nothing yet.
    ///
    /// # Errors
    /// [`AdminError::Failed`] where librdkafka refuses the properties.
    pub fn new(properties: &ClientProperties, timeout: Duration) -> Result<Admin, AdminError> {
        let failed = |text: String| AdminError::Failed(properties.scrub(&text));
        let client = admin_config(properties).create().map_err(|error| match error {
            // Its own text would end with the value.
            KafkaError::ClientConfig(_, _, name, _) => failed(format!("`{name}` is not taken")),
            other => failed(other.to_string()),
        })?;
        Ok(Admin { client, properties: properties.clone(), timeout })
    }

    /// The ids of the brokers: the sign that the cluster can be reached.
    ///
    /// # Errors
    /// [`AdminError`] by cause.
    pub fn broker_ids(&self) -> Result<Vec<i32>, AdminError> {
        let metadata = self.client.inner().fetch_metadata(None, self.timeout);
        let metadata = metadata.map_err(|error| self.error(&error))?;
        Ok(metadata.brokers().iter().map(|broker| broker.id()).collect())
    }

    /// What the cluster says of each topic.
    ///
    /// # Errors
    /// [`AdminError`] where it says nothing at all.
    pub fn describe_topics(
        &self,
        names: &[&str],
    ) -> Result<BTreeMap<String, TopicState>, AdminError> {
        let mut names = names.to_vec();
        names.sort_unstable();
        names.dedup();
        let described = describe_topics(self.client.inner(), &names, self.timeout);
        let described = described.map_err(|code| self.error_of_code(code))?;
        // Asked again and again, this client would pile up what it notes and nobody reads.
        drop(noted_errors(self.client.inner()));
        let mut states = BTreeMap::new();
        for topic in described {
            let state = match topic.answer {
                Ok(found) => TopicState::Present(TopicDescription {
                    id: found.id,
                    partitions: found.partitions,
                    replication: found.replication,
                    rights: found.rights,
                }),
                Err(RDKafkaErrorCode::UnknownTopicOrPartition | RDKafkaErrorCode::UnknownTopic) => {
                    TopicState::Missing
                }
                Err(RDKafkaErrorCode::TopicAuthorizationFailed) => TopicState::Denied,
                Err(code) => return Err(self.error_of_code(code)),
            };
            states.insert(topic.name, state);
        }
        Ok(states)
    }

    /// What this user may do to groups. A group whose coordinator does not tell in time is left out:
    /// that it is away is no reason to find nothing else out.
    pub fn group_rights(&self, groups: &[&str]) -> BTreeMap<String, Rights> {
        let mut groups = groups.to_vec();
        groups.sort_unstable();
        groups.dedup();
        let timeout = self.timeout.min(COORDINATOR_WAIT_MAX);
        let rights = group_rights(self.client.inner(), &groups, timeout);
        drop(noted_errors(self.client.inner()));
        rights.unwrap_or_default()
    }

    /// The configs of topics, defaults included; topics that may not be asked are left out.
    ///
    /// # Errors
    /// [`AdminError`] where the cluster says nothing at all.
    pub fn topic_configs(
        &self,
        names: &[&str],
    ) -> Result<BTreeMap<String, BTreeMap<String, String>>, AdminError> {
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        let topics: Vec<_> = names.iter().map(|name| ResourceSpecifier::Topic(name)).collect();
        let mut configs = BTreeMap::new();
        for resource in self.configs(&topics)? {
            match resource {
                // The wrapper passes over refusals: what it gives then has no entries.
                Ok(ConfigResource { specifier: OwnedResourceSpecifier::Topic(name), entries })
                    if !entries.is_empty() =>
                {
                    configs.insert(name, values(entries));
                }
                Ok(_) => {}
                Err(
                    RDKafkaErrorCode::UnknownTopicOrPartition
                    | RDKafkaErrorCode::TopicAuthorizationFailed,
                ) => {}
                Err(code) => return Err(self.error_of_code(code)),
            }
        }
        Ok(configs)
    }

    /// The configs of a broker, defaults included; `None` where this user may not ask.
    ///
    /// # Errors
    /// [`AdminError`] where the cluster says nothing at all.
    pub fn broker_config(&self, id: i32) -> Result<Option<BTreeMap<String, String>>, AdminError> {
        match self.configs(&[ResourceSpecifier::Broker(id)])?.into_iter().next() {
            Some(Ok(resource)) if resource.entries.is_empty() => Ok(None),
            Some(Ok(resource)) => Ok(Some(values(resource.entries))),
            None | Some(Err(RDKafkaErrorCode::ClusterAuthorizationFailed)) => Ok(None),
            Some(Err(code)) => Err(self.error_of_code(code)),
        }
    }

    fn configs(
        &self,
        resources: &[ResourceSpecifier<'_>],
    ) -> Result<Vec<Result<ConfigResource, RDKafkaErrorCode>>, AdminError> {
        let asked = self.client.describe_configs(resources, &self.options());
        block_on(asked).map_err(|error| self.error(&error))
    }

    /// Creates topics; tells for each whether it was created, or why not.
    ///
    /// # Errors
    /// [`AdminError`] where the cluster says nothing at all.
    pub fn create_topics(
        &self,
        topics: &[NewTopicSpec],
    ) -> Result<BTreeMap<String, Result<(), AdminError>>, AdminError> {
        if topics.is_empty() {
            return Ok(BTreeMap::new());
        }
        let topics: Vec<NewTopic<'_>> = topics.iter().map(new_topic).collect();
        let created = self.client.create_topics(&topics, &self.options());
        let created = block_on(created).map_err(|error| self.error(&error))?;
        let result = |created| match created {
            Ok(name) => (name, Ok(())),
            Err((name, code)) => (name, Err(self.error_of_code(code))),
        };
        Ok(created.into_iter().map(result).collect())
    }

    fn options(&self) -> AdminOptions {
        AdminOptions::new()
            .request_timeout(Some(self.timeout))
            .operation_timeout(Some(self.timeout))
    }

    fn error(&self, error: &KafkaError) -> AdminError {
        match error.rdkafka_error_code() {
            Some(code) => self.error_of_code(code),
            None => AdminError::Failed(self.properties.scrub(&error.to_string())),
        }
    }

    fn error_of_code(&self, code: RDKafkaErrorCode) -> AdminError {
        use RDKafkaErrorCode as Code;
        match code {
            Code::BrokerTransportFailure
            | Code::AllBrokersDown
            | Code::OperationTimedOut
            | Code::RequestTimedOut
            | Code::Resolve
            | Code::NotController
            | Code::LeaderNotAvailable
            | Code::BrokerNotAvailable => self.unanswered(),
            Code::Authentication
            | Code::SaslAuthenticationFailed
            | Code::SSL
            | Code::ClusterAuthorizationFailed
            | Code::TopicAuthorizationFailed
            | Code::PolicyViolation => AdminError::Denied(code.to_string()),
            _ => AdminError::Failed(code.to_string()),
        }
    }

    /// Nobody answered in time: the client's own notes tell why.
    fn unanswered(&self) -> AdminError {
        let noted = noted_errors(self.client.inner());
        let Some(reason) = telling(&noted) else {
            return AdminError::Unreachable("no answer in time".to_owned());
        };
        let text = self.properties.scrub(&with_advice(reason));
        if is_denial(reason) { AdminError::Denied(text) } else { AdminError::Unreachable(text) }
    }
}

fn new_topic(spec: &NewTopicSpec) -> NewTopic<'_> {
    let replication = TopicReplication::Fixed(spec.replication.unwrap_or(CLUSTER_DEFAULT));
    let topic = NewTopic::new(&spec.name, spec.partitions, replication);
    spec.config.iter().fold(topic, |topic, (name, value)| topic.set(name, value))
}

fn values(entries: Vec<rdkafka::admin::ConfigEntry>) -> BTreeMap<String, String> {
    entries.into_iter().filter_map(|entry| Some((entry.name, entry.value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topic_ids_are_printed_as_kafka_prints_them() {
        // Kafka's `Uuid.METADATA_TOPIC_ID` is the number 1.
        let one = TopicId::from_halves(0, 1).unwrap();
        assert_eq!(one.as_str(), "AAAAAAAAAAAAAAAAAAAAAQ");
        assert_eq!(TopicId::from_halves(-1, -1).unwrap().as_str(), "_____________________w");
        assert_eq!(TopicId::from_halves(0, 0), None);
    }
}
