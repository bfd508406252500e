//! Rules on what this user may do to the topics and the group of a route.
//! Must not be in here: rights that the cluster does not tell of beforehand, as that to a
//! transactional id.

use super::judge::Findings;
use crate::settings::TopicRole;

/// Whether a route reads a topic, and whether it writes to it.
fn does(role: TopicRole) -> (bool, bool) {
    match role {
        TopicRole::Raw => (true, false),
        // A takeover reads what stands last in them.
        TopicRole::Clean | TopicRole::Quarantine | TopicRole::Journal => (true, true),
        TopicRole::Audit => (false, true),
    }
}

/// Every right that a route needs to a topic, in words. Who may read or write may also describe.
pub fn needed(role: TopicRole) -> &'static str {
    match does(role) {
        (true, true) => "READ, WRITE and DESCRIBE_CONFIGS",
        (true, false) => "READ and DESCRIBE_CONFIGS",
        (false, _) => "WRITE and DESCRIBE_CONFIGS",
    }
}

/// Judges what the cluster tells of rights.
pub fn judge(findings: &mut Findings<'_>) {
    let (route, facts) = (findings.route, findings.facts);
    for role in [TopicRole::Raw].into_iter().chain(TopicRole::OWN) {
        let (reads, writes) = does(role);
        let topic = route.topic(role);
        let Some(rights) = facts.description(topic).and_then(|found| found.rights) else {
            continue;
        };
        for (needed, allowed, verb, right) in
            [(reads, rights.read, "read", "READ"), (writes, rights.write, "write to", "WRITE")]
        {
            if needed && !allowed {
                let what = format!(
                    "this user may not {verb} it; it is the {role} topic of route {}",
                    route.name
                );
                findings.error(topic, what, format!("allow {right} on it (docs/security.md)"));
            }
        }
    }
    if facts.groups.get(&route.group_id).is_some_and(|rights| !rights.read) {
        let subject = format!("group {}", route.group_id);
        let what = format!("this user may not join it; it is the group of route {}", route.name);
        findings.error(&subject, what, "allow READ on the group (docs/security.md)");
    }
}
