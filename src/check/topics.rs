//! Rules on what the topics of a route are: there, with an id, with as many partitions as raw.
//! Must not be in here: rules on their configs.

use super::judge::Findings;
use super::rights;
use crate::kafka::TopicFacts;
use crate::settings::TopicRole;

/// Judges the topics of a route.
pub fn judge(findings: &mut Findings<'_>) {
    raw(findings);
    for role in TopicRole::OWN {
        own(findings, role);
    }
    ids(findings);
    replication(findings);
}

fn raw(findings: &mut Findings<'_>) {
    let topic = findings.route.raw.as_str();
    match findings.facts.topics.get(topic) {
        Some(TopicFacts::Present { .. }) => {}
        Some(TopicFacts::Denied) => denied(findings, TopicRole::Raw),
        Some(TopicFacts::Missing) | None => {
            let what =
                format!("is not there; it is the raw topic of route {}", findings.route.name);
            findings.error(topic, what, "create it, or change `raw`");
        }
    }
}

fn own(findings: &mut Findings<'_>, role: TopicRole) {
    let (route, facts) = (findings.route, findings.facts);
    let topic = route.topic(role);
    let description = match facts.topics.get(topic) {
        Some(TopicFacts::Present { description, .. }) => description,
        Some(TopicFacts::Denied) => return denied(findings, role),
        Some(TopicFacts::Missing) | None => {
            let what = format!("is not there; it is the {role} topic of route {}", route.name);
            return findings.error(topic, what, "create it with `oncegate topics apply`");
        }
    };
    let Some(raw) = facts.description(&route.raw) else {
        return;
    };
    if description.partitions != raw.partitions {
        let what = format!(
            "has {} partitions, {} has {}",
            description.partitions, route.raw, raw.partitions
        );
        let remedy = match role {
            TopicRole::Journal => {
                "a journal of another number of partitions belongs to other raw partitions: start \
                 a route of another name"
            }
            _ => "records keep their raw partition: both need the same number",
        };
        findings.error(topic, what, remedy);
    }
}

fn denied(findings: &mut Findings<'_>, role: TopicRole) {
    let topic = findings.route.topic(role);
    let what =
        format!("may not be described; it is the {role} topic of route {}", findings.route.name);
    let remedy = format!("allow {} on it (docs/security.md)", rights::needed(role));
    findings.error(topic, what, remedy);
}

fn ids(findings: &mut Findings<'_>) {
    let roles = [TopicRole::Raw].into_iter().chain(TopicRole::OWN);
    for role in roles {
        let topic = findings.route.topic(role);
        let description = findings.facts.description(topic);
        if description.is_some_and(|description| description.id.is_none()) {
            let what = "the cluster gives no id of it, so that a topic deleted and created again \
                        could not be told from the old one";
            findings.error(topic, what, "use brokers of Kafka 2.8 or later");
        }
    }
}

fn replication(findings: &mut Findings<'_>) {
    let (route, facts) = (findings.route, findings.facts);
    let single: Vec<&str> = (TopicRole::OWN.into_iter())
        .map(|role| route.topic(role))
        .filter(|topic| facts.description(topic).is_some_and(|found| found.replication == 1))
        .collect();
    if !single.is_empty() {
        let what = format!("one replica of each partition in {}", single.join(", "));
        let remedy = "with the disk of one broker, acknowledged records are lost";
        findings.warning(&format!("route {}", route.name), what, remedy);
    }
}
