//! The configuration of every client, by the role that it has.
//!
//! Three layers: what suits most, then what the settings say, then what the promise needs.
//! Must not be in here: a client.

use crate::settings::{ClientKind, ClientProperties, RouteSettings};
use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;
use std::time::Duration;

/// A worker that does not poll for this long has lost its partitions. Its calls are cut into
/// slices far below it.
pub const MAX_POLL_INTERVAL_MS: u32 = 300_000;
/// A heartbeat is lost now and then; three in a session are not.
const HEARTBEATS_PER_SESSION: u32 = 3;
/// How often a worker's clients say where they stand.
const STATISTICS_MS: &str = "1000";
/// librdkafka's own default.
const HEARTBEAT_INTERVAL_MS_MAX: u32 = 3_000;
/// The client counts a record before compression and without all framing; what the topics' own
/// limits allow must pass it.
const CLIENT_LIMIT_SPARE_BYTES: u64 = 64 * 1024;
/// librdkafka's own bounds of `message.max.bytes`.
const CLIENT_LIMIT_BYTES: std::ops::RangeInclusive<u64> = 1_000_000..=1_000_000_000;
/// librdkafka's default. A larger batch would not be faster.
const PRODUCE_BATCH_BYTES_MAX: u64 = 1_000_000;
/// librdkafka's upper bound of both queue limits in kB.
const QUEUE_KBYTES_MAX: u64 = 2_097_151;
/// Least memory for records that wait to be delivered.
const QUEUE_KBYTES_MIN: u64 = 64 * 1024;
/// Least memory for records that were fetched ahead: one fetch of a few partitions.
const AHEAD_KBYTES_MIN: u64 = 16 * 1024;
/// Records of all partitions that the client tries to have fetched ahead: it looks at its one queue.
const AHEAD_RECORDS_MIN: usize = 1_000;
/// librdkafka's own default.
const AHEAD_RECORDS_MAX: usize = 100_000;
/// Memory for records that an evidence command has not looked at yet.
const LOG_QUEUE_KBYTES: u64 = 32 * 1024;
/// A conflict is told twice, and the journal's parts come on top.
const OUTPUTS_PER_RECORD: usize = 2;
const JOURNAL_RECORDS_SPARE: usize = 10_000;

/// A broker that comes back is to be used at once: librdkafka's default waits up to ten seconds,
/// Kafka's own clients one.
const RECONNECT: (&str, &str) = ("reconnect.backoff.max.ms", "1000");

/// The part of the client whose debug lines tell how connections fare.
const CONNECTIONS: &str = "broker";

/// The defaults of consumers, which the settings may change.
pub const CONSUMER_DEFAULTS: [(&str, &str); 4] = [
    ("client.id", "oncegate"),
    RECONNECT,
    // A first record is not held back for more than this.
    ("fetch.wait.max.ms", "50"),
    // The default of a second stalls fetching whenever the queue was full once.
    ("fetch.queue.backoff.ms", "20"),
];

/// The defaults of producers, which the settings may change.
pub const PRODUCER_DEFAULTS: [(&str, &str); 6] = [
    ("client.id", "oncegate"),
    RECONNECT,
    ("linger.ms", "5"),
    ("compression.type", "lz4"),
    // Back-to-back transactions meet CONCURRENT_TRANSACTIONS, which is over in milliseconds.
    ("retry.backoff.ms", "10"),
    ("retry.backoff.max.ms", "200"),
];

/// What every consumer needs for the promise.
const CONSUMER_MUSTS: [(&str, &str); 6] = [
    // Offsets are committed inside the transaction, never apart from it.
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    // A missing offset stops the partition, it does not move it.
    ("auto.offset.reset", "error"),
    // The end of a partition is told, also where only markers stand before it.
    ("enable.partition.eof", "true"),
    // A record that was damaged on its way must not get a key.
    ("check.crcs", "true"),
    ("allow.auto.create.topics", "false"),
];

/// The limits of a route's own topics, in bytes of a record batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimits {
    /// The smallest `max.message.bytes` among them.
    pub smallest_bytes: u64,
    /// The largest.
    pub largest_bytes: u64,
}

/// The stable id of a worker slot: `group.instance.id` and `transactional.id`.
pub fn member_id(group: &str, route: &str, instance: &str, worker: usize) -> String {
    format!("{group}-{route}-{instance}-{worker}")
}

/// A worker's consumer: a static member of the route's group.
pub fn consumer_config(
    properties: &ClientProperties,
    route: &RouteSettings,
    member_id: &str,
) -> ClientConfig {
    let mut config = reader(properties, &route.group_id, Isolation::ReadCommitted);
    // Half a batch ahead, and what one fetch brings beyond that. The client's own measure, 100,000
    // records, is more than is worked through in a transaction's time, and small records take
    // several times their bytes.
    let ahead_kbytes = (route.batch.bytes as u64 / 1024).clamp(AHEAD_KBYTES_MIN, QUEUE_KBYTES_MAX);
    let ahead_records = (route.batch.records / 2).clamp(AHEAD_RECORDS_MIN, AHEAD_RECORDS_MAX);
    for (name, value) in [
        ("queued.max.messages.kbytes", ahead_kbytes.to_string()),
        ("queued.min.messages", ahead_records.to_string()),
    ] {
        set_unless_given(&mut config, properties, name, &value);
    }
    set_unless_given(&mut config, properties, "client.id", member_id);
    // They tell where logs end, and of partitions that another's open transaction holds up.
    set_unless_given(&mut config, properties, "statistics.interval.ms", STATISTICS_MS);
    let heartbeat_ms =
        (route.session_timeout_ms / HEARTBEATS_PER_SESSION).clamp(1, HEARTBEAT_INTERVAL_MS_MAX);
    config
        .set("group.instance.id", member_id)
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("session.timeout.ms", route.session_timeout_ms.to_string())
        .set("heartbeat.interval.ms", heartbeat_ms.to_string())
        .set("max.poll.interval.ms", MAX_POLL_INTERVAL_MS.to_string());
    config
}

/// A worker's transactional producer.
pub fn producer_config(
    properties: &ClientProperties,
    route: &RouteSettings,
    member_id: &str,
    limits: OutputLimits,
) -> ClientConfig {
    let mut config = layered(&PRODUCER_DEFAULTS, properties, ClientKind::Producer);
    set_unless_given(&mut config, properties, "client.id", member_id);
    set_unless_given(&mut config, properties, "statistics.interval.ms", STATISTICS_MS);
    // A record that is not delivered in time must fail before the broker ends the transaction.
    let delivery_ms = route.transaction_timeout_ms / 5 * 4;
    // A whole batch above the limit fails with no culprit named.
    let batch_bytes = (limits.smallest_bytes / 10 * 9).clamp(1, PRODUCE_BATCH_BYTES_MAX);
    let client_limit_bytes = limits
        .largest_bytes
        .saturating_add(CLIENT_LIMIT_SPARE_BYTES)
        .clamp(*CLIENT_LIMIT_BYTES.start(), *CLIENT_LIMIT_BYTES.end());
    let queue_records = route.batch.records * OUTPUTS_PER_RECORD + JOURNAL_RECORDS_SPARE;
    let queue_kbytes =
        (route.batch.bytes as u64 * 4 / 1024).clamp(QUEUE_KBYTES_MIN, QUEUE_KBYTES_MAX);
    // The client tells of a connection that ends only once in 30 s (its errors are "suppressed");
    // its debug lines tell of each, and a request that was under way on it may come late.
    let debug = properties
        .get("debug")
        .map_or(CONNECTIONS.to_owned(), |given| format!("{given},{CONNECTIONS}"));
    config.set_log_level(RDKafkaLogLevel::Debug);
    config
        .set("debug", debug)
        .set("transactional.id", member_id)
        .set("transaction.timeout.ms", route.transaction_timeout_ms.to_string())
        .set("message.timeout.ms", delivery_ms.to_string())
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("message.max.bytes", client_limit_bytes.to_string())
        .set("batch.size", batch_bytes.to_string())
        .set("queue.buffering.max.messages", queue_records.to_string())
        .set("queue.buffering.max.kbytes", queue_kbytes.to_string())
        .set("allow.auto.create.topics", "false");
    config
}

/// Reads the journal's committed entries; never joins the group.
pub fn journal_reader_config(properties: &ClientProperties, route: &RouteSettings) -> ClientConfig {
    reader(properties, &route.group_id, Isolation::ReadCommitted)
}

/// Asks for committed offsets. Under read_committed librdkafka waits for pending transactional
/// commits, so that the answer is stable. Never joins the group.
pub fn offset_asker_config(properties: &ClientProperties, route: &RouteSettings) -> ClientConfig {
    reader(properties, &route.group_id, Isolation::ReadCommitted)
}

/// Asks for high watermarks: `fetch_watermarks` follows the isolation level of its client, and the
/// last stable offset is not the end of a log.
pub fn watermark_asker_config(
    properties: &ClientProperties,
    route: &RouteSettings,
) -> ClientConfig {
    reader(properties, &route.group_id, Isolation::ReadUncommitted)
}

/// Reads a log for the evidence commands; never joins the group.
pub fn log_reader_config(properties: &ClientProperties, group_id: &str) -> ClientConfig {
    let mut config = reader(properties, group_id, Isolation::ReadCommitted);
    let queued_kbytes = LOG_QUEUE_KBYTES.to_string();
    set_unless_given(&mut config, properties, "queued.max.messages.kbytes", &queued_kbytes);
    config
}

/// Asks for the high watermarks of logs that the evidence commands read.
pub fn log_observer_config(properties: &ClientProperties, group_id: &str) -> ClientConfig {
    reader(properties, group_id, Isolation::ReadUncommitted)
}

/// Appends records for a person, in transactions of at most this length.
pub fn appender_config(
    properties: &ClientProperties,
    transactional_id: &str,
    timeout: Duration,
) -> ClientConfig {
    let mut config = layered(&PRODUCER_DEFAULTS, properties, ClientKind::Producer);
    config
        .set("transactional.id", transactional_id)
        .set("transaction.timeout.ms", timeout.as_millis().to_string())
        .set("message.timeout.ms", (timeout / 5 * 4).as_millis().to_string())
        .set("enable.idempotence", "true")
        .set("acks", "all")
        // A batch above the topic's limit would fail with no culprit named.
        .set("batch.num.messages", "1")
        // The topic's own limit is the one that counts.
        .set("message.max.bytes", CLIENT_LIMIT_BYTES.end().to_string())
        .set("allow.auto.create.topics", "false");
    config
}

/// Asks the cluster what it is, and creates topics.
pub fn admin_config(properties: &ClientProperties) -> ClientConfig {
    let mut config = layered(&[("client.id", "oncegate")], properties, ClientKind::Producer);
    // Why a connection ended is told at this level, and is the reason to give when nobody answers.
    config.set_log_level(RDKafkaLogLevel::Info);
    config
}

enum Isolation {
    ReadCommitted,
    ReadUncommitted,
}

fn reader(properties: &ClientProperties, group_id: &str, isolation: Isolation) -> ClientConfig {
    let mut config = layered(&CONSUMER_DEFAULTS, properties, ClientKind::Consumer);
    for (name, value) in CONSUMER_MUSTS {
        config.set(name, value);
    }
    let isolation = match isolation {
        Isolation::ReadCommitted => "read_committed",
        Isolation::ReadUncommitted => "read_uncommitted",
    };
    // The group is named also where nothing joins: offsets are asked for by group, and one right
    // on the broker covers all.
    config.set("group.id", group_id).set("isolation.level", isolation);
    config
}

fn layered(
    defaults: &[(&str, &str)],
    properties: &ClientProperties,
    kind: ClientKind,
) -> ClientConfig {
    let mut config = ClientConfig::new();
    for (name, value) in defaults.iter().copied().chain(properties.for_client(kind)) {
        config.set(name, value);
    }
    config
}

fn set_unless_given(
    config: &mut ClientConfig,
    properties: &ClientProperties,
    name: &str,
    value: &str,
) {
    if properties.get(name).is_none() {
        config.set(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::sample_route;
    use rdkafka::consumer::BaseConsumer;
    use rdkafka::producer::BaseProducer;

    const LIMITS: OutputLimits = OutputLimits { smallest_bytes: 100_000, largest_bytes: 3_000_000 };

    fn properties(pairs: &[(&str, &str)]) -> ClientProperties {
        let mut properties = ClientProperties::default();
        properties.set("bootstrap.servers", "127.0.0.1:9", None);
        for (name, value) in pairs {
            properties.set(*name, *value, None);
        }
        properties
    }

    #[test]
    fn a_client_can_be_made_of_every_configuration() {
        let both = properties(&[("fetch.min.bytes", "1"), ("linger.ms", "1")]);
        let route = sample_route();
        let short = RouteSettings {
            session_timeout_ms: 1_000,
            transaction_timeout_ms: 1_000,
            ..sample_route()
        };
        let long = RouteSettings {
            session_timeout_ms: 150_000,
            transaction_timeout_ms: 150_000,
            ..sample_route()
        };
        for route in [&route, &short, &long] {
            let consumer = consumer_config(&both, route, "g-lab-1-0");
            consumer.create::<BaseConsumer>().unwrap();
            let producer = producer_config(&both, route, "g-lab-1-0", LIMITS);
            producer.create::<BaseProducer>().unwrap();
        }
        for reader in [journal_reader_config, offset_asker_config, watermark_asker_config] {
            reader(&both, &route).create::<BaseConsumer>().unwrap();
        }
        admin_config(&both).create::<BaseProducer>().unwrap();
    }

    #[test]
    fn what_the_promise_needs_overrides_the_settings() {
        // The file's reader refuses these; here they are set all the same.
        let bad = properties(&[
            ("acks", "1"),
            ("auto.offset.reset", "earliest"),
            ("check.crcs", "false"),
            ("enable.auto.commit", "true"),
            ("enable.idempotence", "false"),
            ("isolation.level", "read_uncommitted"),
            ("transactional.id", "other"),
        ]);
        let consumer = consumer_config(&bad, &sample_route(), "g-lab-1-0");
        assert_eq!(consumer.get("isolation.level"), Some("read_committed"));
        assert_eq!(consumer.get("auto.offset.reset"), Some("error"));
        assert_eq!(consumer.get("enable.auto.commit"), Some("false"));
        assert_eq!(consumer.get("check.crcs"), Some("true"));
        assert_eq!(consumer.get("group.id"), Some("g.lab"));
        assert_eq!(consumer.get("group.instance.id"), Some("g-lab-1-0"));
        let producer = producer_config(&bad, &sample_route(), "g-lab-1-0", LIMITS);
        assert_eq!(producer.get("acks"), Some("all"));
        assert_eq!(producer.get("enable.idempotence"), Some("true"));
        assert_eq!(producer.get("transactional.id"), Some("g-lab-1-0"));
    }

    #[test]
    fn sizes_and_times_are_made_from_topics_and_route() {
        let tuned = properties(&[("fetch.wait.max.ms", "7"), ("compression.type", "zstd")]);
        let producer = producer_config(&tuned, &sample_route(), "m", LIMITS);
        assert_eq!(producer.get("batch.size"), Some("90000"));
        assert_eq!(producer.get("message.max.bytes"), Some("3065536"));
        assert_eq!(producer.get("message.timeout.ms"), Some("8000"));
        assert_eq!(producer.get("queue.buffering.max.messages"), Some("50000"));
        assert_eq!(producer.get("compression.type"), Some("zstd"));
        assert_eq!(producer.get("fetch.wait.max.ms"), None);
        assert_eq!(producer.get("debug"), Some("broker"));
        let debugged = properties(&[("debug", "eos")]);
        let producer = producer_config(&debugged, &sample_route(), "m", LIMITS);
        assert_eq!(producer.get("debug"), Some("eos,broker"));
        let consumer = consumer_config(&tuned, &sample_route(), "m");
        assert_eq!(consumer.get("fetch.wait.max.ms"), Some("7"));
        assert_eq!(consumer.get("heartbeat.interval.ms"), Some("3000"));
        assert_eq!(consumer.get("queued.max.messages.kbytes"), Some("32768"));
        assert_eq!(consumer.get("queued.min.messages"), Some("10000"));
        assert_eq!(consumer.get("compression.type"), None);
        assert_eq!(member_id("g", "lab", "i", 2), "g-lab-i-2");
    }
}
