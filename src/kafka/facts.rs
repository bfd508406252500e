//! What is known of the cluster, gathered once and kept as plain values, so that what they mean is
//! judged without a broker. Must not be in here: a judgement.

use super::admin::{Admin, AdminError, TopicDescription, TopicState};
use super::rights::Rights;
use std::collections::BTreeMap;

/// Configs by name, defaults included.
pub type Configs = BTreeMap<String, String>;

/// The cluster as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterFacts {
    /// Configs of one broker, which stands for all; `None` where this user may not ask.
    pub broker: Option<Configs>,
    /// Every topic that was asked for.
    pub topics: BTreeMap<String, TopicFacts>,
    /// What this user may do to groups, of which the cluster says so.
    pub groups: BTreeMap<String, Rights>,
}

/// A topic as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopicFacts {
    /// It is not there.
    Missing,
    /// This user may not know.
    Denied,
    /// It is there.
    Present {
        /// Id, partitions, replication.
        description: TopicDescription,
        /// Its configs; `None` where this user may not ask.
        configs: Option<Configs>,
    },
}

impl ClusterFacts {
    /// A topic that is there.
    pub fn description(&self, topic: &str) -> Option<&TopicDescription> {
        match self.topics.get(topic)? {
            TopicFacts::Present { description, .. } => Some(description),
            TopicFacts::Missing | TopicFacts::Denied => None,
        }
    }

    /// The configs of a topic that is there and may be asked.
    pub fn configs(&self, topic: &str) -> Option<&Configs> {
        match self.topics.get(topic)? {
            TopicFacts::Present { configs, .. } => configs.as_ref(),
            TopicFacts::Missing | TopicFacts::Denied => None,
        }
    }

    /// A config of a topic.
    pub fn config(&self, topic: &str, name: &str) -> Option<&str> {
        self.configs(topic)?.get(name).map(String::as_str)
    }

    /// A config of a topic that is a number.
    pub fn number(&self, topic: &str, name: &str) -> Option<i64> {
        self.config(topic, name)?.parse().ok()
    }

    /// A config of the brokers that is a number.
    pub fn broker_number(&self, name: &str) -> Option<i64> {
        self.broker.as_ref()?.get(name)?.parse().ok()
    }
}

/// Asks the cluster for everything about these topics and groups.
///
/// # Errors
/// [`AdminError`] where it gives no answer.
pub fn gather(admin: &Admin, topics: &[&str], groups: &[&str]) -> Result<ClusterFacts, AdminError> {
    let brokers = admin.broker_ids()?;
    let broker = match brokers.iter().min() {
        Some(id) => admin.broker_config(*id)?,
        None => None,
    };
    let states = admin.describe_topics(topics)?;
    let is_present = |state: &TopicState| matches!(state, TopicState::Present(_));
    let present: Vec<&str> = (states.iter())
        .filter(|(_, state)| is_present(state))
        .map(|(name, _)| name.as_str())
        .collect();
    let mut configs = admin.topic_configs(&present)?;
    let facts = |(name, state): (String, TopicState)| {
        let facts = match state {
            TopicState::Present(description) => {
                TopicFacts::Present { description, configs: configs.remove(&name) }
            }
            TopicState::Missing => TopicFacts::Missing,
            TopicState::Denied => TopicFacts::Denied,
        };
        (name, facts)
    };
    let topics = states.into_iter().map(facts).collect();
    Ok(ClusterFacts { broker, topics, groups: admin.group_rights(groups) })
}
