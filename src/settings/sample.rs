//! A route for tests of other rooms.
//! Must not be in here: anything that the product needs.
#![cfg(test)]

use super::model::{Arrival, BatchSettings, RouteSettings, UNBOUNDED_FUTURE_MICROS};
use crate::gate::ConflictPolicy;
use crate::identity::Recipe;
use std::sync::Arc;

/// A sound route without a window: raw, clean, quarantine, audit, g.lab.journal.
pub(crate) fn sample_route() -> RouteSettings {
    let text = include_str!("../../config/recipes/lab-result.toml");
    RouteSettings {
        name: "lab".into(),
        group_id: "g.lab".into(),
        raw: "raw".into(),
        clean: "clean".into(),
        quarantine: "quarantine".into(),
        audit: "audit".into(),
        journal: "g.lab.journal".into(),
        recipe: Arc::new(Recipe::parse("lab-result.toml", text).unwrap()),
        window_micros: None,
        future_micros_max: UNBOUNDED_FUTURE_MICROS,
        conflict: ConflictPolicy::Quarantine,
        arrival: Arrival::LogAppendTime,
        keep_timestamp: true,
        workers: 1,
        batch: BatchSettings { records: 20_000, bytes: 32 << 20, wait_ms: 50 },
        session_timeout_ms: 10_000,
        transaction_timeout_ms: 10_000,
        shutdown_ms: 25_000,
    }
}
