//! The metrics, and the observer that counts them.
//! Must not be in here: labels without a bound, or a value of an event.

use super::board::{Board, WorkerId};
use crate::gate::Counts;
use crate::processor::observer::{Observer, WorkerView};
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry, TextEncoder};
use std::sync::Arc;

/// Every metric of the process.
pub struct Metrics {
    registry: Registry,
    records: IntCounterVec,
    events: IntCounterVec,
    transactions: IntCounterVec,
    transaction_seconds: HistogramVec,
}

impl Metrics {
    /// Registers all metrics.
    ///
    /// # Errors
    /// Two of them have one name: a mistake in this file, which a test finds.
    pub fn new() -> prometheus::Result<Metrics> {
        let counters = |name: &str, help: &str, labels: &[&str]| {
            IntCounterVec::new(Opts::new(name, help), labels)
        };
        let metrics = Metrics {
            registry: Registry::new(),
            records: counters(
                "oncegate_records_total",
                "Raw records decided in committed transactions.",
                &["route", "partition", "replay"],
            )?,
            events: counters(
                "oncegate_events_total",
                "Events decided in committed transactions, by verdict or quarantine reason.",
                &["route", "partition", "replay", "verdict"],
            )?,
            transactions: counters(
                "oncegate_transactions_total",
                "Transactions by outcome.",
                &["route", "outcome"],
            )?,
            transaction_seconds: HistogramVec::new(
                HistogramOpts::new(
                    "oncegate_transaction_duration_seconds",
                    "From the verdicts to the broker's answer, committed transactions only.",
                )
                .buckets(prometheus::exponential_buckets(0.002, 2.0, 14)?),
                &["route"],
            )?,
        };
        metrics.registry.register(Box::new(metrics.records.clone()))?;
        metrics.registry.register(Box::new(metrics.events.clone()))?;
        metrics.registry.register(Box::new(metrics.transactions.clone()))?;
        metrics.registry.register(Box::new(metrics.transaction_seconds.clone()))?;
        Ok(metrics)
    }

    /// The exposition text.
    pub fn text(&self) -> String {
        // The encoder fails only for a family without metrics, which the registry leaves out.
        TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap_or_default()
    }

    fn count(&self, route: &str, partition: &str, replay: &str, counts: &Counts) {
        self.records.with_label_values(&[route, partition, replay]).inc_by(counts.records);
        let events = |verdict: &str, count: u64| {
            self.events.with_label_values(&[route, partition, replay, verdict]).inc_by(count);
        };
        events("first", counts.first);
        events("duplicate", counts.duplicate);
        events("replayed", counts.replayed);
        events("correction", counts.correction);
        // Conflicts that the route quarantines stand under the same name among the reasons.
        events("conflict", counts.conflict);
        for (reason, count) in &counts.quarantined {
            events(reason, *count);
        }
    }
}

/// Counts what one worker tells, and puts its view on the board.
pub struct Counting {
    worker: WorkerId,
    metrics: Arc<Metrics>,
    board: Arc<Board>,
}

impl Counting {
    /// For one worker.
    pub fn new(worker: WorkerId, metrics: Arc<Metrics>, board: Arc<Board>) -> Counting {
        Counting { worker, metrics, board }
    }
}

impl Observer for Counting {
    fn committed(&mut self, parts: &[(i32, &Counts, &Counts)], milliseconds: u64) {
        let route = self.worker.0.as_str();
        for (partition, counts, replay_counts) in parts {
            let partition = partition.to_string();
            self.metrics.count(route, &partition, "false", counts);
            self.metrics.count(route, &partition, "true", replay_counts);
        }
        self.metrics.transactions.with_label_values(&[route, "committed"]).inc();
        let seconds = milliseconds as f64 / 1000.0;
        self.metrics.transaction_seconds.with_label_values(&[route]).observe(seconds);
    }

    fn not_committed(&mut self, cause: &'static str) {
        let route = self.worker.0.as_str();
        self.metrics.transactions.with_label_values(&[route, cause]).inc();
    }

    fn viewed(&mut self, view: WorkerView) {
        self.board.set(&self.worker, view);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_reach_the_exposition() {
        let metrics = Arc::new(Metrics::new().unwrap());
        let board = Arc::new(Board::new(1));
        let mut counting = Counting::new(("lab".into(), 0), metrics.clone(), board);
        let counts = Counts { records: 3, first: 2, duplicate: 1, ..Counts::default() };
        counting.committed(&[(4, &counts, &Counts::default())], 7);
        let text = metrics.text();
        let line =
            r#"oncegate_events_total{partition="4",replay="false",route="lab",verdict="first"} 2"#;
        assert!(text.contains(line), "{text}");
    }
}
