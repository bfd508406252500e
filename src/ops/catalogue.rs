//! Every metric: its name, kind, labels and meaning. `docs/metrics.md` is held to this list.
//! Must not be in here: values.

use prometheus::{
    GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry, Result,
};

/// Kinds of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// It counts by size.
    Histogram,
}

impl Kind {
    /// The exposition's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// A metric.
#[derive(Debug)]
pub struct Metric {
    /// Its name, without suffixes of histograms.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Its labels.
    pub labels: &'static [&'static str],
    /// What it means, with its unit.
    pub help: &'static str,
}

/// Declares metrics, and the list of all of them.
macro_rules! metrics {
    ($($id:ident = $kind:ident $name:literal [$($label:literal),*] $help:literal;)+) => {
        $(#[doc = $help] pub const $id: Metric =
            Metric { name: $name, kind: Kind::$kind, labels: &[$($label),*], help: $help };)+

        /// All of them.
        pub const ALL: &[&Metric] = &[$(&$id,)+];
    };
}

metrics! {
    READY = Gauge "oncegate_ready" []
        "1 where every assigned partition runs, as `/readyz` says.";
    BUILD_INFO = Gauge "oncegate_build_info" ["version"]
        "1, with the version of the program.";
    PARTITION_STATE = Gauge "oncegate_partition_state" ["route", "partition", "state"]
        "1 for the state in which an assigned partition is, 0 for the others.";
    REFUSALS = Counter "oncegate_refusals_total" ["route", "cause"]
        "How often a partition came to be refused, by cause.";
    FENCED = Counter "oncegate_fenced_total" ["route"]
        "Producers and members of the group that were fenced, or of no more use.";
    REBALANCES = Counter "oncegate_rebalances_total" ["route"]
        "How often partitions were assigned to a worker or taken away.";
    COMMITTED_OFFSET = Gauge "oncegate_committed_offset" ["route", "partition"]
        "The raw offset after the last committed batch.";
    RAW_END_OFFSET = Gauge "oncegate_raw_end_offset" ["route", "partition"]
        "Where the raw partition ends; asked once a second.";
    LAG_RECORDS = Gauge "oncegate_lag_records" ["route", "partition"]
        "Offsets of the raw partition that are not committed.";
    LAG_SECONDS = Gauge "oncegate_lag_seconds" ["route", "partition"]
        "Age of the oldest raw record that is not committed: by its timestamp where it was read, else since this process has seen it.";
    RECORDS = Counter "oncegate_records_total" ["route", "partition", "replay"]
        "Raw records decided in committed transactions by this process.";
    EVENTS = Counter "oncegate_events_total" ["route", "partition", "replay", "verdict"]
        "Events decided likewise, by verdict or quarantine reason.";
    JOURNAL_RECORDS = Counter "oncegate_journal_records_total" ["route", "partition", "replay"]
        "Raw records decided since the beginning, as the journal counts them: whatever process did it.";
    JOURNAL_EVENTS = Counter "oncegate_journal_events_total"
        ["route", "partition", "replay", "verdict"]
        "Events decided since the beginning likewise; `admitted` by a person.";
    CLOCK = Gauge "oncegate_clock_timestamp_seconds" ["route", "partition"]
        "Highest event time let through.";
    HORIZON = Gauge "oncegate_horizon_timestamp_seconds" ["route", "partition"]
        "Event time below which keys are forgotten; only with a window.";
    TRANSACTIONS = Counter "oncegate_transactions_total" ["route", "outcome"]
        "Transactions by outcome.";
    TRANSACTION_SECONDS = Histogram "oncegate_transaction_duration_seconds" ["route"]
        "From the verdicts to the broker's answer, committed transactions only.";
    STAGE_SECONDS = Histogram "oncegate_stage_duration_seconds" ["route", "stage"]
        "How long a committed batch was in each stage.";
    BATCH_RECORDS = Histogram "oncegate_batch_records" ["route"]
        "Raw records of a committed batch.";
    RESTORE_SECONDS = Histogram "oncegate_restore_duration_seconds" ["route"]
        "From the assignment of a partition, or the loss of its state, until it runs.";
    RESTORE_NEXT = Gauge "oncegate_restore_journal_next_offset" ["route", "partition"]
        "The next journal offset that a store which is brought level has to read; only while it is.";
    RESTORE_END = Gauge "oncegate_restore_journal_end_offset" ["route", "partition"]
        "The journal offset at which a store that is brought level is; only while it is.";
    STORE_KEYS = Gauge "oncegate_store_keys" ["route", "partition"]
        "Keys in the store, as estimated: one written again counts twice until files are merged.";
    STORE_BYTES = Gauge "oncegate_store_size_bytes" ["route", "partition"]
        "Bytes of the store's files.";
    STORE_UNMERGED = Gauge "oncegate_store_unmerged_files" ["route", "partition"]
        "Files that wait to be merged; where they only grow, the machine is too slow.";
    STORE_MEMORY = Gauge "oncegate_store_memory_bytes" []
        "Memory of all stores that their budget bounds: cache, filters, rows not yet written.";
    CACHE_HITS = Counter "oncegate_store_cache_hits_total" []
        "Blocks that look-ups found in memory.";
    CACHE_MISSES = Counter "oncegate_store_cache_misses_total" []
        "Blocks that look-ups had to read from files.";
    STATE_FREE = Gauge "oncegate_state_free_bytes" []
        "Free bytes of the file system of the state directory.";
    STATE_SIZE = Gauge "oncegate_state_size_bytes" []
        "All bytes of the file system of the state directory.";
    BROKER_UP = Gauge "oncegate_broker_up" ["route", "broker"]
        "1 where a worker's connection to the broker stands; brokers that no worker needs are left out.";
    BROKER_ROUND_TRIP = Gauge "oncegate_broker_round_trip_seconds" ["route", "broker"]
        "99th percentile of the time between request and answer in the last second.";
    PRODUCER_QUEUE = Gauge "oncegate_producer_queue_messages" ["route"]
        "Records that wait in the producers.";
    LOG_LINES = Counter "oncegate_log_lines_total" ["level"]
        "Warnings and errors logged; repetitions that the log leaves out are among them.";
}

impl Metric {
    fn opts(&self) -> Opts {
        Opts::new(self.name, self.help)
    }

    /// Registers a counter.
    ///
    /// # Errors
    /// Its name is taken.
    pub fn counter(&self, registry: &Registry) -> Result<IntCounterVec> {
        let metric = IntCounterVec::new(self.opts(), self.labels)?;
        registry.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    /// Registers a gauge of whole numbers.
    ///
    /// # Errors
    /// Its name is taken.
    pub fn gauge(&self, registry: &Registry) -> Result<IntGaugeVec> {
        let metric = IntGaugeVec::new(self.opts(), self.labels)?;
        registry.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    /// Registers a gauge of fractions.
    ///
    /// # Errors
    /// Its name is taken.
    pub fn fraction(&self, registry: &Registry) -> Result<GaugeVec> {
        let metric = GaugeVec::new(self.opts(), self.labels)?;
        registry.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    /// Registers a histogram with buckets from `from`, each `factor` times the one before.
    ///
    /// # Errors
    /// Its name is taken.
    pub fn histogram(
        &self,
        registry: &Registry,
        (from, factor, count): (f64, f64, usize),
    ) -> Result<HistogramVec> {
        let opts = HistogramOpts::new(self.name, self.help);
        let opts = opts.buckets(prometheus::exponential_buckets(from, factor, count)?);
        let metric = HistogramVec::new(opts, self.labels)?;
        registry.register(Box::new(metric.clone()))?;
        Ok(metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_holds_exactly_these() {
        let rows: Vec<String> = (ALL.iter())
            .map(|metric| {
                let labels: Vec<String> =
                    metric.labels.iter().map(|label| format!("`{label}`")).collect();
                let (name, kind) = (metric.name, metric.kind.as_str());
                format!("| `{name}` | {kind} | {} | {} |", labels.join(", "), metric.help)
            })
            .collect();
        let document = include_str!("../../docs/metrics.md");
        let stated: Vec<&str> =
            document.lines().filter(|line| line.starts_with("| `oncegate_")).collect();
        assert_eq!(stated, rows, "the table of docs/metrics.md should be:\n{}", rows.join("\n"));
    }

    #[test]
    fn names_keep_the_conventions() {
        for metric in ALL {
            let total = metric.name.ends_with("_total");
            assert_eq!(total, metric.kind == Kind::Counter, "{}", metric.name);
        }
    }
}
