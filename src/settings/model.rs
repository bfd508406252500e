//! The settings as values, once they are known to be sound.
//! Must not be in here: reading, defaults, or rules; they stand in `load` and `route`.

use super::properties::ClientProperties;
use crate::gate::ConflictPolicy;
use crate::identity::Recipe;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// What the command line and the environment set in place of the file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// In place of `state_dir`; relative to the working directory.
    pub state_dir: Option<PathBuf>,
    /// In place of `instance`.
    pub instance: Option<String>,
    /// In place of `http.listen`.
    pub http_listen: Option<SocketAddr>,
    /// In place of `bootstrap.servers` in `[kafka]`.
    pub bootstrap: Option<String>,
}

/// Everything that a process needs to know of itself and of its routes.
#[derive(Clone)]
pub struct Settings {
    /// The files that they were read from, as they were named.
    pub files: Vec<String>,
    /// Prefix of the consumer groups.
    pub group: String,
    /// The directory that makes the process a member: instance id, lock, partition stores.
    pub state_dir: PathBuf,
    /// A given instance id; without one the state directory keeps its own.
    pub instance: Option<String>,
    /// Where the recipes stand.
    pub recipes_dir: PathBuf,
    /// Where the declarations of topics stand.
    pub topics_dir: PathBuf,
    /// Address of the HTTP server for metrics and health.
    pub http_listen: SocketAddr,
    /// Memory that all partition stores of the process share.
    pub store_memory_bytes: usize,
    /// Disk for stores of partitions that other processes serve now.
    pub store_left_bytes: u64,
    /// librdkafka properties for every client.
    pub kafka: ClientProperties,
    /// The routes, at least one.
    pub routes: Vec<RouteSettings>,
}

/// One raw topic, one clean topic, a recipe, a window, policies.
#[derive(Clone)]
pub struct RouteSettings {
    /// Its name.
    pub name: String,
    /// Its consumer group: `<group>.<route>`.
    pub group_id: String,
    /// The topic that is read.
    pub raw: String,
    /// The topic that gets each event once.
    pub clean: String,
    /// The topic for what cannot be let through, with a reason.
    pub quarantine: String,
    /// The topic that tells each absorbed duplicate.
    pub audit: String,
    /// The journal: `<group>.<route>.journal`.
    pub journal: String,
    /// How records become events and keys.
    pub recipe: Arc<Recipe>,
    /// How far back the store remembers, in microseconds of event time; `None`: for ever.
    pub window_micros: Option<i64>,
    /// How far an event's time may lie beyond its arrival, in microseconds;
    /// [`UNBOUNDED_FUTURE_MICROS`] where nothing bounds it.
    pub future_micros_max: i64,
    /// What becomes of an event whose key is known and whose content is another.
    pub conflict: ConflictPolicy,
    /// Which timestamp counts as a record's arrival.
    pub arrival: Arrival,
    /// Whether clean records keep the raw timestamp; else they bear the time of sending.
    pub keep_timestamp: bool,
    /// Workers of this route in one process.
    pub workers: usize,
    /// When a batch is full.
    pub batch: BatchSettings,
    /// A silent member's partitions move after this long.
    pub session_timeout_ms: u32,
    /// The broker ends a transaction that stays open longer.
    pub transaction_timeout_ms: u32,
    /// How long an orderly end may take.
    pub shutdown_ms: u64,
}

/// Where neither window nor `max_future` bounds event time from above.
pub const UNBOUNDED_FUTURE_MICROS: i64 = i64::MAX;

/// A batch ends with whichever of these comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSettings {
    /// Records.
    pub records: usize,
    /// Bytes of keys, values and headers.
    pub bytes: usize,
    /// Milliseconds since its first record.
    pub wait_ms: u64,
}

/// Which timestamp counts as a record's arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The broker's, in a raw topic with `message.timestamp.type=LogAppendTime`.
    LogAppendTime,
    /// The producer's, which the route says it trusts.
    CreateTime,
}

/// What a topic is to a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TopicRole {
    /// It is read.
    Raw,
    /// It gets each event once.
    Clean,
    /// It gets what cannot be let through.
    Quarantine,
    /// It tells each absorbed duplicate.
    Audit,
    /// It gets one entry per partition and transaction.
    Journal,
}

impl TopicRole {
    /// The roles of topics that oncegate writes.
    pub const OWN: [TopicRole; 4] =
        [TopicRole::Clean, TopicRole::Quarantine, TopicRole::Audit, TopicRole::Journal];

    /// Its name, as in the settings and in topic declarations.
    pub fn as_str(self) -> &'static str {
        match self {
            TopicRole::Raw => "raw",
            TopicRole::Clean => "clean",
            TopicRole::Quarantine => "quarantine",
            TopicRole::Audit => "audit",
            TopicRole::Journal => "journal",
        }
    }
}

impl std::fmt::Display for TopicRole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl RouteSettings {
    /// The topic that has this role.
    pub fn topic(&self, role: TopicRole) -> &str {
        match role {
            TopicRole::Raw => &self.raw,
            TopicRole::Clean => &self.clean,
            TopicRole::Quarantine => &self.quarantine,
            TopicRole::Audit => &self.audit,
            TopicRole::Journal => &self.journal,
        }
    }

    /// Whether verdicts ask when a record arrived: only where event time is bounded.
    pub fn needs_arrival(&self) -> bool {
        self.future_micros_max != UNBOUNDED_FUTURE_MICROS
    }
}
