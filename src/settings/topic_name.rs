//! Kafka's rule for the names of topics, and ours for names that become part of one.
//! Must not be in here: whether a topic exists.

/// Kafka's own limit.
const TOPIC_NAME_CHARS_MAX: usize = 249;
/// A route's name is part of topic names, group ids and directories.
const ROUTE_NAME_CHARS_MAX: usize = 64;

fn is_topic_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// Why Kafka would not take this name for a topic.
pub fn topic_name_fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("is empty");
    }
    if name == "." || name == ".." {
        return Some("must not be `.` or `..`");
    }
    if name.len() > TOPIC_NAME_CHARS_MAX {
        return Some("is longer than 249 characters");
    }
    if !name.chars().all(is_topic_char) {
        return Some("has a character that is none of a-z, A-Z, 0-9, `.`, `_` and `-`");
    }
    None
}

/// Why a route cannot have this name.
pub fn route_name_fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("is empty");
    }
    if name.len() > ROUTE_NAME_CHARS_MAX {
        return Some("is longer than 64 characters");
    }
    if !name.chars().all(|c| is_topic_char(c) && c != '.') {
        return Some("has a character that is none of a-z, A-Z, 0-9, `_` and `-`");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_kafkas_rule() {
        for sound in ["lab.raw", "a", "A_b-9.x"] {
            assert_eq!(topic_name_fault(sound), None, "{sound}");
        }
        for wrong in ["", ".", "..", "a b", "lab/raw", "ö", &"x".repeat(250)] {
            assert!(topic_name_fault(wrong).is_some(), "{wrong}");
        }
        assert!(route_name_fault("lab.x").is_some());
        assert_eq!(route_name_fault("lab-x"), None);
    }
}
