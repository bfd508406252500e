//! Identity against its vectors: every document of `tests/vectors/keys.json` gets the key, the
//! rejection or the items that stand there; and the recipes `reference/...` agree with the
//! reference implementation on random records (`make_reference.py`).

use oncegate::identity::{Deriver, Events, Recipe, Rejection, explain};
use serde_json::Value;
use sha2::{Digest, Sha256};
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
            .map(|event| event.map(|e| e.key_text()).map_err(|r| r.reason.to_string()))
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
        let (id, recipe) = (vector["id"].as_str().unwrap(), vector["recipe"].as_str().unwrap());
        let mut deriver = deriver(recipe);
        let document = vector["document"].as_str().unwrap();
        let got = answers(deriver.derive(document.as_bytes()));
        match got == expected(vector) {
            true => passed += 1,
            false => {
                failed.push(format!("{id} {recipe}: {got:?} instead of {:?}", expected(vector)))
            }
        }
    }
    assert!(failed.is_empty(), "{} vectors failed:\n{}", failed.len(), failed.join("\n"));
    passed
}

/// An explanation shows the very bytes that were hashed.
#[test]
fn an_explanation_can_be_checked_by_hand() {
    let file: Value = serde_json::from_str(include_str!("vectors/keys.json")).unwrap();
    let mut checked = 0;
    for vector in file["vectors"].as_array().unwrap() {
        let recipe = deriver(vector["recipe"].as_str().unwrap());
        let document = vector["document"].as_str().unwrap();
        let Ok(events) = explain(recipe.shared_recipe(), document.as_bytes()) else {
            continue;
        };
        for (at, explained) in events.into_iter().enumerate() {
            let Ok(explained) = explained else { continue };
            let hash: [u8; 32] = Sha256::digest(&explained.preimage).into();
            assert_eq!(explained.key.as_bytes(), &hash);
            let expected = if vector["items"].is_array() { &vector["items"][at] } else { vector };
            assert_eq!(format!("{}{}", explained.prefix, explained.key), expected["key"]);
            if let Some(preimage) = expected["preimage"].as_str() {
                assert_eq!(explained.preimage, preimage, "{}", vector["id"]);
            }
            if !explained.preimage.contains("occurrence") {
                let content =
                    [b"oncegate content 1\n", &hash[..], explained.content.as_bytes()].concat();
                assert_eq!(explained.digest.as_bytes(), &Sha256::digest(content)[..16]);
            }
            assert!(
                explained
                    .fields
                    .iter()
                    .all(|field| field.normalized.is_some() || field.sent.is_none())
            );
            checked += 1;
        }
    }
    assert!(checked > 120, "{checked}");
}
