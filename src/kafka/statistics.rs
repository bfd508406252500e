//! What of the clients' own statistics is shown.
//! Must not be in here: anything that work depends on.

use super::broker::BrokerFigures;
use rdkafka::Statistics;

/// The brokers that a client has or had a connection to. Those that it only knows by name (their
/// id is below 0) and those that it never needed are left out.
pub(super) fn brokers_of(statistics: &Statistics) -> Vec<BrokerFigures> {
    let used = statistics.brokers.values().filter(|of| of.nodeid >= 0 && of.state != "INIT");
    used.map(|of| BrokerFigures {
        id: of.nodeid,
        up: matches!(of.state.as_str(), "UP" | "UPDATE"),
        round_trip_micros: of.rtt.as_ref().map_or(0, |window| window.p99.max(0) as u64),
    })
    .collect()
}
