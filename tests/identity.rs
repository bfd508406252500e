//! Identity against its vectors: every document of `tests/vectors/keys.json` gets the key, the
//! rejection or the items that stand there; and the recipes `reference/...` agree with the
//! reference implementation on random records (`make_reference.py`).

use oncegate::identity::{Deriver, Events, Recipe, Rejection};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

fn deriver(recipe: &str) -> Deriver {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("config/recipes/{recipe}.toml"));
    let text = std::fs::read_to_string(&path).unwrap();
    let recipe =
        Recipe::parse(&path.display().to_string(), &text).unwrap_or_else(|e| panic!("{e}"));
    Deriver::new(Arc::new(recipe))
}

fn answers(result: Result<Events<'_>, Rejection>) -> Vec<Result<String, String>> {
    match result {
        Err(rejection) => vec![Err(rejection.reason.to_string())],
        Ok(events) => events
            .iter()
            .map(|event| {
                event
                    .map(|e| e.key_text())
                    .map_err(|r| r.reason.to_string())
            })
            .collect(),
    }
}

fn expected(vector: &Value) -> Vec<Result<String, String>> {
    let one = |v: &Value| match (&v["key"], &v["rejected"]) {
        (Value::String(key), Value::Null) => Ok(key.clone()),
        (Value::Null, Value::String(reason)) => Err(reason.clone()),
        _ => panic!("a vector has a key or a rejection: {v}"),
    };
    match vector["items"].as_array() {
        Some(items) => items.iter().map(one).collect(),
        None => vec![one(vector)],
    }
}

#[test]
fn every_vector_has_its_right_answer() {
    assert_eq!(passed(include_str!("vectors/keys.json")), 155);
}

/// Random records, and what the reference implementation says of them.
#[test]
fn the_reference_recipes_agree_with_the_reference() {
    assert_eq!(passed(include_str!("vectors/reference.json")), 240);
}

/// The number of vectors that were tried and passed.
fn passed(file: &str) -> usize {
    let file: Value = serde_json::from_str(file).unwrap();
    let (mut passed, mut failed) = (0, Vec::new());
    for vector in file["vectors"].as_array().unwrap() {
        let (id, recipe) = (
            vector["id"].as_str().unwrap(),
            vector["recipe"].as_str().unwrap(),
        );
        let mut deriver = deriver(recipe);
        let document = vector["document"].as_str().unwrap();
        let got = answers(deriver.derive(document.as_bytes()));
        match got == expected(vector) {
            true => passed += 1,
            false => failed.push(format!(
                "{id} {recipe}: {got:?} instead of {:?}",
                expected(vector)
            )),
        }
    }
    assert!(
        failed.is_empty(),
        "{} vectors failed:\n{}",
        failed.len(),
        failed.join("\n")
    );
    passed
}
