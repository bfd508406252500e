//! Every setting of oncegate's own: key, default, bounds, meaning. The reader takes defaults and
//! bounds from here, and so do `config show` and docs/configuration.md.
//! Must not be in here: librdkafka's properties, or rules between settings.

use super::model::Arrival;
use super::setting::{Absent, Choice, Quantity, Setting, Text, TextDefault};
use crate::gate::ConflictPolicy;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 3600);
const NONE: Duration = Duration::ZERO;
/// Event times are counted in microseconds of 64 bits; 10,000 years are far within.
const EVENT_TIME_MAX: Duration = Duration::from_secs(10_000 * 365 * 24 * 3600);
/// Half of the poll interval that consumers are given: a session cannot outlast it.
const TIMEOUT_MAX: Duration = Duration::from_secs(150);
/// A dead process's partitions move after this, its open transaction ends soon after.
const TIMEOUT: Duration = Duration::from_secs(10);

const TOPIC: &str = "a topic's name";
const DIR: &str = "a directory, relative to the file that names it";

/// All of them, in the order in which they are told.
pub static ALL: [&(dyn Setting + 'static); 29] = [
    &GROUP,
    &STATE_DIR,
    &RECIPES_DIR,
    &TOPICS_DIR,
    &INSTANCE,
    &HTTP_LISTEN,
    &STORE_MEMORY,
    &STORE_LEFT,
    &NAME,
    &RAW,
    &CLEAN,
    &QUARANTINE,
    &AUDIT,
    &RECIPE,
    &PARTITIONING,
    &WINDOW,
    &RETRY_HORIZON,
    &MAX_FUTURE,
    &ARRIVAL,
    &CONFLICT,
    &TIMESTAMP,
    &WORKERS,
    &BATCH_RECORDS,
    &BATCH_BYTES,
    &BATCH_WAIT,
    &SESSION,
    &TRANSACTION,
    &SHUTDOWN,
    &BOOTSTRAP,
];

/// What the command line and the environment set in place of the files: setting, option of the
/// command line, environment variable, and the commands that have it.
pub const OVERRIDES: [(&str, &str, Option<&str>, &str); 4] = [
    (
        "\"bootstrap.servers\" of [kafka]",
        "--bootstrap",
        Some("ONCEGATE_BOOTSTRAP"),
        "every command that asks a cluster",
    ),
    ("state_dir", "--state-dir", None, "`run`, `config show`, the acts of a person"),
    ("instance", "--instance", None, "`run`, `config show`"),
    ("listen of [http]", "--listen", None, "`run`, `config show`"),
];

pub const GROUP: Text = Text {
    section: "",
    key: "group",
    form: TOPIC,
    default: TextDefault::Required,
    meaning: "Prefix of the consumer groups and of the topics that get no name: a route's group is `<group>.<route>`.",
};
pub const STATE_DIR: Text = Text {
    section: "",
    key: "state_dir",
    form: DIR,
    default: TextDefault::Is("state"),
    meaning: "The directory that makes the process a member of its groups: instance id, lock, stores. Each process needs one of its own and keeps it over restarts.",
};
pub const RECIPES_DIR: Text = Text {
    section: "",
    key: "recipes_dir",
    form: DIR,
    default: TextDefault::Is("recipes"),
    meaning: "Where recipes stand, a file each.",
};
pub const TOPICS_DIR: Text = Text {
    section: "",
    key: "topics_dir",
    form: DIR,
    default: TextDefault::Is("topics"),
    meaning: "Where declarations of topics stand, a file each. A topic without one gets what its role needs.",
};
pub const INSTANCE: Text = Text {
    section: "",
    key: "instance",
    form: TOPIC,
    default: TextDefault::Absent("the state directory keeps an id of its own"),
    meaning: "The id of this process among those of its group; part of `group.instance.id` and `transactional.id`.",
};
pub const HTTP_LISTEN: Text = Text {
    section: "http",
    key: "listen",
    form: "an IP address and a port",
    default: TextDefault::Is("127.0.0.1:9464"),
    meaning: "Address of health and metrics. It has neither TLS nor a password: see docs/security.md before it is anything but a loopback address.",
};
pub const STORE_MEMORY: Quantity<u64> = Quantity {
    section: "store",
    key: "memory",
    default: 512 << 20,
    only_with: None,
    // Below, write buffers of a few partitions alone would not fit.
    min: 16 << 20,
    max: 1 << 40,
    meaning: "Memory that all partition stores of the process share.",
};
pub const STORE_LEFT: Quantity<u64> = Quantity {
    section: "store",
    key: "left",
    default: 10 << 30,
    only_with: None,
    min: 0,
    max: 1 << 50,
    meaning: "Disk for stores of partitions that other processes serve now; kept so that a partition that comes back is level soon.",
};
pub const BOOTSTRAP: Text = Text {
    section: "kafka",
    key: "bootstrap.servers",
    form: "`host:port,host:port`",
    default: TextDefault::Required,
    meaning: "The brokers to ask first.",
};
pub const NAME: Text = Text {
    section: "route",
    key: "name",
    form: "a-z, A-Z, 0-9, `_` and `-`, at most 64",
    default: TextDefault::Required,
    meaning: "The route's name; part of its group, topics, metrics and directories.",
};
pub const RAW: Text = Text {
    section: "route",
    key: "raw",
    form: TOPIC,
    default: TextDefault::Required,
    meaning: "The topic that is read.",
};
pub const CLEAN: Text = Text {
    section: "route",
    key: "clean",
    form: TOPIC,
    default: TextDefault::Required,
    meaning: "The topic that gets each event once.",
};
pub const QUARANTINE: Text = Text {
    section: "route",
    key: "quarantine",
    form: TOPIC,
    default: TextDefault::Made("`<group>.<route>.quarantine`"),
    meaning: "The topic that gets what cannot be let through, with a reason.",
};
pub const AUDIT: Text = Text {
    section: "route",
    key: "audit",
    form: TOPIC,
    default: TextDefault::Made("`<group>.<route>.audit`"),
    meaning: "The topic that tells each absorbed duplicate. (The journal's name is always `<group>.<route>.journal`.)",
};
pub const RECIPE: Text = Text {
    section: "route",
    key: "recipe",
    form: "a file in `recipes_dir`, without `.toml`",
    default: TextDefault::Required,
    meaning: "What makes an event itself: docs/recipes.md.",
};
pub const PARTITIONING: Choice<()> = Choice {
    section: "route",
    key: "partitioning",
    choices: &[("by-source", ())],
    meaning: "Producers send the same event to the same partition each time.",
};
pub const WINDOW: Quantity<Duration, Absent> = Quantity {
    section: "route",
    key: "window",
    default: Absent("nothing is forgotten"),
    only_with: None,
    min: SECOND,
    max: EVENT_TIME_MAX,
    meaning: "How far back in event time the store remembers. An older event is quarantined. Longer than `retry_horizon` plus `max_future`.",
};
pub const RETRY_HORIZON: Quantity<Duration> = Quantity {
    section: "route",
    key: "retry_horizon",
    default: DAY.saturating_mul(7),
    only_with: Some("window"),
    min: NONE,
    max: EVENT_TIME_MAX,
    meaning: "How late a redelivery may come.",
};
pub const MAX_FUTURE: Quantity<Duration> = Quantity {
    section: "route",
    key: "max_future",
    default: Duration::from_secs(3600),
    only_with: Some("window"),
    min: NONE,
    max: EVENT_TIME_MAX,
    meaning: "How far an event's time may lie beyond its arrival. Without a window it bounds nothing unless it is set.",
};
pub const ARRIVAL: Choice<Arrival> = Choice {
    section: "route",
    key: "arrival",
    choices: &[("log-append-time", Arrival::LogAppendTime), ("create-time", Arrival::CreateTime)],
    meaning: "Which timestamp of a raw record is its arrival; with `\"create-time\"` the producers' clocks are trusted.",
};
pub const CONFLICT: Choice<ConflictPolicy> = Choice {
    section: "route",
    key: "conflict",
    choices: &[
        ("quarantine", ConflictPolicy::Quarantine),
        ("absorb", ConflictPolicy::Absorb),
        ("correction", ConflictPolicy::Correction),
    ],
    meaning: "What becomes of an event whose key is known and whose content is another: docs/verdicts.md.",
};
pub const TIMESTAMP: Choice<bool> = Choice {
    section: "route",
    key: "timestamp",
    choices: &[("raw", true), ("now", false)],
    meaning: "The timestamp of clean records.",
};
pub const WORKERS: Quantity<i64> = Quantity {
    section: "route",
    key: "workers",
    default: 1,
    only_with: None,
    min: 1,
    max: 64,
    meaning: "Workers of the route in each process; each is a member of the group.",
};
pub const BATCH_RECORDS: Quantity<i64> = Quantity {
    section: "route.batch",
    key: "records",
    // A bare copy at 5,000 records a transaction ran at 0.4 of its speed at 20,000.
    default: 20_000,
    only_with: None,
    min: 1,
    max: 1_000_000,
    meaning: "A transaction is made when so many records are collected,",
};
pub const BATCH_BYTES: Quantity<u64> = Quantity {
    section: "route.batch",
    key: "bytes",
    default: 32 << 20,
    only_with: None,
    min: 1024,
    max: 1 << 30,
    meaning: "or so many bytes of keys, values and headers,",
};
pub const BATCH_WAIT: Quantity<Duration> = Quantity {
    section: "route.batch",
    key: "wait",
    default: Duration::from_millis(50),
    only_with: None,
    min: NONE,
    max: Duration::from_secs(60),
    meaning: "or so long after the first of them.",
};
pub const SESSION: Quantity<Duration> = Quantity {
    section: "route.timeouts",
    key: "session",
    default: TIMEOUT,
    only_with: None,
    min: SECOND,
    max: TIMEOUT_MAX,
    meaning: "A silent member's partitions move after this.",
};
pub const TRANSACTION: Quantity<Duration> = Quantity {
    section: "route.timeouts",
    key: "transaction",
    default: TIMEOUT,
    only_with: None,
    min: SECOND,
    max: TIMEOUT_MAX,
    meaning: "The broker ends a transaction that stays open longer.",
};
pub const SHUTDOWN: Quantity<Duration> = Quantity {
    section: "route.timeouts",
    key: "shutdown",
    default: Duration::from_secs(25),
    only_with: None,
    min: SECOND,
    max: Duration::from_secs(600),
    meaning: "How long an orderly end may take; the longest of all routes counts.",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_can_be_chosen_by_its_name() {
        let names = CONFLICT.choices.iter().map(|(name, policy)| (*name, *policy));
        assert!(names.eq(ConflictPolicy::ALL.map(|policy| (policy.as_str(), policy))));
        assert_eq!(CONFLICT.choices[0].1, ConflictPolicy::default());
    }
}
