//! librdkafka properties: which pass through, to which clients, and which would break the promise.
//! Must not be in here: librdkafka. Values are tried in the `kafka` room.

use std::collections::BTreeMap;
use std::fmt;

/// The kind of client that a property is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientKind {
    /// Consumers.
    Consumer,
    /// Producers and admin clients, which librdkafka makes as producers.
    Producer,
}

/// The properties that the file sets for every client. Their values may be secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ClientProperties(BTreeMap<String, Property>);

#[derive(Clone, PartialEq, Eq)]
struct Property {
    value: String,
    line: Option<usize>,
}

impl ClientProperties {
    /// Sets a property.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>, line: Option<usize>) {
        self.0.insert(name.into(), Property { value: value.into(), line });
    }

    /// A property's value. It may be a secret.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|property| property.value.as_str())
    }

    /// The line that set a property.
    pub fn line(&self, name: &str) -> Option<usize> {
        self.0.get(name)?.line
    }

    /// Names and values that a kind of client understands. Values may be secrets.
    pub fn for_client(&self, kind: ClientKind) -> impl Iterator<Item = (&str, &str)> {
        let other = match kind {
            ClientKind::Consumer => FOR_PRODUCERS.as_slice(),
            ClientKind::Producer => FOR_CONSUMERS.as_slice(),
        };
        self.0
            .iter()
            .filter(move |(name, _)| !other.contains(&name.as_str()))
            .map(|(name, property)| (name.as_str(), property.value.as_str()))
    }

    /// Names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// A text of another's making without the values that may be secrets.
    pub fn scrub(&self, text: &str) -> String {
        let hidden = |(name, property): &(&String, &Property)| {
            !SHOWN.contains(&name.as_str()) && !property.value.is_empty()
        };
        let mut values: Vec<&str> =
            self.0.iter().filter(hidden).map(|(_, property)| property.value.as_str()).collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.iter().fold(text.to_owned(), |text, value| text.replace(value, HIDDEN))
    }
}

impl fmt::Debug for ClientProperties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (name, property) in &self.0 {
            let shown = SHOWN.contains(&name.as_str());
            map.entry(name, if shown { &property.value } else { &HIDDEN });
        }
        map.finish()
    }
}

/// What stands in place of a value that may be a secret.
const HIDDEN: &str = "(hidden)";

/// The only properties whose values are ever printed: a new secret is hidden without being named.
const SHOWN: [&str; 6] = [
    "bootstrap.servers",
    "client.id",
    "client.rack",
    "compression.type",
    "sasl.mechanism",
    "security.protocol",
];

/// librdkafka's second names: which of two settings would count is left to chance.
const ALIASES: [(&str, &str); 7] = [
    ("compression.codec", "compression.type"),
    ("max.partition.fetch.bytes", "fetch.message.max.bytes"),
    ("metadata.broker.list", "bootstrap.servers"),
    ("queue.buffering.max.ms", "linger.ms"),
    ("sasl.mechanisms", "sasl.mechanism"),
    ("sasl.oauthbearer.client.credentials.client.id", "sasl.oauthbearer.client.id"),
    ("sasl.oauthbearer.client.credentials.client.secret", "sasl.oauthbearer.client.secret"),
];

/// The one name of a property.
pub fn canonical(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name)
}

/// Why a property may not be set, if it may not.
pub fn refusal(name: &str) -> Option<&'static str> {
    if name.starts_with("test.mock.") {
        return Some("a mock cluster keeps no promise");
    }
    REFUSED.iter().find(|(names, _)| names.contains(&name)).map(|(_, why)| *why)
}

/// Every property that may be set.
pub fn passed_through() -> impl Iterator<Item = &'static str> {
    FOR_ALL.iter().chain(&FOR_CONSUMERS).chain(&FOR_PRODUCERS).copied()
}

const OFFSETS: &str = "offsets are committed inside the transaction, never apart from it";
const ORDER: &str = "records would be lost or change their order";
const MEMBER: &str = "the state directory is the member: its id is made from group, route and \
                      instance";
const SIZES: &str = "it is made from the limits of the route's topics";
const DELIVERY: &str = "it must lie below the transaction's time-out, and is made from it";
const PARTITION: &str = "each record goes to the partition of its raw record";
const CALLBACK: &str = "it is no setting but a place for code";
const CODE: &str = "foreign code in the client could change what it does";
const VERSION: &str = "transactions need brokers that say which versions they speak";
const BATCH: &str = "it is made from `batch` of the route";

/// Properties that would break a promise, or that oncegate makes itself, each with the reason.
const REFUSED: &[(&[&str], &str)] = &[
    (&["transactional.id", "group.instance.id"], MEMBER),
    (&["group.id"], "it is made of group and route: `<group>.<route>`"),
    (&["enable.auto.commit", "auto.commit.enable", "auto.commit.interval.ms"], OFFSETS),
    (&["enable.auto.offset.store", "offset.store.method", "offset.store.path"], OFFSETS),
    (&["offset.store.sync.interval.ms", "offset_commit_cb"], OFFSETS),
    (&["isolation.level"], "records of aborted transactions would be let through"),
    (&["auto.offset.reset"], "a missing offset must stop the partition, not move it"),
    (&["enable.idempotence", "enable.gapless.guarantee"], ORDER),
    (&["acks", "request.required.acks"], "an acknowledged record must be on all replicas in sync"),
    (&["max.in.flight", "max.in.flight.requests.per.connection", "queuing.strategy"], ORDER),
    (&["retries", "message.send.max.retries"], ORDER),
    (&["queue.buffering.backpressure.threshold"], ORDER),
    (&["message.timeout.ms", "delivery.timeout.ms"], DELIVERY),
    (&["transaction.timeout.ms"], "it is `timeouts.transaction` of the route"),
    (&["session.timeout.ms"], "it is `timeouts.session` of the route"),
    (&["heartbeat.interval.ms"], "it is made from `timeouts.session` of the route"),
    (&["max.poll.interval.ms"], "a worker's calls are cut to fit the one that is set"),
    (&["partition.assignment.strategy"], "partitions move one by one: `cooperative-sticky`"),
    (
        &["group.protocol", "group.protocol.type", "group.remote.assignor"],
        "only the classic group protocol is proven with this version of librdkafka",
    ),
    (&["enable.partition.eof"], "the end of a partition must be told"),
    (&["check.crcs"], "a record that was damaged on its way must not get a key"),
    (&["allow.auto.create.topics"], "a topic made by accident has the wrong partitions"),
    (&["topic.blacklist"], "a hidden topic looks like a deleted one"),
    (&["message.max.bytes", "batch.size", "receive.message.max.bytes"], SIZES),
    (&["queue.buffering.max.messages", "queue.buffering.max.kbytes"], BATCH),
    (&["partitioner", "partitioner_cb", "sticky.partitioning.linger.ms"], PARTITION),
    (
        &["delivery.report.only.error", "produce.offset.report"],
        "the offsets of delivered records are noted with each transaction",
    ),
    (&["msg_order_cmp", "dr_cb", "dr_msg_cb", "consume_cb", "rebalance_cb"], CALLBACK),
    (&["error_cb", "throttle_cb", "stats_cb", "log_cb", "background_event_cb"], CALLBACK),
    (&["socket_cb", "connect_cb", "closesocket_cb", "open_cb", "resolve_cb"], CALLBACK),
    (&["oauthbearer_token_refresh_cb", "ssl.certificate.verify_cb"], CALLBACK),
    (&["opaque", "default_topic_conf", "ssl_engine_callback_data", "enabled_events"], CALLBACK),
    (&["ssl_key", "ssl_certificate", "ssl_ca"], "use `ssl.key.pem` and its like"),
    (&["plugin.library.paths", "interceptors", "ssl.engine.location", "ssl.engine.id"], CODE),
    (&["builtin.features"], "it only tells what librdkafka was built with"),
    (&["api.version.request", "api.version.fallback.ms", "broker.version.fallback"], VERSION),
    (&["log.queue", "log_level"], "what is logged is set on the command line"),
    (&["internal.termination.signal", "enable.random.seed"], CALLBACK),
    (&["statistics.interval.ms"], "statistics pile up in a client that is not polled"),
    (&["consume.callback.max.messages"], CALLBACK),
];

/// Properties of every client.
const FOR_ALL: [&str; 81] = [
    "api.version.request.timeout.ms",
    "bootstrap.servers",
    "broker.address.family",
    "broker.address.ttl",
    "client.dns.lookup",
    "client.id",
    "client.rack",
    "connections.max.idle.ms",
    "debug",
    "enable.metrics.push",
    "enable.sasl.oauthbearer.unsecure.jwt",
    "enable.ssl.certificate.verification",
    "https.ca.location",
    "https.ca.pem",
    "log.connection.close",
    "log.thread.name",
    "message.copy.max.bytes",
    "metadata.max.age.ms",
    "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "sasl.kerberos.keytab",
    "sasl.kerberos.kinit.cmd",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.principal",
    "sasl.kerberos.service.name",
    "sasl.mechanism",
    "sasl.oauthbearer.assertion.algorithm",
    "sasl.oauthbearer.assertion.claim.aud",
    "sasl.oauthbearer.assertion.claim.exp.seconds",
    "sasl.oauthbearer.assertion.claim.iss",
    "sasl.oauthbearer.assertion.claim.jti.include",
    "sasl.oauthbearer.assertion.claim.nbf.seconds",
    "sasl.oauthbearer.assertion.claim.sub",
    "sasl.oauthbearer.assertion.file",
    "sasl.oauthbearer.assertion.jwt.template.file",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.assertion.private.key.pem",
    "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.config",
    "sasl.oauthbearer.extensions",
    "sasl.oauthbearer.grant.type",
    "sasl.oauthbearer.metadata.authentication.type",
    "sasl.oauthbearer.method",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.password",
    "sasl.username",
    "security.protocol",
    "socket.connection.setup.timeout.ms",
    "socket.keepalive.enable",
    "socket.max.fails",
    "socket.nagle.disable",
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
    "socket.timeout.ms",
    "ssl.ca.certificate.stores",
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.cipher.suites",
    "ssl.crl.location",
    "ssl.curves.list",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.location",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.providers",
    "ssl.sigalgs.list",
    "topic.metadata.propagation.max.ms",
    "topic.metadata.refresh.fast.interval.ms",
    "topic.metadata.refresh.interval.ms",
    "topic.metadata.refresh.sparse",
];

/// Properties that only a consumer understands.
const FOR_CONSUMERS: [&str; 9] = [
    "coordinator.query.interval.ms",
    "fetch.error.backoff.ms",
    "fetch.max.bytes",
    "fetch.message.max.bytes",
    "fetch.min.bytes",
    "fetch.queue.backoff.ms",
    "fetch.wait.max.ms",
    "queued.max.messages.kbytes",
    "queued.min.messages",
];

/// Properties that only a producer understands.
const FOR_PRODUCERS: [&str; 5] = [
    "batch.num.messages",
    "compression.level",
    "compression.type",
    "linger.ms",
    "request.timeout.ms",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_property_is_both_passed_through_and_refused() {
        for name in passed_through() {
            assert_eq!(refusal(name), None, "{name}");
        }
    }

    #[test]
    fn a_value_that_may_be_secret_is_never_printed() {
        let mut properties = ClientProperties::default();
        properties.set("sasl.password", "hunter2", None);
        properties.set("sasl.oauthbearer.config", "secret=hunter3", None);
        properties.set("a.property.of.tomorrow", "hunter4", None);
        properties.set("client.id", "gate", None);
        let printed = format!("{properties:?}");
        assert!(!printed.contains("hunter"), "{printed}");
        assert!(printed.contains("gate"), "{printed}");
        let text = "cannot log in as x with hunter2 (secret=hunter3)";
        assert_eq!(properties.scrub(text), "cannot log in as x with (hidden) ((hidden))");
    }
}
