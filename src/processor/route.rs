//! What a worker needs to know of its route: names, rules, limits.
//! Must not be in here: how a configuration file spells it.

use crate::gate::Policy;
use crate::identity::Recipe;
use crate::journal::EntryContext;
use crate::kafka::broker::TopicIds;
use std::sync::Arc;

/// When a batch is closed: whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchBounds {
    /// Records over all partitions.
    pub records_max: usize,
    /// Bytes over all partitions.
    pub bytes_max: usize,
    /// Milliseconds since its first record was polled.
    pub wait_ms_max: u64,
}

/// A route as its workers see it.
#[derive(Clone)]
pub struct Route {
    /// Its name.
    pub name: String,
    /// `group/route`, as in the header `oncegate-route` and in journal entries.
    pub full_name: String,
    /// Consumer group: `group.route`.
    pub group_id: String,
    /// Raw topic.
    pub raw_topic: String,
    /// Clean topic.
    pub clean_topic: String,
    /// Quarantine topic.
    pub quarantine_topic: String,
    /// Journal topic.
    pub journal_topic: String,
    /// How identity is derived.
    pub recipe: Arc<Recipe>,
    /// How verdicts are made.
    pub policy: Policy,
    /// The largest quarantine record, in bytes before compression.
    pub quarantine_bytes_max: usize,
    /// When a batch is closed.
    pub batch: BatchBounds,
    /// Id of the clean topic.
    pub clean_topic_id: String,
    /// Id of the quarantine topic.
    pub quarantine_topic_id: String,
}

impl Route {
    /// What the route's journal entries have in common.
    pub fn entry_context(&self, ids: &TopicIds) -> EntryContext {
        EntryContext {
            route: self.full_name.clone(),
            raw_topic_id: ids.raw.clone(),
            journal_topic_id: ids.journal.clone(),
            raw_partitions: ids.raw_partitions,
            recipe_fingerprint: self.recipe.fingerprint(),
        }
    }

    /// Recipe and version, as in the header `oncegate-recipe`.
    pub fn recipe_name(&self) -> String {
        format!("{}/{}", self.recipe.name(), self.recipe.version())
    }
}
