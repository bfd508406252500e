//! The running gate: the workers of all routes of one process, until an orderly end.
//! Must not be in here: what a worker does, or the command line.

use crate::check::RouteFacts;
use crate::gate::{NameLengths, Policy, Window};
use crate::kafka::config::{
    consumer_config, journal_reader_config, member_id, offset_asker_config, producer_config,
    watermark_asker_config,
};
use crate::kafka::{KafkaBroker, KafkaWitnesses, RouteTopics};
use crate::ops::board::Board;
use crate::ops::metrics::{Counting, HostFigures, HostGauge, Metrics};
use crate::ops::status::{About, RouteNames};
use crate::ops::watchdog::Watchdog;
use crate::processor::instance::Instance;
use crate::processor::pool::run_worker;
use crate::processor::restorer::RestorerThread;
use crate::processor::route::{BatchBounds, Route};
use crate::processor::transaction::TransactionLimits;
use crate::processor::worker::Worker;
use crate::settings::{ClientProperties, RouteSettings, Settings};
use crate::store::{RocksStore, RocksStores, StoreBudget, open_files_limit};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Between two looks whether a worker has ended or a stop was asked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// What the log of a record may add to the time that an orderly end takes.
const END_SPARE: Duration = Duration::from_millis(500);
/// Steps of a transaction that may each need all their patience.
const STEPS_MAX: u64 = 4;
/// Files that a worker's six clients hold open with a small cluster: connections, and pipes that
/// wake their threads. With fewer they fail in ways that name no cause.
const CLIENT_FILES: usize = 120;
/// Files of a first store and of all else. How many more stores need is said where one is opened.
const OTHER_FILES: usize = 60;

type GateWorker = Worker<KafkaBroker, RestorerThread<RocksStore>, Counting>;

/// The process: what its workers share.
pub struct Service {
    settings: Settings,
    instance: Instance,
    stores: RocksStores,
    board: Arc<Board>,
    metrics: Arc<Metrics>,
    stop: Arc<AtomicBool>,
}

impl Service {
    /// Takes the state directory and opens the stores' common parts; nothing is asked of the
    /// cluster yet.
    ///
    /// # Errors
    /// For the operator.
    pub fn new(settings: Settings, stop: Arc<AtomicBool>) -> Result<Service, String> {
        let workers = settings.routes.iter().map(|route| route.workers).sum();
        enough_files(open_files_limit(), workers)?;
        let instance = Instance::take(&settings.state_dir, settings.instance.as_deref())
            .map_err(|error| error.to_string())?;
        let budget = StoreBudget {
            memory_bytes: settings.store_memory_bytes,
            left_bytes_max: settings.store_left_bytes,
            ..StoreBudget::default()
        };
        let stores =
            RocksStores::open(&settings.state_dir, budget).map_err(|error| error.to_string())?;
        let routes = settings.routes.iter().map(|route| route.name.as_str());
        let metrics = Metrics::new(routes, host_gauge(stores.clone(), &settings.state_dir))
            .map_err(|error| error.to_string())?;
        Ok(Service {
            settings,
            instance,
            stores,
            board: Arc::new(Board::new(workers)),
            metrics: Arc::new(metrics),
            stop,
        })
    }

    /// What of the process does not change.
    pub fn about(&self) -> About {
        let names = |route: &RouteSettings| RouteNames {
            name: route.name.clone(),
            raw: route.raw.clone(),
            clean: route.clean.clone(),
        };
        About {
            instance: self.instance.id().to_owned(),
            group: self.settings.group.clone(),
            routes: self.settings.routes.iter().map(names).collect(),
        }
    }

    /// The board that readiness is read from.
    pub fn board(&self) -> Arc<Board> {
        self.board.clone()
    }

    /// The metrics of the process.
    pub fn metrics(&self) -> Arc<Metrics> {
        self.metrics.clone()
    }

    /// Runs every worker until a stop is asked for or one cannot go on. `facts` are those of the
    /// settings' routes, as a sound check found them.
    ///
    /// # Errors
    /// Why it ended otherwise than asked, for the operator.
    pub fn run(&self, facts: &[RouteFacts]) -> Result<(), String> {
        let (ended, endings) = channel();
        let mut running = 0;
        for (route, facts) in self.settings.routes.iter().zip(facts) {
            for number in 0..route.workers {
                self.spawn(route, facts, number, ended.clone())?;
                running += 1;
            }
        }
        drop(ended);
        tracing::info!(
            instance = self.instance.id(),
            routes = self.settings.routes.len(),
            workers = running,
            "running"
        );
        self.wait(&endings, running)
    }

    fn spawn(
        &self,
        settings: &RouteSettings,
        facts: &RouteFacts,
        number: usize,
        ended: Sender<Result<(), String>>,
    ) -> Result<(), String> {
        let member = member_id(&self.settings.group, &settings.name, self.instance.id(), number);
        let route = route_of(&self.settings.group, settings, facts);
        let properties = self.settings.kafka.clone();
        let (settings, facts, stores) = (settings.clone(), facts.clone(), self.stores.clone());
        let id = (settings.name.clone(), number);
        let (metrics, board, stop) = (self.metrics.clone(), self.board.clone(), self.stop.clone());
        let name = member.clone();
        let build = move || -> Result<GateWorker, String> {
            let broker = join(&properties, &settings, &facts, &member)?;
            let witnesses = witnesses(&properties, &settings)?;
            let takeovers = RestorerThread::spawn(route.clone(), witnesses, stores.clone())
                .map_err(|error| error.to_string())?;
            let observer = Counting::new(id.clone(), metrics.clone(), board.clone());
            let limits =
                TransactionLimits { timeout_ms: u64::from(settings.transaction_timeout_ms) };
            Ok(Worker::new(route.clone(), broker, takeovers, observer, limits))
        };
        std::thread::Builder::new()
            .name(name.clone())
            .spawn(move || {
                let ending = run_worker(&name, build, &stop);
                // The receiver lives as long as the process.
                let _ = ended.send(ending);
            })
            .map(|_| ())
            .map_err(|error| error.to_string())
    }

    /// How many looks a worker of a route may tell nothing: a few times as long as a step of its
    /// transactions is asked again.
    fn looks_max(&self, route: &str) -> u64 {
        let timeout_ms = (self.settings.routes.iter())
            .find(|of| of.name == route)
            .map_or(0, |of| u64::from(of.transaction_timeout_ms));
        let patience_ms = TransactionLimits { timeout_ms }.patience_ms();
        STEPS_MAX * patience_ms / LOOK_EVERY.as_millis() as u64
    }

    /// Waits for the workers' ends: for all of them after a stop, or for the first that fails,
    /// after which the others are stopped as well.
    fn wait(&self, endings: &Receiver<Result<(), String>>, workers: usize) -> Result<(), String> {
        let shutdown_ms = self.settings.routes.iter().map(|r| r.shutdown_ms).max().unwrap_or(0);
        let mut left = workers;
        let mut failed = None;
        let mut until: Option<Instant> = None;
        let mut watchdog = Watchdog::default();
        while left > 0 {
            match endings.recv_timeout(LOOK_EVERY) {
                Ok(Ok(())) => left -= 1,
                Ok(Err(why)) => {
                    tracing::error!("{why}");
                    failed.get_or_insert(why);
                    self.stop.store(true, Ordering::Relaxed);
                    left -= 1;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err("a worker's thread ended by a panic".into());
                }
            }
            let stands = watchdog.look(&self.board, |route| self.looks_max(route));
            if let (Some((route, worker)), None) = (stands, until) {
                return Err(format!(
                    "worker {route}/{worker} stands in a call of the Kafka client that does not come back; ending, to be started again. What was under way is not committed, or will be found committed then."
                ));
            }
            if self.stop.load(Ordering::Relaxed) {
                let until = *until.get_or_insert_with(|| {
                    Instant::now() + Duration::from_millis(shutdown_ms) - END_SPARE
                });
                if left > 0 && Instant::now() >= until {
                    return Err(format!(
                        "{left} of {workers} workers did not end within {shutdown_ms} ms: the cluster does not answer. What was under way is not committed, or will be found committed at the next start."
                    ));
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }
}

/// What the workers share, asked at each scrape.
fn host_gauge(stores: RocksStores, state_dir: &Path) -> HostGauge {
    let state_dir = state_dir.to_owned();
    Box::new(move || {
        let space = rustix::fs::statvfs(&state_dir).ok();
        let bytes = |blocks: u64| space.as_ref().map_or(0, |space| blocks * space.f_frsize);
        HostFigures {
            free_bytes: bytes(space.as_ref().map_or(0, |space| space.f_bavail)),
            size_bytes: bytes(space.as_ref().map_or(0, |space| space.f_blocks)),
            store_memory_bytes: stores.memory_bytes() as u64,
            cache: stores.cache_hits_and_misses(),
        }
    })
}

/// Whether the process may open enough files to begin with.
fn enough_files(limit: Option<usize>, workers: usize) -> Result<(), String> {
    let needed = workers * CLIENT_FILES + OTHER_FILES;
    match limit {
        Some(limit) if limit < needed => Err(format!(
            "too few file handles: the process may open {limit}, {workers} workers need at least {needed}, and more for each partition; raise the limit of the process (`ulimit -n`, LimitNOFILE)"
        )),
        _ => Ok(()),
    }
}

/// Joins a route's group as `member`, which only one client may be at a time.
///
/// # Errors
/// The client's words where a configuration is not one that a client can be made of.
pub fn join(
    properties: &ClientProperties,
    settings: &RouteSettings,
    facts: &RouteFacts,
    member: &str,
) -> Result<KafkaBroker, String> {
    KafkaBroker::subscribe(
        &consumer_config(properties, settings, member),
        producer_config(properties, settings, member, facts.limits),
        route_topics(settings),
    )
}

/// What a takeover asks the cluster with; it joins nothing.
///
/// # Errors
/// As [`join`].
pub fn witnesses(
    properties: &ClientProperties,
    settings: &RouteSettings,
) -> Result<KafkaWitnesses, String> {
    KafkaWitnesses::connect(
        &offset_asker_config(properties, settings),
        &watermark_asker_config(properties, settings),
        &journal_reader_config(properties, settings),
        route_topics(settings),
    )
}

fn route_topics(settings: &RouteSettings) -> RouteTopics {
    RouteTopics {
        raw: settings.raw.clone(),
        clean: settings.clean.clone(),
        quarantine: settings.quarantine.clone(),
        audit: settings.audit.clone(),
        journal: settings.journal.clone(),
    }
}

/// A route as its workers see it.
pub fn route_of(group: &str, settings: &RouteSettings, facts: &RouteFacts) -> Route {
    Route {
        name: settings.name.clone(),
        full_name: format!("{group}/{}", settings.name),
        group_id: settings.group_id.clone(),
        raw_topic: settings.raw.clone(),
        clean_topic: settings.clean.clone(),
        quarantine_topic: settings.quarantine.clone(),
        journal_topic: settings.journal.clone(),
        recipe: settings.recipe.clone(),
        policy: Policy {
            window: Window {
                span_micros: settings.window_micros,
                future_micros_max: settings.future_micros_max,
            },
            conflict: settings.conflict,
            clean_bytes_max: facts.clean_bytes_max,
            names: NameLengths::of(
                &settings.raw,
                &format!("{group}/{}", settings.name),
                &format!("{}/{}", settings.recipe.name(), settings.recipe.version()),
            ),
            keep_timestamp: settings.keep_timestamp,
        },
        quarantine_bytes_max: facts.quarantine_bytes_max,
        batch: BatchBounds {
            records_max: settings.batch.records,
            bytes_max: settings.batch.bytes,
            wait_ms_max: settings.batch.wait_ms,
        },
        clean_topic_id: facts.ids.clean.to_string(),
        quarantine_topic_id: facts.ids.quarantine.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::enough_files;

    #[test]
    fn too_few_files_are_refused_before_anything_begins() {
        assert_eq!(enough_files(Some(1024), 2), Ok(()));
        assert_eq!(enough_files(None, 2), Ok(()));
        let said = enough_files(Some(64), 2).unwrap_err();
        assert!(said.contains("may open 64, 2 workers need at least 300"), "{said}");
    }
}
