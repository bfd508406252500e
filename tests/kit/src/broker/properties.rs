//! The broker properties of every node that the kit starts, in a JVM or in a container. What a
//! node's addresses and folders are, its starter says.

use std::collections::BTreeMap;

use crate::broker::BrokerOptions;

/// 16 bytes in URL-safe base64, as Kafka wants a cluster id. Every cluster of the kit may have
/// the same one: each formats a folder of its own.
pub(super) const CLUSTER_ID: &str = "b25jZWdhdGV0ZXN0a2l0cw";

/// All properties of a node: the kit's defaults, then the test's own, then those of the node,
/// which no test may set.
pub(super) fn of_node(
    options: &BrokerOptions,
    of_node: &[(&str, String)],
) -> BTreeMap<String, String> {
    let replication = options.brokers.min(3).to_string();
    let in_sync_min = if options.brokers >= 3 { "2" } else { "1" };
    let defaults = [
        ("process.roles", "broker,controller"),
        ("controller.listener.names", "CONTROLLER"),
        ("auto.create.topics.enable", "false"),
        ("default.replication.factor", &replication),
        ("min.insync.replicas", in_sync_min),
        ("offsets.topic.replication.factor", &replication),
        ("offsets.topic.num.partitions", "4"),
        ("transaction.state.log.replication.factor", &replication),
        ("transaction.state.log.min.isr", in_sync_min),
        ("transaction.state.log.num.partitions", "4"),
        // Tests fail members over and over; production waits longer before it believes a death.
        ("group.initial.rebalance.delay.ms", "0"),
        ("group.min.session.timeout.ms", "1000"),
        ("broker.session.timeout.ms", "6000"),
        ("broker.heartbeat.interval.ms", "1000"),
        ("replica.lag.time.max.ms", "10000"),
        // A deleted topic's files go soon, and small machines keep their memory and threads.
        ("log.segment.delete.delay.ms", "1000"),
        ("log.cleaner.dedupe.buffer.size", "16777216"),
        ("num.network.threads", "2"),
        ("num.io.threads", "4"),
        ("background.threads", "2"),
        ("num.recovery.threads.per.data.dir", "2"),
    ];
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    let mut set = |name: &str, value: &str| all.insert(name.to_owned(), value.to_owned());
    for (name, value) in defaults {
        set(name, value);
    }
    for (name, value) in &options.properties {
        set(name, value);
    }
    for (name, value) in of_node {
        set(name, value);
    }
    all
}

/// The variable that the Kafka images turn into this property.
pub(super) fn as_variable(property: &str) -> String {
    let name = property.to_uppercase().replace('_', "___").replace('-', "__").replace('.', "_");
    format!("KAFKA_{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_overrides_the_kit_and_nobody_overrides_the_node() {
        let options = BrokerOptions::default()
            .property("num.io.threads", 9)
            .property("node.id", 7)
            .property("transaction.max.timeout.ms", 5000);
        let all = of_node(&options, &[("node.id", "1".to_owned())]);
        assert_eq!(all["num.io.threads"], "9");
        assert_eq!(all["node.id"], "1");
        assert_eq!(all["transaction.max.timeout.ms"], "5000");
        assert_eq!(all["offsets.topic.replication.factor"], "1");
    }

    #[test]
    fn variables_of_the_images() {
        assert_eq!(
            as_variable("group.initial.rebalance.delay.ms"),
            "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS"
        );
        assert_eq!(as_variable("a-b_c.d"), "KAFKA_A__B___C_D");
    }
}
