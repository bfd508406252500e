//! The metrics, and the observer that counts them.
//! Must not be in here: labels without a bound, or a value of an event; what a metric is called.

use super::board::{Board, Seen, WorkerId};
use super::catalogue as names;
use crate::gate::{Counts, Reason};
use crate::processor::event::{NotCommitted, WorkerEvent};
use crate::processor::observer::{CommittedBatch, Figures, Observer, Stage, WorkerView};
use crate::processor::refusal::RefusalCause;
use prometheus::{HistogramVec, IntCounterVec, Registry, TextEncoder};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

mod scraped;

use scraped::Scraped;
pub use scraped::{HostFigures, HostGauge};

/// A transaction that was committed.
const COMMITTED: &str = "committed";
/// Verdicts that are no reasons of quarantine, as a conflict is.
const VERDICTS: [&str; 4] = ["first", "duplicate", "replayed", "correction"];

/// Every metric of the process.
pub struct Metrics {
    registry: Registry,
    records: IntCounterVec,
    events: IntCounterVec,
    transactions: IntCounterVec,
    transaction_seconds: HistogramVec,
    stage_seconds: HistogramVec,
    batch_records: HistogramVec,
    restore_seconds: HistogramVec,
    refusals: IntCounterVec,
    rebalances: IntCounterVec,
    fenced: IntCounterVec,
    /// One scrape at a time: what is shown as it stands is set anew for each.
    scraped: Mutex<Scraped>,
}

impl Metrics {
    /// Registers all metrics, with 0 for each of these routes.
    ///
    /// # Errors
    /// Two of them have one name: a mistake in the catalogue, which a test finds.
    pub fn new<'r>(
        routes: impl IntoIterator<Item = &'r str>,
        host: HostGauge,
    ) -> prometheus::Result<Metrics> {
        let registry = Registry::new();
        let metrics = Metrics {
            records: names::RECORDS.counter(&registry)?,
            events: names::EVENTS.counter(&registry)?,
            transactions: names::TRANSACTIONS.counter(&registry)?,
            transaction_seconds: (names::TRANSACTION_SECONDS)
                .histogram(&registry, (0.002, 2.0, 14))?,
            stage_seconds: names::STAGE_SECONDS.histogram(&registry, (0.0001, 3.0, 12))?,
            batch_records: names::BATCH_RECORDS.histogram(&registry, (1.0, 4.0, 10))?,
            restore_seconds: names::RESTORE_SECONDS.histogram(&registry, (0.05, 2.5, 14))?,
            refusals: names::REFUSALS.counter(&registry)?,
            rebalances: names::REBALANCES.counter(&registry)?,
            fenced: names::FENCED.counter(&registry)?,
            scraped: Mutex::new(Scraped::new(&registry, host)?),
            registry,
        };
        for route in routes {
            metrics.begin_route(route);
        }
        Ok(metrics)
    }

    /// The exposition text; partitions as they stand on the board.
    pub fn text(&self, board: &Board) -> String {
        let mut scraped = self.scraped.lock().unwrap_or_else(PoisonError::into_inner);
        scraped.show(board);
        // The encoder fails only for a family without metrics, which the registry leaves out.
        TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap_or_default()
    }

    /// Has every series of a route begin with 0.
    fn begin_route(&self, route: &str) {
        for of_route in [&self.transaction_seconds, &self.batch_records, &self.restore_seconds] {
            of_route.with_label_values(&[route]);
        }
        self.rebalances.with_label_values(&[route]);
        self.fenced.with_label_values(&[route]);
        for stage in Stage::ALL {
            self.stage_seconds.with_label_values(&[route, stage.as_str()]);
        }
        let others = NotCommitted::ALL.iter().map(|how| how.as_str());
        for outcome in std::iter::once(COMMITTED).chain(others) {
            self.transactions.with_label_values(&[route, outcome]);
        }
        for cause in RefusalCause::ALL {
            self.refusals.with_label_values(&[route, cause.as_str()]);
        }
    }

    /// Has every series of an assigned partition begin with 0.
    fn begin(&self, route: &str, partition: &str) {
        for replay in ["false", "true"] {
            count(&self.records, &self.events, (route, partition, replay), &Counts::default());
        }
    }

    /// A partition that was taken away no longer reports.
    fn end(&self, route: &str, partition: &str) {
        for replay in ["false", "true"] {
            // It fails only for a series that is not there.
            let _ = self.records.remove_label_values(&[route, partition, replay]);
            for verdict in verdicts() {
                let _ = self.events.remove_label_values(&[route, partition, replay, verdict]);
            }
        }
    }
}

/// Verdicts and quarantine reasons.
fn verdicts() -> impl Iterator<Item = &'static str> {
    VERDICTS.into_iter().chain(Reason::all().map(|reason| reason.as_str()))
}

/// Adds to the counters of records and events; those that get nothing are there with what they have.
fn count(
    records: &IntCounterVec,
    events: &IntCounterVec,
    (route, partition, replay): (&str, &str, &str),
    counts: &Counts,
) {
    records.with_label_values(&[route, partition, replay]).inc_by(counts.records);
    for verdict in verdicts() {
        let count = match verdict {
            "first" => counts.first,
            "duplicate" => counts.duplicate,
            "replayed" => counts.replayed,
            "correction" => counts.correction,
            // Absorbed ones; those that the route quarantines stand among the reasons.
            "conflict" => {
                counts.conflict + counts.quarantined.get("conflict").copied().unwrap_or(0)
            }
            reason => counts.quarantined.get(reason).copied().unwrap_or(0),
        };
        events.with_label_values(&[route, partition, replay, verdict]).inc_by(count);
    }
}

/// Counts what one worker tells, and puts its view on the board.
pub struct Counting {
    worker: WorkerId,
    metrics: Arc<Metrics>,
    board: Arc<Board>,
    /// The partitions that are assigned.
    seen: BTreeSet<i32>,
}

impl Counting {
    /// For one worker.
    pub fn new(worker: WorkerId, metrics: Arc<Metrics>, board: Arc<Board>) -> Counting {
        Counting { worker, metrics, board, seen: BTreeSet::new() }
    }

    fn route(&self) -> &str {
        &self.worker.0
    }

    /// Ends the series of partitions that are this worker's no more, nor another's of the process.
    fn end_left(&self, now: &BTreeSet<i32>) {
        let left: Vec<i32> = self.seen.difference(now).copied().collect();
        if left.is_empty() {
            return;
        }
        let here: Vec<Seen> = self.board.partitions();
        let is_here = |partition: i32| {
            here.iter().any(|seen| seen.route == self.route() && seen.view.partition == partition)
        };
        for partition in left.into_iter().filter(|partition| !is_here(*partition)) {
            self.metrics.end(self.route(), &partition.to_string());
        }
    }
}

impl Counting {
    fn committed(&self, batch: &CommittedBatch<'_>) {
        let (route, metrics) = (self.route(), &self.metrics);
        for (partition, counts, replay_counts) in batch.parts {
            let partition = partition.to_string();
            for (replay, counts) in [("false", counts), ("true", replay_counts)] {
                let labels = (route, partition.as_str(), replay);
                count(&metrics.records, &metrics.events, labels, counts);
            }
        }
        self.board.count(route, batch.records as u64);
        metrics.transactions.with_label_values(&[route, COMMITTED]).inc();
        let transaction = metrics.transaction_seconds.with_label_values(&[route]);
        transaction.observe(seconds(batch.transaction_micros));
        if batch.records > 0 {
            metrics.batch_records.with_label_values(&[route]).observe(batch.records as f64);
            for stage in Stage::ALL {
                let of_stage = metrics.stage_seconds.with_label_values(&[route, stage.as_str()]);
                of_stage.observe(seconds(batch.stages.of(*stage)));
            }
        }
    }
}

impl Observer for Counting {
    fn happened(&mut self, event: &WorkerEvent<'_>) {
        let (route, metrics) = (self.route(), &self.metrics);
        match event {
            WorkerEvent::Assigned(_) | WorkerEvent::Revoked(_) => {
                metrics.rebalances.with_label_values(&[route]).inc();
            }
            WorkerEvent::Running { milliseconds, .. } => {
                let took = metrics.restore_seconds.with_label_values(&[route]);
                took.observe(*milliseconds as f64 / 1000.0);
            }
            WorkerEvent::Refused(_, refusal) => {
                metrics.refusals.with_label_values(&[route, refusal.cause.as_str()]).inc();
            }
            WorkerEvent::Committed(batch) => self.committed(batch),
            WorkerEvent::NotCommitted { how, .. } => {
                metrics.transactions.with_label_values(&[route, how.as_str()]).inc();
            }
            WorkerEvent::Fenced(_) => metrics.fenced.with_label_values(&[route]).inc(),
            // What is given up is counted by the takeovers that follow, once they run.
            WorkerEvent::TakenOver(_) | WorkerEvent::GivenUp { .. } => {}
        }
    }

    fn viewed(&mut self, view: WorkerView) {
        let now: BTreeSet<i32> = view.partitions.iter().map(|of| of.partition).collect();
        for partition in now.difference(&self.seen) {
            self.metrics.begin(self.route(), &partition.to_string());
        }
        self.board.set(&self.worker, view);
        self.end_left(&now);
        self.seen = now;
    }

    fn measured(&mut self, figures: Figures) {
        self.board.set_figures(&self.worker, figures);
    }
}

fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::observer::{PartitionFigures, PartitionView, StageMicros};
    use crate::processor::refusal::Refusal;
    use crate::processor::restore::JournalProgress;

    fn counting() -> (Arc<Metrics>, Arc<Board>, Counting) {
        let host = Box::new(|| HostFigures { free_bytes: 5, ..HostFigures::default() });
        let metrics = Arc::new(Metrics::new(["lab", "other"], host).unwrap());
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
        let mut stages = StageMicros::default();
        stages.add(Stage::Commit, 2_000_000);
        let replays = Counts::default();
        let parts = [(4, &counts, &replays)];
        let batch = CommittedBatch { parts: &parts, records: 3, transaction_micros: 7, stages };
        counting.happened(&WorkerEvent::Committed(batch));
        let lines = [
            r#"oncegate_events_total{partition="4",replay="false",route="lab",verdict="first"} 2"#,
            r#"oncegate_stage_duration_seconds_sum{route="lab",stage="commit"} 2"#,
            r#"oncegate_batch_records_sum{route="lab"} 3"#,
            "oncegate_state_free_bytes 5",
        ];
        assert_says(&metrics.text(&board), &lines);
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
        let cause = RefusalCause::JournalCut;
        counting.happened(&WorkerEvent::Refused(4, &Refusal { cause, message: "why".into() }));
        for _ in 0..2 {
            counting.viewed(view("refused", Some(cause)));
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
        assert!(!metrics.text(&board).contains(r#"partition="4""#), "it is no longer ours");
    }

    #[test]
    fn what_was_measured_is_shown_while_the_partition_is_here() {
        let (metrics, board, mut counting) = counting();
        let mut running = view("running", None);
        running.partitions[0].committed_next = 90;
        counting.viewed(running);
        let quarantined = [("late".into(), 2), ("conflict".into(), 3)].into();
        let totals = Counts { records: 80, admitted: 1, quarantined, ..Counts::default() };
        let figures = PartitionFigures {
            partition: 4,
            committed_next: 90,
            raw_end: Some(100),
            clock_micros: Some(1_500_000),
            totals: Some((totals, Counts::default())),
            ..PartitionFigures::default()
        };
        let all = Figures { partitions: vec![figures], ..Figures::default() };
        counting.measured(all);
        let of_journal = r#"partition="4",replay="false",route="lab""#;
        let lines = [
            r#"oncegate_lag_records{partition="4",route="lab"} 10"#,
            r#"oncegate_committed_offset{partition="4",route="lab"} 90"#,
            r#"oncegate_clock_timestamp_seconds{partition="4",route="lab"} 1.5"#,
            &format!("oncegate_journal_records_total{{{of_journal}}} 80"),
            &format!(r#"oncegate_journal_events_total{{{of_journal},verdict="admitted"}} 1"#),
            &format!(r#"oncegate_journal_events_total{{{of_journal},verdict="conflict"}} 3"#),
            &format!(r#"oncegate_journal_events_total{{{of_journal},verdict="late"}} 2"#),
        ];
        for _ in 0..2 {
            assert_says(&metrics.text(&board), &lines);
        }
        counting.viewed(WorkerView::default());
        assert!(!metrics.text(&board).contains("oncegate_lag_records{"), "it left");
    }
}
