//! The librdkafka properties that are set, and which of their values may be printed.
//! Must not be in here: librdkafka. Values are tried in the `kafka` room.

use super::property_lists::{FOR_CONSUMERS, FOR_PRODUCERS, is_shown};
use std::collections::BTreeMap;
use std::fmt;

/// What stands in place of a value that may be a secret.
pub const HIDDEN: &str = "(hidden)";

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
    at: Option<usize>,
}

impl ClientProperties {
    /// Sets a property; `at` is its place in the files, where it has one.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>, at: Option<usize>) {
        self.0.insert(name.into(), Property { value: value.into(), at });
    }

    /// A property's value. It may be a secret.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|property| property.value.as_str())
    }

    /// The place in the files that set a property.
    pub fn at(&self, name: &str) -> Option<usize> {
        self.0.get(name)?.at
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
        let hidden =
            |(name, property): &(&String, &Property)| !is_shown(name) && !property.value.is_empty();
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
            let shown = is_shown(name);
            map.entry(name, if shown { &property.value } else { &HIDDEN });
        }
        map.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
