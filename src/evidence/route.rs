//! What of a route its proofs need.
//! Must not be in here: settings that only the running gate needs.

use super::source_header::SourcePosition;
use crate::identity::{Granularity, Recipe};
use crate::settings::RouteSettings;
use std::sync::Arc;

/// A route whose topics are read.
#[derive(Clone)]
pub struct RouteUnderProof {
    /// Its name.
    pub name: String,
    /// Its consumer group.
    pub group: String,
    /// As in the header `oncegate-route` and in the journal.
    pub label: String,
    /// Raw topic.
    pub raw: String,
    /// Clean topic.
    pub clean: String,
    /// Quarantine topic.
    pub quarantine: String,
    /// Journal topic.
    pub journal: String,
    /// How events get their keys.
    pub recipe: Arc<Recipe>,
}

impl RouteUnderProof {
    /// The route of these settings, whose groups begin with `group`.
    pub fn new(group: &str, settings: &RouteSettings) -> RouteUnderProof {
        RouteUnderProof {
            name: settings.name.clone(),
            group: settings.group_id.clone(),
            label: format!("{group}/{}", settings.name),
            raw: settings.raw.clone(),
            clean: settings.clean.clone(),
            quarantine: settings.quarantine.clone(),
            journal: settings.journal.clone(),
            recipe: settings.recipe.clone(),
        }
    }

    /// A raw position of one event, in the form of the header `oncegate-source`.
    pub fn place(&self, source: SourcePosition) -> String {
        format!("{}/{}", self.raw, source.shown(self.is_itemized()))
    }

    /// Whether an event is one item of its record.
    pub fn is_itemized(&self) -> bool {
        self.recipe.granularity() == Granularity::Items
    }
}
