//! What `survey` says.
//! Must not be in here: how it was counted.

use super::deliveries::{Lags, Repeats};
use super::intake::PartitionIntake;
use super::spread::Spread;
use crate::evidence::table::Table;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// All of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SurveyReport {
    /// Topic.
    pub topic: String,
    /// Recipe and version.
    pub recipe: String,
    /// Whether the recipe has an event time, without which there is no window.
    pub has_event_time: bool,
    /// Whether an event is one item of its record.
    #[serde(skip)]
    pub itemized: bool,
    /// By partition.
    pub partitions: Vec<PartitionIntake>,
    /// Deliveries of the same events.
    pub repeats: Repeats,
    /// Partitions with an open transaction: where it begins, and the end of the log.
    pub open_transactions: Vec<(i32, i64, i64)>,
}

impl SurveyReport {
    fn rejected(&self) -> BTreeMap<&'static str, u64> {
        let mut sum = BTreeMap::new();
        for (reason, count) in self.partitions.iter().flat_map(|p| &p.rejected) {
            *sum.entry(*reason).or_default() += count;
        }
        sum
    }
}

impl fmt::Display for SurveyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(&[
            "partition",
            "records",
            "events",
            "rejected",
            "future",
            "behind p50",
            "p99",
            "p99.9",
            "max",
        ]);
        for p in &self.partitions {
            let [p50, p99, p999, max] = quantiles(&p.behind_micros);
            let rejected: u64 = p.rejected.values().sum();
            table.row(&[
                &p.partition,
                &p.records,
                &p.events,
                &rejected,
                &p.future,
                &p50,
                &p99,
                &p999,
                &max,
            ]);
        }
        write!(f, "{table}")?;
        for (reason, count) in self.rejected() {
            writeln!(f, "rejected {reason}: {count}")?;
        }
        self.repeats(f)?;
        for (partition, from, end) in &self.open_transactions {
            writeln!(
                f,
                "partition {partition}: a transaction is open at offset {from}; [{from}, {end}) \
                 was not read"
            )?;
        }
        self.two_partitions(f)?;
        let repeats = &self.repeats;
        writeln!(
            f,
            "survey: topic {}, recipe {}: {} events, {} duplicates, {} conflicts, {} on two \
             partitions",
            self.topic,
            self.recipe,
            repeats.distinct,
            repeats.duplicates,
            repeats.conflicts,
            repeats.on_two_partitions
        )
    }
}

impl SurveyReport {
    fn repeats(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [
            ("duplicates", &self.repeats.duplicate_lags),
            ("conflicts", &self.repeats.conflict_lags),
        ];
        for (name, lags) in kinds.iter().filter(|(_, lags)| lags.events_between.count() > 0) {
            lag_lines(f, name, lags)?;
        }
        if self.has_event_time && self.repeats.behind_micros.count() > 0 {
            let [p50, p99, p999, max] = quantiles(&self.repeats.behind_micros);
            writeln!(
                f,
                "repeated deliveries behind the clock: p50 {p50}, p99 {p99}, p99.9 {p999}, max \
                 {max}; a window below that maximum quarantines the latest of them"
            )?;
        }
        Ok(())
    }

    fn two_partitions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let repeats = &self.repeats;
        if repeats.on_two_partitions == 0 {
            return Ok(());
        }
        writeln!(
            f,
            "warning: {} events stand on two partitions. A route by source would let each through \
             on both: mend their producers, or set `partitioning = \"by-key\"`",
            repeats.on_two_partitions
        )?;
        for (one, other) in &repeats.two_partitions {
            let (one, other) = (one.shown(self.itemized), other.shown(self.itemized));
            writeln!(f, "two-partitions: {0}/{one} and {0}/{other}", self.topic)?;
        }
        Ok(())
    }
}

fn lag_lines(f: &mut fmt::Formatter<'_>, name: &str, lags: &Lags) -> fmt::Result {
    let by_time = lags.by_time.iter().filter(|(_, count)| *count > 0);
    let by_time: Vec<String> = by_time.map(|(step, count)| format!("{count} {step}")).collect();
    writeln!(f, "{name} by time since the delivery before: {}", by_time.join(", "))?;
    let between = &lags.events_between;
    writeln!(
        f,
        "{name} by events in between: p50 {}, p99 {}, max {}",
        between.quantile(500),
        between.quantile(990),
        between.max()
    )
}

/// p50, p99, p99.9 and the highest, as durations.
fn quantiles(spread: &Spread) -> [String; 4] {
    [spread.quantile(500), spread.quantile(990), spread.quantile(999), spread.max()].map(|micros| {
        let whole = match micros {
            0..1_000_000 => Duration::from_millis(micros.div_ceil(1000)),
            _ => Duration::from_secs(micros.div_ceil(1_000_000)),
        };
        humantime::format_duration(whole).to_string().replace(' ', "")
    })
}
