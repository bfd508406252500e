//! Where two deliveries of one event differ, for a person who judges a conflict.

use oncegate::identity::{Delivery, Recipe, differing_members, shipped_recipe};
use std::sync::Arc;

fn differing(recipe: &str, first: &str, second: &str, item: usize) -> Option<Vec<String>> {
    let text = shipped_recipe(recipe).unwrap();
    let recipe = Arc::new(Recipe::parse(recipe, text).unwrap());
    let delivery = |text| Delivery { payload: str::as_bytes(text), item };
    differing_members(&recipe, delivery(first), delivery(second))
}

fn lab(rest: &str) -> String {
    format!(
        r#"{{"accession":"A1","analyte_loinc":"2823-3","instrument_id":"i","resulted_at":"2026-07-01T14:30:00Z"{rest}}}"#
    )
}

/// CDCgov/prime-reportstream#4079, #6318 (P32): a conflict names the members that differ, without
/// their values.
#[test]
fn members_are_named_by_pointer() {
    let first =
        lab(r#","value":4.2,"unit":"mg","message_control_id":"1","a/b":{"c~":[1,{"d":2}]}"#);
    let second = lab(
        r#","unit":"mg","value":4.20,"message_control_id":"2","a/b":{"c~":[1,{"d":3}]},"new":null"#,
    );
    let found = differing("lab-result", &first, &second, 0).unwrap();
    assert_eq!(found, ["/a~1b/c~0/1/d", "/message_control_id", "/new", "/value"]);
    let back = differing("lab-result", &second, &first, 0).unwrap();
    assert_eq!(back, found);
}

#[test]
fn spelling_and_what_is_ignored_are_no_difference() {
    let first = lab(r#","value":"x\u00e9","received_at":"1""#);
    let second =
        lab(r#", "received_at" : "2", "value": "xé""#).replace("14:30:00Z", "16:30:00+02:00");
    assert_eq!(differing("lab-result", &first, &second, 0), Some(Vec::new()));
    assert_eq!(
        differing("lab-result", &lab(""), &lab(r#","value":1"#), 0),
        Some(vec!["/value".into()])
    );
}

#[test]
fn a_list_of_other_length_and_another_kind_are_named_whole() {
    let first = lab(r#","list":[1,2],"kind":{"a":1}"#);
    let second = lab(r#","list":[1,2,3],"kind":[1]"#);
    let found = differing("lab-result", &first, &second, 0).unwrap();
    assert_eq!(found, ["/kind", "/list"]);
}

#[test]
fn what_cannot_be_keyed_is_not_compared() {
    assert_eq!(differing("lab-result", &lab(""), "{}", 0), None);
    assert_eq!(differing("lab-result", &lab(""), &lab(""), 1), None);
}

#[test]
fn an_item_is_compared_with_an_item() {
    let batch = include_str!("documents/inventory-batch-6k.json");
    assert_eq!(differing("inventory-item", batch, batch, 3), Some(Vec::new()));
}
