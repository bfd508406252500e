//! YAML as JSON values, which tests can point into.

use super::read;
use serde::Deserialize;
use serde_json::Value;

/// All documents of a file, merge keys (`<<`) carried out.
pub fn documents(path: &str) -> Vec<Value> {
    let text = read(path);
    let document = |document| {
        let mut value = serde_yaml_ng::Value::deserialize(document)
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        value.apply_merge().unwrap_or_else(|error| panic!("{path}: {error}"));
        serde_json::to_value(value).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    serde_yaml_ng::Deserializer::from_str(&text).map(document).collect()
}

/// The one document of a file.
pub fn document(path: &str) -> Value {
    let mut documents = documents(path);
    assert_eq!(documents.len(), 1, "{path} holds one document");
    documents.remove(0)
}

/// The text at a place.
pub fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    let found = value.pointer(pointer).unwrap_or_else(|| panic!("no {pointer} in {value:#}"));
    found.as_str().unwrap_or_else(|| panic!("{pointer} is no text: {found}"))
}

/// The list at a place; none is an empty one.
pub fn list<'v>(value: &'v Value, pointer: &str) -> impl Iterator<Item = &'v Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

/// The texts of a list.
pub fn texts(value: &Value, pointer: &str) -> Vec<String> {
    list(value, pointer).map(|text| text.as_str().expect("a text").to_owned()).collect()
}
