//! The status of a process as one value: what `/status` answers, what the page and the command
//! show. The schema is a contract, told in `docs/status.md`.
//! Must not be in here: a clock, how it is served or printed, or a value of an event.

use super::board::{Heard, Seen};
use super::history::Sample;
use crate::gate::Counts;
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

fn workers(heard: &Heard, route: &str) -> Vec<WorkerStatus> {
    (heard.workers.iter())
        .filter(|((of, _), _, _)| of == route)
        .map(|((_, number), view, silent)| WorkerStatus {
            number: *number,
            joined: view.joined,
            producing: view.producing,
            hindered: view.hindered.clone(),
            silent_seconds: silent.as_secs(),
        })
        .collect()
}

fn partitions(heard: &Heard, route: &str, now_ms: i64) -> Vec<PartitionStatus> {
    // While a partition moves between two workers of the process, both may name it: it is shown once.
    let of_route = heard.partitions.iter().filter(|seen| seen.route == route);
    let by_number: BTreeMap<i32, &Seen> =
        of_route.map(|seen| (seen.view.partition, seen)).collect();
    by_number.into_values().map(|seen| partition(seen, now_ms)).collect()
}

fn partition(seen: &Seen, now_ms: i64) -> PartitionStatus {
    let view = &seen.view;
    let figures = seen.figures.as_ref();
    PartitionStatus {
        partition: view.partition,
        state: view.state.to_owned(),
        committed_offset: seen.committed_next(),
        raw_end_offset: seen.raw_end(),
        lag_records: seen.lag_records(),
        lag_seconds: seen.lag_seconds(now_ms),
        refusal: view.refusal.as_ref().map(|refusal| RefusalStatus {
            cause: refusal.cause.as_str().to_owned(),
            message: refusal.message.clone(),
        }),
        waits_for: view.waits_for.clone(),
        restore: view
            .restoring
            .map(|progress| RestoreStatus { next: progress.next, end: progress.end }),
        clock: figures.and_then(|of| of.clock_micros).and_then(utc),
        horizon: figures.and_then(|of| of.horizon_micros).and_then(utc),
        store: figures
            .and_then(|of| of.store)
            .map(|store| StoreStatus { keys: store.keys_estimate, bytes: store.disk_bytes }),
        totals: figures.and_then(|of| of.totals.as_ref()).map(|(decided, _)| totals(decided)),
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

/// A time that no calendar holds is told as none.
fn utc(micros: i64) -> Option<String> {
    let time = DateTime::from_timestamp_micros(micros)?;
    Some(time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::board::Board;
    use crate::processor::observer::{
        Figures, PartitionFigures, PartitionView, StoreSize, WorkerView,
    };
    use crate::processor::refusal::{Refusal, RefusalCause};
    use crate::processor::restore::JournalProgress;

    const MOMENT: Moment = Moment { now_ms: 1_770_000_010_000, uptime_seconds: 61 };

    fn about() -> About {
        let route = |name: &str| RouteNames {
            name: name.to_owned(),
            raw: format!("{name}.raw"),
            clean: format!("{name}.clean"),
        };
        About {
            instance: "gate-1".to_owned(),
            group: "pharmacy".to_owned(),
            routes: vec![route("lab"), route("serials")],
        }
    }

    fn view(partition: i32, state: &'static str) -> PartitionView {
        PartitionView {
            partition,
            state,
            committed_next: -1,
            refusal: None,
            waits_for: None,
            restoring: None,
        }
    }

    fn told(board: &Board) -> Status {
        let sample = Sample { at: 9, records_per_second: 1.5, lag_records: Some(3) };
        let history = |route: &str| if route == "lab" { vec![sample] } else { vec![] };
        Status::new(&about(), &board.heard(), history, MOMENT)
    }

    fn working() -> Board {
        let board = Board::new(1);
        let running = PartitionView { committed_next: 90, ..view(4, "running") };
        let refusal = Refusal { cause: RefusalCause::JournalCut, message: "restore it".into() };
        let refused = PartitionView { refusal: Some(refusal), ..view(2, "refused") };
        let restoring = Some(JournalProgress { next: 7, end: 9 });
        let restoring = PartitionView { restoring, ..view(0, "restoring") };
        let partitions = vec![running, refused, restoring];
        let lab = ("lab".to_owned(), 0);
        let view = WorkerView { joined: true, producing: true, hindered: None, partitions };
        board.set(&lab, view);
        let counts = Counts {
            records: 90,
            first: 80,
            duplicate: 9,
            quarantined: [("late".into(), 1)].into(),
            ..Counts::default()
        };
        let figures = PartitionFigures {
            partition: 4,
            committed_next: 90,
            raw_end: Some(100),
            oldest_ms: Some(MOMENT.now_ms - 2_500),
            clock_micros: Some(1_770_000_000_250_000),
            horizon_micros: None,
            store: Some(StoreSize { keys_estimate: 80, disk_bytes: 4096, unmerged_files: 0 }),
            totals: Some((counts, Counts { records: 7, ..Counts::default() })),
        };
        board.set_figures(&lab, Figures { partitions: vec![figures], ..Figures::default() });
        board
    }

    #[test]
    fn a_status_says_what_the_contract_says() {
        let status = serde_json::to_value(told(&working())).unwrap();
        let lab = &status["routes"][0];
        assert_eq!(status["ready"], false);
        assert_eq!(status["waits_for"].as_array().unwrap().len(), 2);
        assert_eq!((lab["name"].as_str(), lab["clean"].as_str()), (Some("lab"), Some("lab.clean")));
        let numbers: Vec<_> = lab["partitions"].as_array().unwrap().iter().collect();
        let [restoring, refused, running] = numbers[..] else { panic!("{lab}") };
        let expected = serde_json::json!({
            "partition": 4, "state": "running", "committed_offset": 90, "raw_end_offset": 100,
            "lag_records": 10, "lag_seconds": 2.5, "refusal": null, "waits_for": null,
            "restore": null, "clock": "2026-02-02T02:40:00.250Z", "horizon": null,
            "store": {"keys": 80, "bytes": 4096},
            "totals": {"records": 90, "first": 80, "duplicate": 9, "replayed": 0,
                "correction": 0, "conflict": 0, "admitted": 0, "quarantined": {"late": 1}},
        });
        assert_eq!(running, &expected);
        let refusal = serde_json::json!({"cause": "journal-cut", "message": "restore it"});
        assert_eq!(refused["refusal"], refusal);
        assert_eq!(restoring["restore"], serde_json::json!({"next": 7, "end": 9}));
        for unknown in ["committed_offset", "lag_records", "lag_seconds", "totals", "store"] {
            assert!(restoring[unknown].is_null(), "{unknown} is not known yet: {restoring}");
        }
        let sample = serde_json::json!({"at": 9, "records_per_second": 1.5, "lag_records": 3});
        assert_eq!(lab["history"], serde_json::json!([sample]));
        let worker = serde_json::json!({"number": 0, "joined": true, "producing": true,
            "hindered": null, "silent_seconds": 0});
        assert_eq!(lab["workers"], serde_json::json!([worker]));
    }

    #[test]
    fn a_route_is_shown_before_its_workers_have_begun() {
        let status = told(&Board::new(2));
        assert!(!status.ready);
        assert_eq!(status.routes[1].name, "serials");
        assert!(status.routes.iter().all(|route| route.partitions.is_empty()));
    }

    #[test]
    fn what_is_written_can_be_read() {
        let status = told(&working());
        let text = serde_json::to_string(&status).unwrap();
        assert_eq!(serde_json::from_str::<Status>(&text).unwrap(), status);
    }

    #[test]
    fn a_log_ends_nowhere_before_what_is_committed() {
        let board = working();
        let partitions = vec![PartitionView { committed_next: 130, ..view(4, "running") }];
        let view = WorkerView { joined: true, producing: true, hindered: None, partitions };
        board.set(&("lab".to_owned(), 0), view);
        let partition = &told(&board).routes[0].partitions[0];
        assert_eq!((partition.raw_end_offset, partition.lag_records), (Some(130), Some(0)));
    }

    #[test]
    fn a_partition_that_moves_is_shown_once() {
        let board = working();
        let partitions = vec![view(4, "restoring")];
        let view = WorkerView { joined: true, producing: true, hindered: None, partitions };
        board.set(&("lab".to_owned(), 1), view);
        assert_eq!(told(&board).routes[0].partitions.len(), 3);
    }
}
