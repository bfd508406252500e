//! Strict JSON: what is read, what is refused, and that no refusal tells a value.

mod support;

use oncegate::identity::{Deriver, MAX_DEPTH, Reason, Recipe};
use std::sync::Arc;
use support::json::Json;
use support::{Random, answers, recipe};

/// A recipe that takes any object.
fn any_object() -> Deriver {
    let text = "name = \"any\"\nversion = 1\ngranularity = \"record\"\nencoding = \"json\"\n\
        [[field]]\nname = \"f\"\npointer = \"/f\"\nnormalize = \"text\"\noptional = true\n";
    Deriver::new(Arc::new(Recipe::parse("any", text).unwrap()))
}

#[test]
fn the_grammar_is_that_of_rfc_8259_and_no_more() {
    let file: serde_json::Value = serde_json::from_str(include_str!("vectors/json.json")).unwrap();
    let mut deriver = any_object();
    for document in file["accepted"].as_array().unwrap() {
        let document = document.as_str().unwrap();
        assert!(deriver.derive(document.as_bytes()).is_ok(), "{document}");
    }
    for group in file["refused"].as_array().unwrap() {
        for document in group["documents"].as_array().unwrap() {
            let document = document.as_str().unwrap();
            let rejection = deriver.derive(document.as_bytes()).expect_err(document);
            assert_eq!(rejection.reason, Reason::Json, "{document}");
        }
    }
}

#[test]
fn bad_utf8_is_refused() {
    let bad: [&[u8]; 8] = [
        b"\xFF",
        b"\xC0\x80",
        b"\xED\xA0\x80",
        b"\xE2\x82",
        b"\xF4\x90\x80\x80",
        b"a\x80",
        b"\xC3",
        b"\xF0\x9F\x92",
    ];
    for bytes in bad {
        for (before, after) in [
            ("{\"a\":\"", "\"}"),
            ("{\"", "\":1}"),
            ("{\"a\":\"\\n", "\"}"),
            ("{\"a\":\"é", "é\"}"),
        ] {
            let document = [before.as_bytes(), bytes, after.as_bytes()].concat();
            assert_eq!(
                any_object().derive(&document).unwrap_err().reason,
                Reason::Json,
                "{bytes:?}"
            );
        }
    }
}

#[test]
fn nesting_ends_at_its_depth() {
    let nested = |open: &str, close: &str, depth: usize| {
        format!("{{\"a\":{}1{}}}", open.repeat(depth - 1), close.repeat(depth - 1))
    };
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        assert!(any_object().derive(nested(open, close, MAX_DEPTH).as_bytes()).is_ok());
        let rejection =
            any_object().derive(nested(open, close, MAX_DEPTH + 1).as_bytes()).unwrap_err();
        assert_eq!(rejection.reason, Reason::Json);
    }
    assert!(any_object().derive("[".repeat(1_000_000).as_bytes()).is_err());
}

/// Where serde_json takes a document, so do we, but for repeated members and depth; and the
/// other way round, but for numbers beyond its range.
#[test]
fn serde_json_agrees() {
    let mut random = Random(11);
    let mut deriver = any_object();
    let tokens = [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"a\"",
        "\"b\"",
        "1",
        "-0.5e3",
        "01",
        "true",
        "nul",
        " ",
        "\"\\u00e9\"",
        "\"\\ud800\"",
    ];
    let (mut agreed, mut taken) = (0, 0);
    for _ in 0..300_000 {
        let mut document = String::from("{\"a\":");
        (0..random.below(9)).for_each(|_| document.push_str(random.pick::<&str>(&tokens)));
        document.push('}');
        let theirs = match serde_json::from_str::<serde_json::Value>(&document) {
            Err(error) if error.to_string().contains("out of range") => continue,
            answer => answer.is_ok(),
        };
        let ours = match deriver.derive(document.as_bytes()) {
            Ok(_) => true,
            Err(rejection) if rejection.rule().contains("repeated") => continue,
            Err(rejection) => rejection.reason != Reason::Json,
        };
        assert_eq!(ours, theirs, "{document}");
        agreed += 1;
        taken += usize::from(ours);
    }
    assert!(agreed > 250_000 && taken > 1_000, "{agreed} {taken}");
}

/// simdjson/simdjson-java#37: a repeated name escapes notice when it is written with an escape
/// (P37).
#[test]
fn a_repeated_member_is_found_behind_an_escape() {
    let file: serde_json::Value = serde_json::from_str(include_str!("vectors/keys.json")).unwrap();
    let vector = |id: &str| {
        let vectors = file["vectors"].as_array().unwrap();
        vectors.iter().find(|v| v["id"] == id).unwrap()["document"].as_str().unwrap().to_owned()
    };
    let mut batch = Deriver::new(recipe("inventory-batch"));
    let repeated =
        vector("B01").replacen("\"lot\": \"L1\"", "\"lot\":\"A\",\"lo\\u0074\":\"B\"", 1);
    assert_eq!(
        answers(&mut batch, repeated.as_bytes())[0].as_ref().unwrap_err().reason,
        Reason::Json
    );
    let mut lab = Deriver::new(recipe("lab-result"));
    let plain = answers(&mut lab, vector("L01").as_bytes());
    let escaped = vector("L01").replace("\"accession\"", "\"acc\\u0065ssion\"");
    assert_eq!(answers(&mut lab, escaped.as_bytes()), plain);
    let ignored = vector("L01").replace('}', ", \"received_at\": {\"x\": [{\"y\": 1, \"y\": 1}]}}");
    assert_eq!(answers(&mut lab, ignored.as_bytes())[0].as_ref().unwrap_err().reason, Reason::Json);
}

/// serde-rs/json#826, Tencent/rapidjson#313: names and numbers that other parsers stumble over
/// are content like any other (P38).
#[test]
fn odd_names_and_numbers_are_content() {
    let mut lab = Deriver::new(recipe("lab-result"));
    let document = |first: &str, last: &str| {
        format!(
            r#"{{{first}"accession":"A100","analyte_loinc":"2823-3","instrument_id":"chem-1","resulted_at":"2026-07-01T14:30:00Z"{last}}}"#
        )
    };
    let plain = answers(&mut lab, document("", "").as_bytes()).remove(0).unwrap();
    let odd = r#""$serde_json::private::Number":"1""#;
    let first = answers(&mut lab, document(&format!("{odd},"), "").as_bytes()).remove(0).unwrap();
    let last = answers(&mut lab, document("", &format!(",{odd}")).as_bytes()).remove(0).unwrap();
    assert_eq!(first, last);
    assert!(first.0 == plain.0 && first.1 != plain.1);
    let mut digests = std::collections::BTreeSet::new();
    for number in [
        "1e400",
        "1E400",
        "1e-00011111111111",
        "-0",
        "0",
        "0.0",
        "18446744073709551616",
        "18446744073709551617",
    ] {
        let event = answers(&mut lab, document("", &format!(",\"n\":{number}")).as_bytes())
            .remove(0)
            .unwrap();
        assert_eq!(event.0, plain.0);
        assert!(digests.insert(event.1), "{number}");
    }
}

/// CDCgov/prime-reportstream#4079 (P32): transport ids are content unless the recipe ignores them.
#[test]
fn what_a_recipe_ignores_is_no_difference() {
    let text = include_str!("../config/recipes/lab-result.toml");
    let ignoring = text
        .replace("[\"/received_at\"]", "[\"/received_at\", \"/message_control_id\", \"/sent_at\"]");
    let document = |id: &str, accession: &str| {
        format!(
            r#"{{"message_control_id":"{id}","sent_at":"{id}","accession":"{accession}","analyte_loinc":"2823-3","instrument_id":"c","resulted_at":"2026-07-01T14:30:00Z"}}"#
        )
    };
    for (text, same) in [(text, false), (&ignoring, true)] {
        let mut deriver = Deriver::new(Arc::new(Recipe::parse("lab", text).unwrap()));
        let mut event = |id, accession| {
            answers(&mut deriver, document(id, accession).as_bytes()).remove(0).unwrap()
        };
        let (first, resent, other) = (event("1", "A1"), event("2", "A1"), event("1", "A2"));
        assert_eq!(first.0, resent.0);
        assert_eq!(first.1 == resent.1, same);
        assert_ne!(first.0, other.0);
    }
}

/// juspay/hyperswitch#1943 (P41): values that fail do not stand in what is said about them.
#[test]
fn no_rejection_tells_a_value() {
    const MARKER: &str = "JANE-DOE-4410";
    let mut rejections = 0;
    for name in support::RECIPES {
        let mut deriver = Deriver::new(recipe(name));
        let document = match name {
            "epcis-document" => include_str!("documents/epcis-document.json"),
            "fhir-observation" => include_str!("documents/fhir-observation.json"),
            name if name.ends_with("inventory-batch") || name == "inventory-item" => {
                include_str!("documents/inventory-batch-6k.json")
            }
            _ => include_str!("documents/lab-result-500.json"),
        };
        let json = Json::parse(document);
        for faulty in marked(&json, MARKER) {
            for text in [
                faulty.plain(),
                format!("{MARKER}{}", faulty.plain()),
                faulty.plain().replace(':', MARKER),
            ] {
                let said =
                    format!("{:?}", deriver.derive(text.as_bytes())) + &format!("{deriver:?}");
                assert!(!said.contains(MARKER), "{name}: {said}");
                for rejection in
                    answers(&mut deriver, text.as_bytes()).into_iter().filter_map(Result::err)
                {
                    rejections += 1;
                    assert!(
                        !format!("{rejection} {rejection:?}").contains(MARKER),
                        "{name}: {rejection}"
                    );
                }
            }
        }
    }
    assert!(rejections > 1_000, "{rejections}");
}

/// The document with the marker in the place of each value, and of each name, in turn.
fn marked(json: &Json, marker: &str) -> Vec<Json> {
    let mut all = vec![Json::text(marker), Json::Object(vec![(marker.into(), Json::text(marker))])];
    match json {
        Json::Object(members) => {
            for (at, (name, value)) in members.iter().enumerate() {
                let put = |name: &str, value: Json| {
                    let mut members = members.clone();
                    members[at] = (name.to_owned(), value);
                    Json::Object(members)
                };
                all.extend(marked(value, marker).into_iter().map(|value| put(name, value)));
                all.push(put(marker, value.clone()));
            }
        }
        Json::List(list) => {
            for at in 0..list.len().min(2) {
                let put = |value: Json| {
                    let mut list = list.clone();
                    list[at] = value;
                    Json::List(list)
                };
                all.extend(marked(&list[at], marker).into_iter().map(put));
            }
        }
        _ => {}
    }
    all
}
