//! Creates, deletes, cuts and describes topics, and sets a group's offsets. Reads and writes no
//! records; the calls that the safe client lacks are in `topic_id` and `access`.

mod access;
mod topic_id;

use std::time::Duration;

use futures::executor::block_on;
use rdkafka::admin::{
    AdminClient, AdminOptions, AlterConfig, NewPartitions, NewTopic, ResourceSpecifier,
    TopicReplication,
};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

pub use access::{Acl, Operation, Resource};

use crate::error::{Doing, KitError, Result};
use crate::wait::wait_for;

const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const SETTLE_TIMEOUT: Duration = Duration::from_secs(30);

/// A topic to create.
#[derive(Clone, Debug)]
pub struct TopicSpec {
    name: String,
    partitions: i32,
    replication: i32,
    config: Vec<(String, String)>,
}

impl TopicSpec {
    /// A topic with the cluster's default replication.
    pub fn new(name: impl Into<String>, partitions: i32) -> TopicSpec {
        TopicSpec { name: name.into(), partitions, replication: -1, config: Vec::new() }
    }

    /// Sets a topic property such as `retention.ms`.
    pub fn config(mut self, name: &str, value: impl ToString) -> TopicSpec {
        self.config.push((name.to_owned(), value.to_string()));
        self
    }

    /// Sets the replication factor.
    pub fn replication(mut self, replication: i32) -> TopicSpec {
        self.replication = replication;
        self
    }
}

/// An offset to set for a group.
#[derive(Clone, Debug)]
pub struct GroupOffset {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The next offset to read.
    pub offset: i64,
    /// The metadata stored with it.
    pub metadata: String,
}

/// The hands on a cluster's topics and groups.
pub struct Admin {
    bootstrap: String,
    client: AdminClient<DefaultClientContext>,
    consumer: BaseConsumer,
}

impl Admin {
    /// For this cluster.
    pub fn new(bootstrap: &str) -> Result<Admin> {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", bootstrap)
            .set("allow.auto.create.topics", "false")
            .set("reconnect.backoff.ms", "20")
            .set("reconnect.backoff.max.ms", "500");
        let failed = || format!("cannot make an admin client for {bootstrap}");
        Ok(Admin {
            bootstrap: bootstrap.to_owned(),
            client: config.create().doing(failed)?,
            consumer: config.create().doing(failed)?,
        })
    }

    /// Creates topics and waits until each partition has a leader.
    pub fn create(&self, topics: &[TopicSpec]) -> Result<()> {
        let asked: Vec<NewTopic<'_>> = topics
            .iter()
            .map(|topic| {
                let replication = TopicReplication::Fixed(topic.replication);
                let new = NewTopic::new(&topic.name, topic.partitions, replication);
                topic.config.iter().fold(new, |new, (name, value)| new.set(name, value))
            })
            .collect();
        let answers = block_on(self.client.create_topics(&asked, &options()))
            .doing(|| "cannot create topics".to_owned())?;
        each_named(answers, "create")?;
        for topic in topics {
            self.wait_for_leaders(&topic.name, topic.partitions as usize)?;
        }
        Ok(())
    }

    /// Deletes topics and waits until they are gone.
    pub fn delete(&self, topics: &[&str]) -> Result<()> {
        let answers = block_on(self.client.delete_topics(topics, &options()))
            .doing(|| "cannot delete topics".to_owned())?;
        each_named(answers, "delete")?;
        for topic in topics {
            wait_for(SETTLE_TIMEOUT, &format!("topic {topic} is gone"), || {
                match self.leaders(topic) {
                    Ok(None) => Ok(()),
                    Ok(Some(_)) => Err("still there".to_owned()),
                    Err(error) => Err(error.to_string()),
                }
            })?;
        }
        Ok(())
    }

    /// Gives a topic more partitions.
    pub fn add_partitions(&self, topic: &str, total: usize) -> Result<()> {
        let asked = NewPartitions::new(topic, total);
        let answers = block_on(self.client.create_partitions([&asked], &options()))
            .doing(|| format!("cannot add partitions to {topic}"))?;
        each_named(answers, "add partitions to")?;
        self.wait_for_leaders(topic, total)
    }

    /// Deletes the records of a partition below an offset.
    pub fn delete_records(&self, topic: &str, partition: i32, before: i64) -> Result<()> {
        let what = || format!("cannot delete the records of {topic}/{partition} below {before}");
        let mut asked = TopicPartitionList::new();
        asked.add_partition_offset(topic, partition, Offset::Offset(before)).doing(what)?;
        let answer = block_on(self.client.delete_records(&asked, &options())).doing(what)?;
        answer.elements().iter().try_for_each(|element| element.error()).doing(what)
    }

    /// Deletes a group with its offsets.
    pub fn delete_group(&self, group: &str) -> Result<()> {
        let answers = block_on(self.client.delete_groups(&[group], &options()))
            .doing(|| format!("cannot delete group {group}"))?;
        each_named(answers, "delete group")
    }

    /// Sets the properties of a topic; those not named go back to the cluster's defaults.
    pub fn set_config(&self, topic: &str, properties: &[(&str, &str)]) -> Result<()> {
        let change = AlterConfig::new(ResourceSpecifier::Topic(topic));
        let change =
            properties.iter().fold(change, |change, (name, value)| change.set(name, value));
        let what = || format!("cannot set properties of {topic}");
        let answers = block_on(self.client.alter_configs([&change], &options())).doing(what)?;
        match answers.into_iter().next() {
            Some(Ok(_)) => Ok(()),
            other => Err(KitError::new(format!("{}: {other:?}", what()))),
        }
    }

    /// Sets the offsets of a group that has no members; the broker refuses it for one that has.
    pub fn set_group_offsets(&self, group: &str, offsets: &[GroupOffset]) -> Result<()> {
        let what = || format!("cannot set the offsets of group {group} (it must have no members)");
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", &self.bootstrap)
            .set("group.id", group)
            .set("enable.auto.commit", "false")
            .create()
            .doing(what)?;
        let mut list = TopicPartitionList::new();
        for one in offsets {
            let mut element = list.add_partition(&one.topic, one.partition);
            element.set_offset(Offset::Offset(one.offset)).doing(what)?;
            if !one.metadata.is_empty() {
                element.set_metadata(&one.metadata);
            }
        }
        consumer.commit(&list, CommitMode::Sync).doing(what)
    }

    /// The id of a topic, in the base64 that Kafka's tools print; none where there is no topic.
    /// A topic that was deleted and created again has another one.
    pub fn topic_id(&self, topic: &str) -> Result<Option<String>> {
        topic_id::describe(self.client.inner().native_ptr(), topic, REQUEST_TIMEOUT)
    }

    /// Lets every client do these things to a topic, on a broker that is asked for an authorizer
    /// and allows what no rule speaks of. After the first rule of a topic all else is forbidden.
    pub fn allow(&self, topic: &str, operations: &[Operation]) -> Result<()> {
        operations.iter().try_for_each(|operation| self.add_acl(&Acl::of_nobody(topic, *operation)))
    }

    /// Adds one rule.
    pub fn add_acl(&self, acl: &Acl) -> Result<()> {
        access::add(self.client.inner().native_ptr(), acl, REQUEST_TIMEOUT)
    }

    /// Takes one rule away.
    pub fn remove_acl(&self, acl: &Acl) -> Result<()> {
        access::remove(self.client.inner().native_ptr(), acl, REQUEST_TIMEOUT)
    }

    /// The node that leads a partition, for faults.
    pub fn leader(&self, topic: &str, partition: i32) -> Result<usize> {
        let what = format!("{topic}/{partition} has a leader");
        wait_for(SETTLE_TIMEOUT, &what, || {
            let leaders = self.leaders(topic).map_err(|error| error.to_string())?;
            let leader = leaders.and_then(|leaders| leaders.get(partition as usize).copied());
            match leader {
                Some(leader) if leader >= 0 => Ok(leader as usize),
                seen => Err(format!("{seen:?}")),
            }
        })
    }

    /// How many partitions of a topic lack a leader or a replica in sync.
    pub fn out_of_sync(&self, topic: &str) -> Result<usize> {
        let metadata = self
            .consumer
            .fetch_metadata(Some(topic), REQUEST_TIMEOUT)
            .doing(|| format!("cannot describe {topic}"))?;
        let partitions = metadata.topics().iter().flat_map(|topic| topic.partitions());
        let lacks = |partition: &&rdkafka::metadata::MetadataPartition| {
            partition.leader() < 0 || partition.isr().len() < partition.replicas().len()
        };
        Ok(partitions.filter(lacks).count())
    }

    fn wait_for_leaders(&self, topic: &str, partitions: usize) -> Result<()> {
        let what = format!("all {partitions} partitions of {topic} have a leader");
        wait_for(SETTLE_TIMEOUT, &what, || {
            let leaders = self.leaders(topic).map_err(|error| error.to_string())?;
            let leaders = leaders.unwrap_or_default();
            if leaders.len() == partitions && leaders.iter().all(|leader| *leader >= 0) {
                Ok(())
            } else {
                Err(format!("leaders {leaders:?}"))
            }
        })
    }

    /// The leader of each partition, -1 for none yet; `None` where there is no such topic.
    fn leaders(&self, topic: &str) -> Result<Option<Vec<i32>>> {
        let metadata = self
            .consumer
            .fetch_metadata(Some(topic), REQUEST_TIMEOUT)
            .doing(|| format!("cannot describe {topic}"))?;
        let Some(found) = metadata.topics().first() else {
            return Ok(None);
        };
        if found.error().is_some() || found.partitions().is_empty() {
            return Ok(None);
        }
        let mut leaders = vec![-1; found.partitions().len()];
        for partition in found.partitions() {
            if let Some(leader) = leaders.get_mut(partition.id() as usize) {
                *leader = partition.leader();
            }
        }
        Ok(Some(leaders))
    }
}

fn options() -> AdminOptions {
    AdminOptions::new()
        .request_timeout(Some(REQUEST_TIMEOUT))
        .operation_timeout(Some(REQUEST_TIMEOUT))
}

type Answer = std::result::Result<String, (String, rdkafka::error::RDKafkaErrorCode)>;

fn each_named(answers: Vec<Answer>, verb: &str) -> Result<()> {
    for answer in answers {
        if let Err((name, code)) = answer {
            return Err(KitError::new(format!("cannot {verb} {name}: {code}")));
        }
    }
    Ok(())
}
