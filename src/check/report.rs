//! What a check found, and the numbers that the gate needs of it.
//! Must not be in here: how anything is found.

use crate::kafka::{OutputLimits, TopicId};
use std::fmt;

/// Whether the gate may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It may not: a promise would not hold.
    Error,
    /// It may, and a person should know.
    Warning,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// The topic, route or file that it is about.
    pub subject: String,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Error => "error",
            Level::Warning => "warning",
        };
        write!(f, "{level}: {}: {}", self.subject, self.what)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

/// Everything that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// What is wrong, by route.
    pub findings: Vec<Finding>,
    /// The routes whose topics are all known; without errors, these are all routes.
    pub routes: Vec<RouteFacts>,
}

impl CheckReport {
    /// How many findings have this level.
    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }

    /// Whether the gate may run.
    pub fn is_sound(&self) -> bool {
        self.count(Level::Error) == 0
    }

    /// The facts of a route.
    pub fn route(&self, name: &str) -> Option<&RouteFacts> {
        self.routes.iter().find(|route| route.name == name)
    }
}

/// What the gate needs to know of a route's topics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteFacts {
    /// The route.
    pub name: String,
    /// Number of raw partitions.
    pub raw_partitions: i32,
    /// Ids of its topics.
    pub ids: TopicIds,
    /// `max.message.bytes` of the clean topic.
    pub clean_bytes_max: usize,
    /// `max.message.bytes` of the quarantine topic.
    pub quarantine_bytes_max: usize,
    /// Smallest and largest `max.message.bytes` of the topics that it writes.
    pub limits: OutputLimits,
}

/// Ids of a route's topics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicIds {
    /// Of the raw topic.
    pub raw: TopicId,
    /// Of the clean topic.
    pub clean: TopicId,
    /// Of the quarantine topic.
    pub quarantine: TopicId,
    /// Of the audit topic.
    pub audit: TopicId,
    /// Of the journal.
    pub journal: TopicId,
}
