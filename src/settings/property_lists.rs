//! The properties of librdkafka by name: which pass through, to which clients, which would break the
//! promise, and whose values may be printed. Must not be in here: values.

/// The only properties whose values are ever printed: a new secret is hidden without being named.
/// Numbers, times and switches of the client, names and places, nothing that lets anyone in.
const SHOWN: [&str; 60] = [
    "api.version.request.timeout.ms",
    "batch.num.messages",
    "bootstrap.servers",
    "broker.address.family",
    "broker.address.ttl",
    "client.dns.lookup",
    "client.id",
    "client.rack",
    "compression.level",
    "compression.type",
    "connections.max.idle.ms",
    "coordinator.query.interval.ms",
    "debug",
    "enable.metrics.push",
    "enable.sasl.oauthbearer.unsecure.jwt",
    "enable.ssl.certificate.verification",
    "fetch.error.backoff.ms",
    "fetch.max.bytes",
    "fetch.message.max.bytes",
    "fetch.min.bytes",
    "fetch.queue.backoff.ms",
    "fetch.wait.max.ms",
    "https.ca.location",
    "linger.ms",
    "log.connection.close",
    "log.thread.name",
    "message.copy.max.bytes",
    "metadata.max.age.ms",
    "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy",
    "queued.max.messages.kbytes",
    "queued.min.messages",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "sasl.mechanism",
    "sasl.username",
    "security.protocol",
    "socket.connection.setup.timeout.ms",
    "socket.keepalive.enable",
    "socket.max.fails",
    "socket.nagle.disable",
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
    "socket.timeout.ms",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.cipher.suites",
    "ssl.crl.location",
    "ssl.curves.list",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.location",
    "ssl.keystore.location",
    "ssl.sigalgs.list",
    "topic.metadata.propagation.max.ms",
    "topic.metadata.refresh.fast.interval.ms",
    "topic.metadata.refresh.interval.ms",
    "topic.metadata.refresh.sparse",
];

/// Whether a property's value may be printed.
pub fn is_shown(name: &str) -> bool {
    SHOWN.contains(&name)
}

/// librdkafka's second names: which of two settings would count is left to chance.
pub const ALIASES: [(&str, &str); 7] = [
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
    if name.starts_with(MOCK.0) {
        return Some(MOCK.1);
    }
    REFUSED.iter().find(|(names, _)| names.contains(&name)).map(|(_, why)| *why)
}

/// Every property that may be set.
pub fn passed_through() -> impl Iterator<Item = &'static str> {
    FOR_ALL.iter().chain(&FOR_CONSUMERS).chain(&FOR_PRODUCERS).copied()
}

/// Begins the names of properties that are refused as one, and the reason.
pub const MOCK: (&str, &str) = ("test.mock.", "a mock cluster keeps no promise");

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
pub const REFUSED: &[(&[&str], &str)] = &[
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
pub const FOR_ALL: [&str; 81] = [
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
pub const FOR_CONSUMERS: [&str; 9] = [
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
pub const FOR_PRODUCERS: [&str; 5] = [
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
    fn only_properties_that_pass_are_shown() {
        for name in SHOWN {
            assert!(passed_through().any(|known| known == name), "{name}");
            let secret = ["password", "secret", "pem", "passphrase", "jwt.template", "config"];
            assert!(!secret.iter().any(|word| name.contains(word)), "{name}");
        }
    }
}
