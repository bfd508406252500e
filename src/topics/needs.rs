//! What each of oncegate's own topics needs, whoever declares it.
//! Must not be in here: what is merely a good choice.

use crate::settings::TopicRole;

/// A compacted topic would lose events, evidence, or links of the chain.
const DELETE: (&str, &str) = ("cleanup.policy", "delete");

/// What headers of ours and the framing may add to a raw record: names of topic, route and recipe,
/// key, digest, reason and detail, and 22 bytes for each of some hundred raw headers.
pub const OUTPUT_SPARE_BYTES: i64 = 16 * 1024;

/// The configs that a topic of this role must have.
pub fn needs(role: TopicRole) -> &'static [(&'static str, &'static str)] {
    match role {
        TopicRole::Raw => &[],
        TopicRole::Clean | TopicRole::Quarantine | TopicRole::Audit => &[DELETE],
        TopicRole::Journal => &[
            DELETE,
            // A broker deletes by timestamp: old ones would make it delete fresh entries.
            ("message.timestamp.type", "LogAppendTime"),
            // The journal is the evidence, and the store is a function of all of it.
            ("retention.ms", "-1"),
            ("retention.bytes", "-1"),
        ],
    }
}

/// What a topic without a declaration gets beyond its needs: nothing is ever deleted from it.
pub fn undeclared(role: TopicRole) -> &'static [(&'static str, &'static str)] {
    match role {
        TopicRole::Raw | TopicRole::Journal => &[],
        TopicRole::Clean | TopicRole::Quarantine | TopicRole::Audit => {
            &[("retention.ms", "-1"), ("retention.bytes", "-1")]
        }
    }
}

/// Whether records of this role hold a whole raw record.
pub fn holds_raw_records(role: TopicRole) -> bool {
    matches!(role, TopicRole::Clean | TopicRole::Quarantine)
}
