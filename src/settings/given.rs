//! What the files of a configuration say, key by key, and where.
//! Must not be in here: a value of `[kafka]`, which may be a secret.

use super::document::Document;
use super::property_lists::canonical;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The section whose values are not kept.
const KAFKA: &str = "kafka";

/// What is said, by path: `group`, `http.listen`, `kafka.linger.ms`, `route.0.batch.records`.
#[derive(Clone, Debug, Default)]
pub struct Given(BTreeMap<String, Said>);

/// A setting that is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its value as TOML; empty in `[kafka]`.
    pub value: String,
    /// File and line.
    pub place: String,
}

impl Given {
    /// Of files whose tree this is.
    pub fn of(document: &Document<'_>, tree: &DeTable<'_>) -> Given {
        let mut given = Given::default();
        given.table(document, tree, "");
        given
    }

    /// What is said at a path.
    pub fn get(&self, path: &str) -> Option<&Said> {
        self.0.get(path)
    }

    fn table(&mut self, document: &Document<'_>, table: &DeTable<'_>, prefix: &str) {
        for (key, value) in table {
            self.value(document, value, &format!("{prefix}{}", key.get_ref()));
        }
    }

    fn value(&mut self, document: &Document<'_>, value: &Spanned<DeValue<'_>>, path: &str) {
        match value.get_ref() {
            DeValue::Table(inner) => self.table(document, inner, &format!("{path}.")),
            DeValue::Array(inner) => {
                for (nth, element) in inner.iter().enumerate() {
                    self.value(document, element, &format!("{path}.{nth}"));
                }
            }
            plain => {
                let place = document.place(value.span().start);
                let property = path.strip_prefix(KAFKA).and_then(|rest| rest.strip_prefix('.'));
                let (path, value) = match property {
                    Some(name) => (format!("{KAFKA}.{}", canonical(name)), String::new()),
                    None => (path.to_owned(), written(plain)),
                };
                self.0.insert(path, Said { value, place });
            }
        }
    }
}

/// A single value as TOML.
fn written(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => quoted(text),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| number.to_string(), |number| number.to_string()),
        DeValue::Boolean(flag) => flag.to_string(),
        // No setting of oncegate's own has another kind of value.
        _ => String::new(),
    }
}

/// A text as TOML.
pub fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
