//! Rules on the configs of a route's topics.
//! Must not be in here: rules on whether a topic is there.

use super::judge::Findings;
use crate::settings::{Arrival, TopicRole};
use crate::topics::{OUTPUT_SPARE_BYTES, needs};

/// Limit of a record batch in a topic.
pub const MAX_MESSAGE_BYTES: &str = "max.message.bytes";
/// An entry of the journal is cut into records below this.
const JOURNAL_BYTES_MIN: i64 = 700_000;
/// The producer's batches stay below the smallest limit of all outputs: a small one slows all.
const AUDIT_BYTES_MIN: i64 = 64_000;
/// What stands for "never" in Kafka's retention.
const UNLIMITED: i64 = -1;

/// Judges the configs of a route's topics.
pub fn judge(findings: &mut Findings<'_>) {
    let (route, facts) = (findings.route, findings.facts);
    let roles = [TopicRole::Raw].into_iter().chain(TopicRole::OWN);
    for role in roles {
        let topic = route.topic(role);
        if facts.description(topic).is_none() {
            continue;
        }
        if facts.configs(topic).is_none() {
            let remedy = "allow DESCRIBE_CONFIGS on it";
            findings.error(topic, "its configs may not be described", remedy);
            continue;
        }
        needed(findings, role);
        durable(findings, role);
        match role {
            TopicRole::Raw => raw(findings),
            TopicRole::Clean => clean(findings),
            TopicRole::Quarantine | TopicRole::Audit | TopicRole::Journal => {}
        }
        sizes(findings, role);
    }
}

fn needed(findings: &mut Findings<'_>, role: TopicRole) {
    let topic = findings.route.topic(role);
    for (name, value) in needs(role) {
        let found = findings.facts.config(topic, name).unwrap_or("unknown");
        if found != *value {
            let what = format!("{name} is {found}, the role {role} needs {value}");
            let remedy = match *name {
                "cleanup.policy" => "compaction would take records out of it: set it to delete",
                "message.timestamp.type" => "with old timestamps the broker deletes fresh entries",
                _ => "the journal is the evidence, and the stores are rebuilt from it",
            };
            findings.error(topic, what, remedy);
        }
    }
}

/// Settings under which acknowledged records are lost with one broker.
fn durable(findings: &mut Findings<'_>, role: TopicRole) {
    let (topic, facts) = (findings.route.topic(role), findings.facts);
    if facts.config(topic, "unclean.leader.election.enable") == Some("true") {
        let what = "unclean.leader.election.enable is true";
        let remedy = "an unclean election loses acknowledged records; the partition would then be \
                      refused";
        findings.warning(topic, what, remedy);
    }
    let replication = facts.description(topic).map_or(0, |description| description.replication);
    let in_sync = facts.number(topic, "min.insync.replicas");
    if role != TopicRole::Raw && replication > 2 && in_sync == Some(1) {
        let what = format!("min.insync.replicas is 1 of {replication} replicas");
        let remedy = "a record is acknowledged that one broker alone has; 2 is usual";
        findings.warning(topic, what, remedy);
    }
}

fn raw(findings: &mut Findings<'_>) {
    let (route, facts) = (findings.route, findings.facts);
    let topic = route.raw.as_str();
    let policy = facts.config(topic, "cleanup.policy").unwrap_or_default();
    if policy.split(',').any(|policy| policy.trim() == "compact") {
        let what = "cleanup.policy has compact: records may be taken out before they are read, \
                    which nothing shows";
        let remedy = "read from a topic with cleanup.policy=delete";
        findings.error(topic, what, remedy);
    }
    let timestamps = facts.config(topic, "message.timestamp.type");
    match (timestamps, route.arrival) {
        (Some("CreateTime"), Arrival::LogAppendTime) if route.needs_arrival() => {
            let what = format!(
                "message.timestamp.type is CreateTime, and route {} has a window or `max_future`",
                route.name
            );
            let remedy = "set message.timestamp.type=LogAppendTime on it, or say in the route \
                          that the producers' clocks are trusted: arrival = \"create-time\"";
            findings.error(topic, what, remedy);
        }
        (Some("LogAppendTime"), Arrival::CreateTime) => {
            let what = format!(
                "message.timestamp.type is LogAppendTime, but route {} has arrival = \
                 \"create-time\"",
                route.name
            );
            findings.warning(topic, what, "take `arrival` out: the broker's time is what counts");
        }
        _ => {}
    }
}

fn clean(findings: &mut Findings<'_>) {
    let (route, facts) = (findings.route, findings.facts);
    if !route.keep_timestamp {
        return;
    }
    let topic = route.clean.as_str();
    if facts.config(topic, "message.timestamp.type") == Some("LogAppendTime") {
        let what = "message.timestamp.type is LogAppendTime, so that the raw timestamps are lost";
        let remedy = "set CreateTime on it, or timestamp = \"now\" in the route";
        findings.warning(topic, what, remedy);
        return;
    }
    if let Some(retention_ms) = facts.number(topic, "retention.ms")
        && retention_ms != UNLIMITED
    {
        let what = format!(
            "retention.ms is {retention_ms} and counts from the raw timestamps: an old record is \
             deleted as it arrives"
        );
        let remedy = "set retention.ms=-1 on it, or timestamp = \"now\" in the route";
        findings.error(topic, what, remedy);
    }
    for name in ["message.timestamp.before.max.ms", "message.timestamp.after.max.ms"] {
        let limits = (facts.number(topic, name), facts.number(&route.raw, name));
        let (Some(clean), Some(raw)) = limits else {
            continue;
        };
        if clean < raw {
            let what = format!("{name} is {clean}, that of {} is {raw}", route.raw);
            let remedy = "records between the two go to quarantine: set it to at least as much, or \
                          timestamp = \"now\" in the route";
            findings.warning(topic, what, remedy);
        }
    }
}

fn sizes(findings: &mut Findings<'_>, role: TopicRole) {
    let (route, facts) = (findings.route, findings.facts);
    let raw_bytes = facts.number(&route.raw, MAX_MESSAGE_BYTES);
    let (least, why) = match role {
        TopicRole::Raw => return,
        TopicRole::Clean | TopicRole::Quarantine => {
            let Some(raw_bytes) = raw_bytes else {
                return;
            };
            let least = raw_bytes.saturating_add(OUTPUT_SPARE_BYTES);
            (least.min(i32::MAX.into()), format!("{raw_bytes} as {} and headers", route.raw))
        }
        TopicRole::Audit => (AUDIT_BYTES_MIN, "its records in batches".to_owned()),
        TopicRole::Journal => (JOURNAL_BYTES_MIN, "the parts of an entry".to_owned()),
    };
    let topic = route.topic(role);
    if let Some(found) = facts.number(topic, MAX_MESSAGE_BYTES)
        && found < least
    {
        let what = format!("{MAX_MESSAGE_BYTES} is {found}, too small for {why}");
        findings.error(topic, what, format!("set {MAX_MESSAGE_BYTES}={least} on it"));
    }
}
