//! The status of a process as one value: what `/status` answers, what the page and the command
//! show. The schema is a contract, told in `docs/status.md`.
//! Must not be in here: a clock, how it is served or printed, or a value of an event.

use super::board::Heard;
use super::history::Sample;
use crate::gate::Counts;
use crate::processor::observer::{PartitionView, WorkerView};
use chrono::{DateTime, SecondsFormat};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of oncegate.
    pub version: String,
    /// The instance id.
    pub instance: String,
    /// Prefix of the consumer groups.
    pub group: String,
    /// Whether it serves all that is assigned to it.
    pub ready: bool,
    /// What it waits for; empty when it is ready.
    pub waits_for: Vec<String>,
    /// Since its start.
    pub uptime_seconds: u64,
    /// Its routes, in the order of the configuration.
    pub routes: Vec<RouteStatus>,
}

/// A route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RouteStatus {
    /// Its name.
    pub name: String,
    /// The topic that is read.
    pub raw: String,
    /// The topic that gets each event once.
    pub clean: String,
    /// The workers that have begun.
    pub workers: Vec<WorkerStatus>,
    /// The partitions that are assigned to this process, by number.
    pub partitions: Vec<PartitionStatus>,
    /// The last minutes, oldest first.
    pub history: Vec<Sample>,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// Its number in the route.
    pub number: usize,
    /// Whether it is a member of the group.
    pub joined: bool,
    /// Whether its transactional producer is initialised.
    pub producing: bool,
    /// What is in the way of all its work.
    pub hindered: Option<String>,
    /// Since it last said something; it does every second.
    pub silent_seconds: u64,
}

/// A partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartitionStatus {
    /// Its number.
    pub partition: i32,
    /// `restoring`, `beginning`, `running`, `verifying` or `refused`.
    pub state: String,
    /// The source offset after the last committed batch.
    pub committed_offset: Option<i64>,
    /// The end of the raw partition.
    pub raw_end_offset: Option<i64>,
    /// Offsets between the two.
    pub lag_records: Option<i64>,
    /// Age of the oldest record that is not committed; 0 where there is none.
    pub lag_seconds: Option<f64>,
    /// Why it is not served.
    pub refusal: Option<RefusalStatus>,
    /// What its takeover waits for.
    pub waits_for: Option<String>,
    /// How far its store is brought level, while it is.
    pub restore: Option<RestoreStatus>,
    /// The event-time clock, RFC 3339.
    pub clock: Option<String>,
    /// Events before it can no longer be proven new, RFC 3339.
    pub horizon: Option<String>,
    /// Its store.
    pub store: Option<StoreStatus>,
    /// What became of its records since the beginning, as the journal counts it.
    pub totals: Option<Totals>,
}

/// Why a partition is not served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RefusalStatus {
    /// From the closed list in `docs/operations.md`.
    pub cause: String,
    /// What happened, and what to do.
    pub message: String,
}

/// Journal offsets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RestoreStatus {
    /// The next one to read.
    pub next: i64,
    /// The one at which the store is level.
    pub end: i64,
}

/// What a store holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoreStatus {
    /// Keys, estimated.
    pub keys: u64,
    /// Bytes on disk.
    pub bytes: u64,
}

/// Records, and their events by verdict; each offset counts the first time that it is decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Records read.
    pub records: u64,
    /// Events let through.
    pub first: u64,
    /// Events absorbed as duplicates.
    pub duplicate: u64,
    /// Events absorbed because they were decided before and are too old to look up.
    pub replayed: u64,
    /// Events with a known key and other content, let through as corrections.
    pub correction: u64,
    /// Events with a known key and other content, absorbed.
    pub conflict: u64,
    /// Events quarantined before and let through by a person.
    pub admitted: u64,
    /// Events quarantined, by reason.
    pub quarantined: BTreeMap<String, u64>,
}

/// What of a process does not change.
#[derive(Clone, Debug)]
pub struct About {
    /// The instance id.
    pub instance: String,
    /// Prefix of the consumer groups.
    pub group: String,
    /// Its routes, in the order of the configuration.
    pub routes: Vec<RouteNames>,
}

/// The names of a route.
#[derive(Clone, Debug)]
pub struct RouteNames {
    /// Its own.
    pub name: String,
    /// Of the topic that is read.
    pub raw: String,
    /// Of the topic that gets each event once.
    pub clean: String,
}

/// When a status is told.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Milliseconds since 1970.
    pub now_ms: i64,
    /// Since the start of the process.
    pub uptime_seconds: u64,
}

impl Status {
    /// Puts together what was heard of the workers. `history` gives a route's samples.
    pub fn new(
        about: &About,
        heard: &Heard,
        history: impl Fn(&str) -> Vec<Sample>,
        moment: Moment,
    ) -> Status {
        let route = |names: &RouteNames| RouteStatus {
            name: names.name.clone(),
            raw: names.raw.clone(),
            clean: names.clean.clone(),
            workers: workers(heard, &names.name),
            partitions: partitions(heard, &names.name, moment.now_ms),
            history: history(&names.name),
        };
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instance: about.instance.clone(),
            group: about.group.clone(),
            ready: heard.waits_for.is_empty(),
            waits_for: heard.waits_for.clone(),
            uptime_seconds: moment.uptime_seconds,
            routes: about.routes.iter().map(route).collect(),
        }
    }
}

fn of_route<'h>(
    heard: &'h Heard,
    route: &'h str,
) -> impl Iterator<Item = (usize, &'h WorkerView, u64)> {
    (heard.workers.iter())
        .filter(move |((of, _), _, _)| of == route)
        .map(|((_, number), view, silent)| (*number, view, silent.as_secs()))
}

fn workers(heard: &Heard, route: &str) -> Vec<WorkerStatus> {
    of_route(heard, route)
        .map(|(number, view, silent_seconds)| WorkerStatus {
            number,
            joined: view.joined,
            producing: view.producing,
            hindered: view.hindered.clone(),
            silent_seconds,
        })
        .collect()
}

fn partitions(heard: &Heard, route: &str, now_ms: i64) -> Vec<PartitionStatus> {
    // While a partition moves between two workers, both may name it: who spoke last knows.
    let mut found: BTreeMap<i32, (u64, &PartitionView)> = BTreeMap::new();
    for (_, view, silent) in of_route(heard, route) {
        for partition in &view.partitions {
            let known = found.get(&partition.partition);
            if known.is_none_or(|(of, _)| silent < *of) {
                found.insert(partition.partition, (silent, partition));
            }
        }
    }
    found.into_values().map(|(_, view)| partition(view, now_ms)).collect()
}

fn partition(view: &PartitionView, now_ms: i64) -> PartitionStatus {
    PartitionStatus {
        partition: view.partition,
        state: view.state.to_owned(),
        committed_offset: view.committed(),
        raw_end_offset: view.raw_end,
        lag_records: view.lag_records(),
        lag_seconds: view.lag_seconds(now_ms),
        refusal: view.refusal.as_ref().map(|refusal| RefusalStatus {
            cause: refusal.cause.as_str().to_owned(),
            message: refusal.message.clone(),
        }),
        waits_for: view.waits_for.clone(),
        restore: (view.restoring)
            .map(|progress| RestoreStatus { next: progress.next, end: progress.end }),
        clock: view.clock_micros.and_then(utc),
        horizon: view.horizon_micros.and_then(utc),
        store: (view.store)
            .map(|store| StoreStatus { keys: store.keys_estimate, bytes: store.disk_bytes }),
        totals: view.totals.as_ref().map(|(decided, _)| totals(decided)),
    }
}

fn totals(counts: &Counts) -> Totals {
    Totals {
        records: counts.records,
        first: counts.first,
        duplicate: counts.duplicate,
        replayed: counts.replayed,
        correction: counts.correction,
        conflict: counts.conflict,
        admitted: counts.admitted,
        quarantined: (counts.quarantined.iter())
            .map(|(reason, count)| (reason.to_string(), *count))
            .collect(),
    }
}

/// A time of the far future or past that no calendar holds is told as none.
fn utc(micros: i64) -> Option<String> {
    let time = DateTime::from_timestamp_micros(micros)?;
    Some(time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}
