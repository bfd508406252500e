//! Identity against its vectors: every document of `tests/vectors/keys.json` gets the key, the
//! rejection or the items that stand there.

use oncegate::identity::{Deriver, Events, Recipe, Rejection};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Vectors whose recipe is not here yet are passed over, by name.
fn deriver(recipe: &str) -> Option<Deriver> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("config/recipes/{recipe}.toml"));
    let text = std::fs::read_to_string(&path).ok()?;
    let recipe =
        Recipe::parse(&path.display().to_string(), &text).unwrap_or_else(|e| panic!("{e}"));
    Some(Deriver::new(Arc::new(recipe)))
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
    let file: Value = serde_json::from_str(include_str!("vectors/keys.json")).unwrap();
    let (mut passed, mut failed) = (0, Vec::new());
    for vector in file["vectors"].as_array().unwrap() {
        let (id, recipe) = (
            vector["id"].as_str().unwrap(),
            vector["recipe"].as_str().unwrap(),
        );
        let Some(mut deriver) = deriver(recipe) else {
            continue;
        };
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
    assert!(passed == 155, "only {passed} vectors were tried");
}
