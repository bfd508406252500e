//! The metrics, and the observer that counts them.
//! Must not be in here: labels without a bound, or a value of an event.

use super::board::{Board, WorkerId};
use crate::gate::{Counts, Reason};
use crate::processor::observer::{NotCommitted, Observer, WorkerView};
use crate::processor::refusal::RefusalCause;
use prometheus::{
    HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A transaction that was committed.
const COMMITTED: &str = "committed";
/// The states of a partition, as the workers tell them.
const STATES: [&str; 5] = ["restoring", "beginning", "running", "verifying", "refused"];
/// Verdicts that are no reasons of quarantine.
const VERDICTS: [&str; 5] = ["first", "duplicate", "replayed", "correction", "conflict"];
/// Every metric of the process.
pub struct Metrics {
    registry: Registry,
    records: IntCounterVec,
    events: IntCounterVec,
    transactions: IntCounterVec,
    transaction_seconds: HistogramVec,
    refusals: IntCounterVec,
    partition_state: IntGaugeVec,
    restore_next: IntGaugeVec,
    restore_end: IntGaugeVec,
    /// One scrape at a time: states are set anew for each.
    scrape: Mutex<()>,
}

impl Metrics {
    /// Registers all metrics, with 0 for each of these routes.
    ///
    /// # Errors
    /// Two of them have one name: a mistake in this file, which a test finds.
    pub fn new<'r>(routes: impl IntoIterator<Item = &'r str>) -> prometheus::Result<Metrics> {
        let counters = |name: &str, help: &str, labels: &[&str]| {
            IntCounterVec::new(Opts::new(name, help), labels)
        };
        let gauges = |name: &str, help: &str, labels: &[&str]| {
            IntGaugeVec::new(Opts::new(name, help), labels)
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
            refusals: counters(
                "oncegate_refusals_total",
                "How often a partition came to be refused, by cause.",
                &["route", "cause"],
            )?,
            partition_state: gauges(
                "oncegate_partition_state",
                "1 for the state in which an assigned partition is, 0 for the others.",
                &["route", "partition", "state"],
            )?,
            restore_next: gauges(
                "oncegate_restore_journal_next_offset",
                "The next journal offset that a store which is brought level has to read.",
                &["route", "partition"],
            )?,
            restore_end: gauges(
                "oncegate_restore_journal_end_offset",
                "The journal offset at which a store that is brought level is.",
                &["route", "partition"],
            )?,
            scrape: Mutex::default(),
        };
        metrics.registry.register(Box::new(metrics.records.clone()))?;
        metrics.registry.register(Box::new(metrics.events.clone()))?;
        metrics.registry.register(Box::new(metrics.transactions.clone()))?;
        metrics.registry.register(Box::new(metrics.transaction_seconds.clone()))?;
        metrics.registry.register(Box::new(metrics.refusals.clone()))?;
        metrics.registry.register(Box::new(metrics.partition_state.clone()))?;
        metrics.registry.register(Box::new(metrics.restore_next.clone()))?;
        metrics.registry.register(Box::new(metrics.restore_end.clone()))?;
        for route in routes {
            metrics.transaction_seconds.with_label_values(&[route]);
            let others = NotCommitted::ALL.iter().map(|how| how.as_str());
            for outcome in std::iter::once(COMMITTED).chain(others) {
                metrics.transactions.with_label_values(&[route, outcome]);
            }
            for cause in RefusalCause::ALL {
                metrics.refusals.with_label_values(&[route, cause.as_str()]);
            }
        }
        Ok(metrics)
    }

    /// The exposition text; the states of partitions as they stand on the board.
    pub fn text(&self, board: &Board) -> String {
        let _one = self.scrape.lock().unwrap_or_else(PoisonError::into_inner);
        self.partition_state.reset();
        self.restore_next.reset();
        self.restore_end.reset();
        for ((route, _), view) in board.views() {
            for partition in &view.partitions {
                let number = partition.partition.to_string();
                for state in STATES {
                    let labels = [route.as_str(), number.as_str(), state];
                    let is_in = i64::from(state == partition.state);
                    self.partition_state.with_label_values(&labels).set(is_in);
                }
                if let Some(progress) = partition.restoring {
                    let labels = [route.as_str(), number.as_str()];
                    self.restore_next.with_label_values(&labels).set(progress.next);
                    self.restore_end.with_label_values(&labels).set(progress.end);
                }
            }
        }
        // The encoder fails only for a family without metrics, which the registry leaves out.
        TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap_or_default()
    }

    /// Has every series of an assigned partition begin with 0.
    fn begin(&self, route: &str, partition: &str) {
        for replay in ["false", "true"] {
            self.records.with_label_values(&[route, partition, replay]);
            let reasons = Reason::all().map(|reason| reason.as_str());
            for verdict in VERDICTS.into_iter().chain(reasons) {
                self.events.with_label_values(&[route, partition, replay, verdict]);
            }
        }
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
    /// The cause, where one is, for which each assigned partition is refused.
    seen: BTreeMap<i32, Option<RefusalCause>>,
}

impl Counting {
    /// For one worker.
    pub fn new(worker: WorkerId, metrics: Arc<Metrics>, board: Arc<Board>) -> Counting {
        Counting { worker, metrics, board, seen: BTreeMap::new() }
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
        self.metrics.transactions.with_label_values(&[route, COMMITTED]).inc();
        let seconds = milliseconds as f64 / 1000.0;
        self.metrics.transaction_seconds.with_label_values(&[route]).observe(seconds);
    }

    fn not_committed(&mut self, how: NotCommitted) {
        let route = self.worker.0.as_str();
        self.metrics.transactions.with_label_values(&[route, how.as_str()]).inc();
    }

    fn viewed(&mut self, view: WorkerView) {
        let route = self.worker.0.as_str();
        let now: BTreeMap<i32, Option<RefusalCause>> = (view.partitions.iter())
            .map(|partition| {
                (partition.partition, partition.refusal.as_ref().map(|refusal| refusal.cause))
            })
            .collect();
        for (partition, cause) in &now {
            let before = self.seen.get(partition);
            if before.is_none() {
                self.metrics.begin(route, &partition.to_string());
            }
            if let Some(cause) = cause.filter(|_| before != Some(cause)) {
                self.metrics.refusals.with_label_values(&[route, cause.as_str()]).inc();
            }
        }
        self.seen = now;
        self.board.set(&self.worker, view);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::observer::PartitionView;
    use crate::processor::refusal::Refusal;
    use crate::processor::restore::JournalProgress;

    fn counting() -> (Arc<Metrics>, Arc<Board>, Counting) {
        let metrics = Arc::new(Metrics::new(["lab", "other"]).unwrap());
        let board = Arc::new(Board::new(1));
        let counting = Counting::new(("lab".into(), 0), metrics.clone(), board.clone());
        (metrics, board, counting)
    }

    fn view(state: &'static str, refusal: Option<RefusalCause>) -> WorkerView {
        let refusal = refusal.map(|cause| Refusal { cause, message: "why".into() });
        let restoring = (state == "restoring").then_some(JournalProgress { next: 7, end: 9 });
        let partition = PartitionView {
            partition: 4,
            state,
            committed_next: 0,
            refusal,
            waits_for: None,
            restoring,
        };
        WorkerView { joined: true, producing: true, hindered: None, partitions: vec![partition] }
    }

    fn assert_says(text: &str, lines: &[&str]) {
        for line in lines {
            assert!(text.lines().any(|said| said == *line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn counts_reach_the_exposition() {
        let (metrics, board, mut counting) = counting();
        let counts = Counts { records: 3, first: 2, duplicate: 1, ..Counts::default() };
        counting.committed(&[(4, &counts, &Counts::default())], 7);
        let line =
            r#"oncegate_events_total{partition="4",replay="false",route="lab",verdict="first"} 2"#;
        assert_says(&metrics.text(&board), &[line]);
    }

    #[test]
    fn every_series_begins_with_0() {
        let (metrics, board, mut counting) = counting();
        let routes = [
            r#"oncegate_transactions_total{outcome="committed",route="lab"} 0"#,
            r#"oncegate_transactions_total{outcome="aborted",route="other"} 0"#,
            r#"oncegate_transaction_duration_seconds_count{route="other"} 0"#,
            r#"oncegate_refusals_total{cause="journal-cut",route="lab"} 0"#,
        ];
        assert_says(&metrics.text(&board), &routes);
        counting.viewed(view("restoring", None));
        let partitions = [
            r#"oncegate_records_total{partition="4",replay="false",route="lab"} 0"#,
            r#"oncegate_events_total{partition="4",replay="true",route="lab",verdict="late"} 0"#,
            r#"oncegate_events_total{partition="4",replay="false",route="lab",verdict="first"} 0"#,
            r#"oncegate_restore_journal_next_offset{partition="4",route="lab"} 7"#,
            r#"oncegate_restore_journal_end_offset{partition="4",route="lab"} 9"#,
        ];
        assert_says(&metrics.text(&board), &partitions);
        assert_says(&metrics.text(&board), &routes);
    }

    #[test]
    fn a_refusal_is_seen_and_counted_once() {
        let (metrics, board, mut counting) = counting();
        counting.viewed(view("running", None));
        for _ in 0..2 {
            counting.viewed(view("refused", Some(RefusalCause::JournalCut)));
        }
        let text = metrics.text(&board);
        assert!(!text.contains("oncegate_restore_journal"), "nothing is restored");
        let lines = [
            r#"oncegate_partition_state{partition="4",route="lab",state="refused"} 1"#,
            r#"oncegate_partition_state{partition="4",route="lab",state="running"} 0"#,
            r#"oncegate_refusals_total{cause="journal-cut",route="lab"} 1"#,
        ];
        assert_says(&text, &lines);
        counting.viewed(WorkerView::default());
        assert!(
            !metrics.text(&board).contains("oncegate_partition_state{"),
            "it is no longer ours"
        );
    }
}
