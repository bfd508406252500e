//! FHIR observations under the recipe `fhir-observation`: what is one result, what is another,
//! and what is the same result with other content.

mod support;

use oncegate::identity::{ContentDigest, Deriver, EventKey, Reason, Recipe, shipped_recipe};
use serde_json::{Value, json};
use std::sync::Arc;

fn observation() -> Value {
    json!({
        "resourceType": "Observation",
        "identifier": [{"system": "https://lab-a.example/ids", "value": "4711"}],
        "status": "final",
        "code": {"coding": [{"system": "http://loinc.org", "code": "2823-3"}]},
        "subject": {"reference": "Patient/1"},
        "issued": "2026-07-01T14:30:00Z",
        "valueQuantity": {"value": 4.2, "unit": "mmol/L"},
    })
}

/// The answer for the observation once a change was made to it.
fn with(change: impl FnOnce(&mut Value)) -> Result<(EventKey, ContentDigest), Reason> {
    let mut document = observation();
    change(&mut document);
    let text = shipped_recipe("fhir-observation").unwrap();
    let mut deriver = Deriver::new(Arc::new(Recipe::parse("fhir-observation", text).unwrap()));
    let bytes = serde_json::to_vec(&document).unwrap();
    let events = deriver.derive(&bytes).map_err(|rejection| rejection.reason)?;
    let event = events.iter().next().unwrap().map_err(|rejection| rejection.reason)?;
    Ok((event.key, event.digest))
}

/// bzkf/obds-to-fhir#316, #538 (P36): an identifier is one with its system, and all of them count.
#[test]
fn an_identifier_is_one_with_its_system() {
    let (plain, _) = with(|_| {}).unwrap();
    let other_system = |d: &mut Value| d["identifier"][0]["system"] = "https://b.example".into();
    assert_ne!(with(other_system).unwrap().0, plain);
    let no_system = |d: &mut Value| {
        d["identifier"][0].as_object_mut().unwrap().remove("system");
    };
    assert_eq!(with(no_system), Err(Reason::NotText));
    let second = json!({"system": "https://b.example", "value": "9"});
    let (two, digest) =
        with(|d| d["identifier"].as_array_mut().unwrap().push(second.clone())).unwrap();
    assert_ne!(two, plain, "a shared identifier among others is not the same list");
    let reversed = |d: &mut Value| d["identifier"].as_array_mut().unwrap().insert(0, second);
    assert_eq!(with(reversed), Ok((two, digest)), "their order means nothing");
}

/// The same: another subject under one identity is a conflict, never absorbed.
#[test]
fn another_subject_or_value_is_a_conflict() {
    let (key, digest) = with(|_| {}).unwrap();
    for pointer in ["/subject/reference", "/valueQuantity/unit"] {
        let (same, other) = with(|d| *d.pointer_mut(pointer).unwrap() = "x".into()).unwrap();
        assert_eq!(same, key, "{pointer}");
        assert_ne!(other, digest, "{pointer}");
    }
}

#[test]
fn each_status_and_each_version_is_a_result_of_its_own() {
    let mut keys = vec![with(|_| {}).unwrap().0];
    for status in ["preliminary", "corrected", "amended", "cancelled", "entered-in-error"] {
        keys.push(with(|d| d["status"] = status.into()).unwrap().0);
    }
    let unissued = |version: Value| {
        with(move |d| {
            d.as_object_mut().unwrap().remove("issued");
            d["meta"] = version;
        })
    };
    keys.push(unissued(json!({"versionId": "1"})).unwrap().0);
    keys.push(unissued(json!({"versionId": "2"})).unwrap().0);
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count);
    assert_eq!(unissued(json!({})), Err(Reason::Empty), "nothing tells which version it is");
}

#[test]
fn what_a_server_adds_is_no_difference() {
    let plain = with(|_| {}).unwrap();
    let stored = |d: &mut Value| {
        d["id"] = "77".into();
        d["meta"] = json!({"lastUpdated": "2026-08-01T00:00:00Z", "versionId": "3"});
    };
    assert_eq!(with(stored).unwrap(), plain, "`issued` tells the version, not the server");
}
