//! EPCIS documents under the recipe `epcis-document`.
//!
//! The published documents are no part of this project; where they lie beside it, every event of
//! the valid ones must get a key, and each invalid one a reason.

use oncegate::identity::{Deriver, Recipe};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn deriver() -> Deriver {
    let text = include_str!("../config/recipes/epcis-document.toml");
    Deriver::new(Arc::new(
        Recipe::parse("epcis-document", text).unwrap_or_else(|e| panic!("{e}")),
    ))
}

fn published() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/epcis");
    path.is_dir().then_some(path)
}

/// JSON and JSON-LD documents of a folder, by name.
fn documents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let json = |path: &PathBuf| {
        path.extension()
            .is_some_and(|e| e == "json" || e == "jsonld")
    };
    let paths = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(json);
    paths
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into(),
                std::fs::read(path).unwrap(),
            )
        })
        .collect()
}

#[test]
fn every_published_event_gets_a_key() {
    let Some(published) = published() else { return };
    let mut deriver = deriver();
    let (mut events, mut faults) = (0, Vec::new());
    for folder in ["documents", "hash-fixtures", "expected-equal"] {
        for (name, bytes) in documents(&published.join(folder)) {
            match deriver.derive(&bytes) {
                Err(rejection) => faults.push(format!("{name}: {rejection}")),
                Ok(answers) => {
                    events += answers.len();
                    faults.extend(
                        answers
                            .iter()
                            .filter_map(|a| a.err().map(|r| format!("{name}: {r}"))),
                    );
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(events, 91);
}

#[test]
fn every_invalid_document_has_a_reason() {
    let Some(published) = published() else { return };
    let mut deriver = deriver();
    for (name, bytes) in documents(&published.join("documents/openepcis_invalid")) {
        let reasons: Vec<String> = match deriver.derive(&bytes) {
            Err(rejection) => vec![rejection.to_string()],
            Ok(answers) => answers
                .iter()
                .filter_map(|a| a.err().map(|r| r.to_string()))
                .collect(),
        };
        println!("{name}: {reasons:?}");
        assert!(!reasons.is_empty(), "{name} is accepted whole");
    }
}
