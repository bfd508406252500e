//! What is shown as it stands at the moment of a scrape.
//! Must not be in here: what is counted when it happens.

use super::super::board::{Board, Seen};
use super::super::catalogue as names;
use super::super::logging;
use super::count;
use prometheus::{GaugeVec, IntCounterVec, IntGaugeVec, Registry};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// The states of a partition, as the workers tell them.
const STATES: [&str; 5] = ["restoring", "beginning", "running", "verifying", "refused"];

/// What all routes of the process share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostFigures {
    /// Free bytes of the file system of the state directory.
    pub free_bytes: u64,
    /// All its bytes.
    pub size_bytes: u64,
    /// Memory of all stores that their budget bounds.
    pub store_memory_bytes: u64,
    /// Blocks that look-ups found in memory since the start, and that they had to read.
    pub cache: (u64, u64),
}

/// Asks for these figures.
pub type HostGauge = Box<dyn Fn() -> HostFigures + Send + Sync>;

/// Gauges, and counters that others count.
pub struct Scraped {
    host: HostGauge,
    ready: IntGaugeVec,
    partition_state: IntGaugeVec,
    committed: IntGaugeVec,
    raw_end: IntGaugeVec,
    lag_records: IntGaugeVec,
    lag_seconds: GaugeVec,
    journal_records: IntCounterVec,
    journal_events: IntCounterVec,
    clock: GaugeVec,
    horizon: GaugeVec,
    restore_next: IntGaugeVec,
    restore_end: IntGaugeVec,
    store_keys: IntGaugeVec,
    store_bytes: IntGaugeVec,
    store_unmerged: IntGaugeVec,
    store_memory: IntGaugeVec,
    cache_hits: IntCounterVec,
    cache_misses: IntCounterVec,
    state_free: IntGaugeVec,
    state_size: IntGaugeVec,
    broker_up: IntGaugeVec,
    broker_round_trip: GaugeVec,
    producer_queue: IntGaugeVec,
    log_lines: IntCounterVec,
}

impl Scraped {
    pub fn new(registry: &Registry, host: HostGauge) -> prometheus::Result<Scraped> {
        let build = names::BUILD_INFO.gauge(registry)?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        #[cfg(target_os = "linux")]
        registry.register(Box::new(prometheus::process_collector::ProcessCollector::for_self()))?;
        Ok(Scraped {
            host,
            ready: names::READY.gauge(registry)?,
            partition_state: names::PARTITION_STATE.gauge(registry)?,
            committed: names::COMMITTED_OFFSET.gauge(registry)?,
            raw_end: names::RAW_END_OFFSET.gauge(registry)?,
            lag_records: names::LAG_RECORDS.gauge(registry)?,
            lag_seconds: names::LAG_SECONDS.fraction(registry)?,
            journal_records: names::JOURNAL_RECORDS.counter(registry)?,
            journal_events: names::JOURNAL_EVENTS.counter(registry)?,
            clock: names::CLOCK.fraction(registry)?,
            horizon: names::HORIZON.fraction(registry)?,
            restore_next: names::RESTORE_NEXT.gauge(registry)?,
            restore_end: names::RESTORE_END.gauge(registry)?,
            store_keys: names::STORE_KEYS.gauge(registry)?,
            store_bytes: names::STORE_BYTES.gauge(registry)?,
            store_unmerged: names::STORE_UNMERGED.gauge(registry)?,
            store_memory: names::STORE_MEMORY.gauge(registry)?,
            cache_hits: names::CACHE_HITS.counter(registry)?,
            cache_misses: names::CACHE_MISSES.counter(registry)?,
            state_free: names::STATE_FREE.gauge(registry)?,
            state_size: names::STATE_SIZE.gauge(registry)?,
            broker_up: names::BROKER_UP.gauge(registry)?,
            broker_round_trip: names::BROKER_ROUND_TRIP.fraction(registry)?,
            producer_queue: names::PRODUCER_QUEUE.gauge(registry)?,
            log_lines: names::LOG_LINES.counter(registry)?,
        })
    }

    /// Sets everything anew; what is not there any more is not shown.
    pub fn show(&mut self, board: &Board) {
        let gauges = [
            &self.partition_state,
            &self.committed,
            &self.raw_end,
            &self.lag_records,
            &self.restore_next,
            &self.restore_end,
            &self.store_keys,
            &self.store_bytes,
            &self.store_unmerged,
            &self.broker_up,
            &self.producer_queue,
        ];
        gauges.iter().for_each(|gauge| gauge.reset());
        let fractions = [&self.lag_seconds, &self.clock, &self.horizon, &self.broker_round_trip];
        fractions.iter().for_each(|gauge| gauge.reset());
        let counters = [
            &self.journal_records,
            &self.journal_events,
            &self.cache_hits,
            &self.cache_misses,
            &self.log_lines,
        ];
        counters.iter().for_each(|counter| counter.reset());

        self.ready.with_label_values::<&str>(&[]).set(i64::from(board.waits_for().is_empty()));
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_ms = now.map_or(0, |since| since.as_millis() as i64);
        for seen in board.partitions() {
            self.show_partition(&seen, now_ms);
        }
        self.show_clients(board);
        self.show_host();
    }

    fn show_partition(&self, seen: &Seen, now_ms: i64) {
        let number = seen.view.partition.to_string();
        let labels = [seen.route.as_str(), number.as_str()];
        for state in STATES {
            let is_in = i64::from(state == seen.view.state);
            self.partition_state.with_label_values(&[labels[0], labels[1], state]).set(is_in);
        }
        let set = |gauge: &IntGaugeVec, value: Option<i64>| {
            if let Some(value) = value {
                gauge.with_label_values(&labels).set(value);
            }
        };
        let set_seconds = |gauge: &GaugeVec, value: Option<f64>| {
            if let Some(value) = value {
                gauge.with_label_values(&labels).set(value);
            }
        };
        set(&self.committed, seen.committed_next());
        set(&self.lag_records, seen.lag_records());
        set_seconds(&self.lag_seconds, seen.lag_seconds(now_ms));
        set(&self.restore_next, seen.view.restoring.map(|progress| progress.next));
        set(&self.restore_end, seen.view.restoring.map(|progress| progress.end));
        let Some(figures) = &seen.figures else { return };
        set(&self.raw_end, seen.raw_end());
        set_seconds(&self.clock, figures.clock_micros.map(|micros| micros as f64 / 1e6));
        set_seconds(&self.horizon, figures.horizon_micros.map(|micros| micros as f64 / 1e6));
        if let Some(store) = &figures.store {
            set(&self.store_keys, Some(store.keys_estimate as i64));
            set(&self.store_bytes, Some(store.disk_bytes as i64));
            set(&self.store_unmerged, Some(store.unmerged_files as i64));
        }
        let Some((first_time, replays)) = &figures.totals else { return };
        for (replay, counts) in [("false", first_time), ("true", replays)] {
            let of = (labels[0], labels[1], replay);
            count(&self.journal_records, &self.journal_events, of, counts);
            let admitted = [labels[0], labels[1], replay, "admitted"];
            self.journal_events.with_label_values(&admitted).inc_by(counts.admitted);
        }
    }

    fn show_clients(&self, board: &Board) {
        let mut queued: BTreeMap<String, u64> = BTreeMap::new();
        let mut brokers: BTreeMap<(String, i32), (bool, u64)> = BTreeMap::new();
        for ((route, _), client) in board.clients() {
            for broker in client.brokers {
                // Of several workers the one that fares worst.
                let of = brokers.entry((route.clone(), broker.id)).or_insert((true, 0));
                *of = (of.0 && broker.up, of.1.max(broker.round_trip_micros));
            }
            *queued.entry(route).or_default() += client.queued;
        }
        for ((route, broker), (up, round_trip_micros)) in brokers {
            let labels = [route, broker.to_string()];
            self.broker_up.with_label_values(&labels).set(i64::from(up));
            let seconds = round_trip_micros as f64 / 1e6;
            self.broker_round_trip.with_label_values(&labels).set(seconds);
        }
        for (route, queued) in queued {
            self.producer_queue.with_label_values(&[route]).set(queued as i64);
        }
    }

    fn show_host(&self) {
        let host = (self.host)();
        let set = |gauge: &IntGaugeVec, value: u64| {
            gauge.with_label_values::<&str>(&[]).set(value as i64);
        };
        set(&self.state_free, host.free_bytes);
        set(&self.state_size, host.size_bytes);
        set(&self.store_memory, host.store_memory_bytes);
        self.cache_hits.with_label_values::<&str>(&[]).inc_by(host.cache.0);
        self.cache_misses.with_label_values::<&str>(&[]).inc_by(host.cache.1);
        for (level, lines) in logging::lines() {
            self.log_lines.with_label_values(&[level]).inc_by(lines);
        }
    }
}
