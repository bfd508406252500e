//! EPCIS documents under the recipe `epcis-document`.
//!
//! The published documents are no part of this project; where they lie beside it, every event of
//! the valid ones must get a key, and each invalid one a reason.

mod support;

use oncegate::identity::{ContentDigest, Deriver, EventKey, Reason, Recipe};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::Random;
use support::json::Json;

fn deriver() -> Deriver {
    let text = include_str!("../config/recipes/epcis-document.toml");
    Deriver::new(Arc::new(Recipe::parse("epcis-document", text).unwrap_or_else(|e| panic!("{e}"))))
}

fn published() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/epcis");
    path.is_dir().then_some(path)
}

/// JSON and JSON-LD documents of a folder, by name.
fn documents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let json = |path: &PathBuf| path.extension().is_some_and(|e| e == "json" || e == "jsonld");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(json);
    paths
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into(), std::fs::read(path).unwrap())
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
                        answers.iter().filter_map(|a| a.err().map(|r| format!("{name}: {r}"))),
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
            Ok(answers) => answers.iter().filter_map(|a| a.err().map(|r| r.to_string())).collect(),
        };
        println!("{name}: {reasons:?}");
        assert!(!reasons.is_empty(), "{name} is accepted whole");
    }
}

/// The events of the document of `tests/documents`, with one text put for another.
fn with(from: &str, to: &str) -> Vec<Result<(EventKey, ContentDigest), Reason>> {
    let document = include_str!("documents/epcis-document.json");
    assert!(document.contains(from), "{from} stands in the document");
    derive(&document.replace(from, to))
}

fn derive(document: &str) -> Vec<Result<(EventKey, ContentDigest), Reason>> {
    match deriver().derive(document.as_bytes()) {
        Err(rejection) => vec![Err(rejection.reason)],
        Ok(events) => {
            events.iter().map(|e| e.map(|e| (e.key, e.digest)).map_err(|r| r.reason)).collect()
        }
    }
}

#[test]
fn one_event_has_one_key_however_it_is_spelled() {
    let plain = with("acme", "acme");
    assert_eq!(plain.len(), 3);
    let spellings = [
        ("urn:epc:id:sgtin:030093.0005801.SN1", "https://id.gs1.org/01/00300930058011/21/SN1"),
        (
            "urn:epc:id:sgtin:030093.0005801.SN1",
            "http://a.example/x/gtin/300930058011/ser/SN%31?17=271231",
        ),
        ("urn:epc:id:sgtin:030093.0005801.SN2", "(01)00300930058011(21)SN2"),
        (
            "urn:epc:class:lgtin:4012345.012345.998877",
            "https://id.gs1.org/01/04012345123456/10/998877",
        ),
        ("urn:epc:id:sgln:0312345.00002.0", "https://id.gs1.org/414/0312345000028"),
        ("urn:epc:id:sscc:4012345.0000000333", "https://id.gs1.de/00/040123450000003338"),
        ("urn:epc:id:gdti:0614141.12345.400", "https://id.gs1.org/253/0614141123452400"),
        ("2026-07-01T10:00:00.000+02:00", "2026-07-01T08:00:00Z"),
        ("2026-07-01T09:59:00Z", "2026-07-01T11:59:00.0+02:00"),
        ("\"eventTimeZoneOffset\": \"+02:00\"", "\"eventTimeZoneOffset\": \"+01:00\""),
        ("2026-07-01T10:00:05Z", "2026-07-09T10:00:05Z"),
        ("urn:uuid:374d95fc-9457-4a51-bd6a-0bba133845a8", "ni:///sha-256;00e1?ver=CBV2.0"),
        ("2026-07-01T12:00:00Z", "2026-07-02T12:00:00Z"),
        ("\"commissioning\"", "\"urn:epcglobal:cbv:bizstep:commissioning\""),
        ("\"commissioning\"", "\"https://ref.gs1.org/cbv/BizStep-commissioning\""),
        ("\"active\"", "\"cbv:Disp-active\""),
        ("\"po\"", "\"urn:epcglobal:cbv:btt:po\""),
        ("\"completeness_verified\"", "\"urn:epcglobal:cbv:disp:completeness_verified\""),
        ("200.0", "2e2"),
        ("26.0", "26"),
        ("\"value\": 800", "\"value\": 8E+2"),
        ("acme:", "other:"),
        (
            "\"action\": \"ADD\",\n        \"bizStep\": \"packing\"",
            "\"bizStep\": \"packing\", \"epcList\": [], \"action\": \"ADD\"",
        ),
    ];
    for (from, to) in spellings {
        let mut document = include_str!("documents/epcis-document.json").replace(from, to);
        if from == "acme:" {
            document = document.replace("\"acme\"", "\"other\"");
        }
        assert_ne!(document, include_str!("documents/epcis-document.json"), "{from}");
        assert_eq!(derive(&document), plain, "{from} as {to}");
    }
}

#[test]
fn the_order_of_a_set_means_nothing() {
    let plain = with("acme", "acme");
    let mut json = Json::parse(include_str!("documents/epcis-document.json"));
    let events = ["epcisBody", "eventList"];
    for list in ["epcList", "bizTransactionList", "sensorElementList"] {
        json.at(&events).at(&["0", list]).as_list().reverse();
    }
    json.at(&events).at(&["0", "sensorElementList", "0", "sensorReport"]).as_list().reverse();
    json.at(&events).at(&["1", "childEPCs"]).as_list().reverse();
    assert_eq!(derive(&json.plain()), plain);
    for seed in 0..20 {
        assert_eq!(derive(&json.spelled(&mut Random(seed))), plain, "seed {seed}");
    }
}

#[test]
fn another_event_has_another_key() {
    let plain: BTreeSet<EventKey> =
        with("acme", "acme").into_iter().map(|e| e.unwrap().0).collect();
    assert_eq!(plain.len(), 3);
    // Each change with the event that it makes another one.
    let changes = [
        (0, "\"ObjectEvent\"", "\"TransactionEvent\""),
        (0, "2026-07-01T10:00:00.000+02:00", "2026-07-01T10:00:00.001+02:00"),
        (
            0,
            "0005801.SN1\",\n          \"urn:epc:id:sgtin:030093.0005801.SN2\"\n        ],\n        \"quant",
            "0005801.SN1\"\n        ],\n        \"quant",
        ),
        (0, "998877", "0998877"),
        (0, "200.0", "200.1"),
        (0, "KGM", "GRM"),
        (
            0,
            "\"action\": \"ADD\",\n        \"bizStep\": \"commissioning\"",
            "\"action\": \"DELETE\",\n        \"bizStep\": \"commissioning\"",
        ),
        (0, "\"commissioning\"", "\"decommissioning\""),
        (0, "\"active\"", "\"inactive\""),
        (0, "0312345.00002.0", "0312345.00002.1"),
        (0, "\"po\"", "\"poc\""),
        (0, ":1152", ":1153"),
        (0, "2026-07-01T09:59:00Z", "2026-07-01T09:59:01Z"),
        (0, "4000001.111", "4000001.112"),
        (0, "26.0", "26.5"),
        (0, "\"Temperature\"", "\"Humidity\""),
        (0, "LOT-0010", "LOT-010"),
        (0, "LOT-0010", "LOT-0010 "),
        (0, "\"acme:shift\": 2", "\"acme:shift\": \"2\""),
        (0, "https://acme.example/epcis/", "https://acme.example/epcis2/"),
        (1, "4012345.0000000333", "4012345.0000000334"),
        (
            1,
            "\"parentID\"",
            "\"bizLocation\": {\"id\": \"urn:epc:id:sgln:0312345.00002.0\"}, \"parentID\"",
        ),
        (
            1,
            "\"sourceList\": [{\"type\": \"location\", \"source\"",
            "\"sourceList\": [{\"type\": \"owning_party\", \"source\"",
        ),
        (1, "0614141.00777.0", "0614141.00778.0"),
        (1, "4000001.98765", "4000001.98766"),
        (
            2,
            "\"inputEPCList\": [\"urn:epc:id:sgtin:4012345.011122.25\"]",
            "\"inputEPCList\": [\"urn:epc:id:sgtin:4012345.077889.25\"]",
        ),
        (2, "0614141.12345.400", "0614141.12345.401"),
        (2, "\"set\": [\"completeness_verified\"]", "\"set\": [\"completeness_inferred\"]"),
        (2, "2026-07-02T00:00:00Z", "2026-07-02T00:00:01Z"),
    ];
    let mut seen = plain.clone();
    for (event, from, to) in changes {
        let key =
            with(from, to)[event].unwrap_or_else(|reason| panic!("{from} to {to}: {reason}")).0;
        assert!(seen.insert(key), "{from} to {to} has a key that was there before");
    }
}

/// RalphTro/epcis-event-hash-generator#8: the same texts under other names (P42).
#[test]
fn swapped_lists_are_another_event() {
    let mut json = Json::parse(include_str!("documents/epcis-document.json"));
    let plain = derive(&json.plain());
    let event = ["epcisBody", "eventList", "2"];
    for (name, _) in json.at(&event).as_object() {
        *name = match name.as_str() {
            "inputEPCList" => "outputEPCList".into(),
            "outputEPCList" => "inputEPCList".into(),
            other => other.into(),
        };
    }
    assert_ne!(derive(&json.plain())[2].unwrap().0, plain[2].unwrap().0);
    let event = ["epcisBody", "eventList", "0"];
    json.at(&event).as_object().retain(|(name, _)| name != "epcList" && name != "quantityList");
    let mut joined = json.clone();
    let extension = |json: &mut Json, members: &[(&str, &str)]| {
        let members = members.iter().map(|(name, text)| (name.to_string(), Json::text(*text)));
        json.at(&event).as_object().extend(members);
    };
    extension(&mut joined, &[("acme:a", "1{https://acme.example/epcis/}b=2")]);
    extension(&mut json, &[("acme:a", "1"), ("acme:b", "2")]);
    assert_ne!(derive(&json.plain())[0].unwrap().0, derive(&joined.plain())[0].unwrap().0);
}

/// EPCIS leaves absent and empty members out of the event hash alike (`../shared/epcis`, rule 3).
#[test]
fn an_empty_member_is_an_absent_one() {
    let without = |name: &str| {
        let mut json = Json::parse(include_str!("documents/epcis-document.json"));
        json.at(&["epcisBody", "eventList", "0"]).as_object().retain(|(member, _)| member != name);
        json
    };
    let with = |name: &str, value: &str| {
        let mut json = without(name);
        let event = json.at(&["epcisBody", "eventList", "0"]).as_object();
        event.push((name.to_owned(), Json::parse(value)));
        derive(&json.plain())[0].unwrap_or_else(|reason| panic!("{name}: {value}: {reason}"))
    };
    let containers =
        ["sensorElementList", "ilmd", "persistentDisposition", "readPoint", "bizLocation"];
    for name in containers.into_iter().chain(["acme:none"]) {
        let absent = derive(&without(name).plain())[0].unwrap();
        let empties = match name {
            "sensorElementList" => vec!["[]", "null", "[{}]", "[{\"sensorReport\": []}]"],
            "persistentDisposition" => vec!["{}", "null", "{\"set\": []}"],
            "readPoint" | "bizLocation" => vec!["{}", "null", "{\"id\": \"\"}"],
            "ilmd" => vec!["{}", "null", "{\"acme:lot\": null}", "{\"acme:a\": {\"acme:b\": []}}"],
            _ => vec!["[]", "{}", "\"\"", "null", "[\"\", null, [], {\"acme:a\": \"\"}]"],
        };
        for empty in empties {
            assert_eq!(with(name, empty), absent, "{name}: {empty}");
        }
        if name == "acme:none" {
            let full = ["0", "false", "\" \"", "[\"\", 1]", "[1, \"\"]", "{\"acme:a\": 0}"];
            let keys: BTreeSet<EventKey> = full.iter().map(|value| with(name, value).0).collect();
            assert!(keys.len() == full.len() && !keys.contains(&absent.0));
        }
    }
    let sensor = |time: &str| {
        let mut json = Json::parse(include_str!("documents/epcis-document.json"));
        let reports = json.at(&["epcisBody", "eventList", "0", "sensorElementList", "0"]);
        reports.at(&["sensorMetadata"]).as_object().extend(
            Some(time).filter(|t| !t.is_empty()).map(|t| ("startTime".into(), Json::parse(t))),
        );
        derive(&json.plain())[0]
    };
    assert_eq!(sensor("null"), sensor(""));
    assert_eq!(sensor("\"\""), sensor(""));
    assert_eq!(sensor("\"now\""), Err(Reason::Timestamp));
}

/// An error declaration has a key of its own; its reason is content, so that it is a conflict.
#[test]
fn an_error_declaration_is_an_event_of_its_own() {
    let plain = with("acme", "acme")[2].unwrap();
    let other_reason = with("incorrect_data", "did_not_occur")[2].unwrap();
    assert_eq!(plain.0, other_reason.0);
    assert_ne!(plain.1, other_reason.1);
    let mut json = Json::parse(include_str!("documents/epcis-document.json"));
    json.at(&["epcisBody", "eventList", "2"])
        .as_object()
        .retain(|(name, _)| name != "errorDeclaration");
    assert_ne!(derive(&json.plain())[2].unwrap().0, plain.0);
    assert_eq!(with("\"declarationTime\"", "\"acme:time\"")[2], Err(Reason::Timestamp));
}

/// What stands aside is content by its meaning too: else one declaration would be a conflict.
#[test]
fn an_error_declaration_is_content_by_its_meaning() {
    let plain = with("acme", "acme");
    let reason = "\"incorrect_data\"";
    for word in ["urn:epcglobal:cbv:er:", "https://ref.gs1.org/cbv/ER-", "cbv:ER-"] {
        assert_eq!(with(reason, &format!("\"{word}incorrect_data\"")), plain, "{word}");
    }
    assert_eq!(with(reason, "\"incorrect\"")[2], Err(Reason::Cbv));
    assert!(with(reason, "\"https://a.example/reason/7\"")[2].is_ok());
    let ids = "[\"urn:uuid:404d95fc-9457-4a51-bd6a-0bba133845a8\"]";
    let two = with(ids, "[\"a:1\", \"a:2\"]");
    assert_eq!(with(ids, "[\"a:2\", \"a:1\"]"), two);
    assert!(two[2].unwrap().0 == plain[2].unwrap().0 && two[2] != plain[2]);
    let absent = with(&format!(",\n          \"correctiveEventIDs\": {ids}"), "");
    assert_eq!(with(ids, "[]"), absent);
}

/// Serials in queries had one key, so that the second event was lost; so had two users' paths.
#[test]
fn two_things_have_two_keys_however_their_addresses_are_written() {
    let epc = |text: &str| with("urn:epc:id:sgtin:030093.0005801.SN1", text)[0];
    let class = |text: &str| with("urn:epc:class:lgtin:4012345.012345.998877", text)[0];
    let place = |text: &str| with("urn:epc:id:sgln:0312345.00002.0", text)[0];
    type Event = Result<(EventKey, ContentDigest), Reason>;
    let differ = |a: Event, b: Event| assert_ne!(a.unwrap().0, b.unwrap().0);
    let query = |n: u32| format!("https://id.gs1.org/01/00300930058011?21=SN{n}");
    differ(epc(&query(1)), epc(&query(3)));
    assert_eq!(epc(&query(1)), with("acme", "acme")[0]);
    let lot = |n: u32| format!("https://id.gs1.org/01/00300930058011?10={n}");
    differ(class(&lot(245)), class(&lot(246)));
    for (one, other) in [
        ("https://hospital-a.example/ward/401/12", "https://hospital-b.example/building/401/12"),
        ("https://a.example/asset/8004/X1", "https://b.example/invoice/8004/X1"),
        ("https://x.example/2026/01/12345670", "https://y.example/2026/01/12345670"),
    ] {
        differ(place(one), place(other));
    }
}

/// RalphTro/epcis-event-hash-generator#112: a GTIN of 12, 13 or 14 digits above a lot (P23).
#[test]
fn a_gtin_above_a_lot_is_padded() {
    let class = |gtin: &str| {
        with(
            "urn:epc:class:lgtin:4012345.012345.998877",
            &format!("https://id.gs1.org/01/{gtin}/10/245"),
        )[0]
    };
    assert_eq!(class("300930058011"), class("00300930058011"));
    assert_eq!(class("0300930058011"), class("00300930058011"));
    assert_eq!(class("00300930058015"), Err(Reason::Gtin));
}

#[test]
fn xml_is_refused_clearly() {
    let rejection =
        deriver().derive(b"  <?xml version=\"1.0\"?><epcis:EPCISDocument/>").unwrap_err();
    assert_eq!(rejection.reason, Reason::Json);
    assert_eq!(rejection.to_string(), "document: this is XML; a JSON document is due (byte 2)");
}

#[test]
fn published_events_that_are_alike_agree() {
    let Some(published) = published() else { return };
    let bytes =
        std::fs::read(published.join("expected-equal/ReferenceEventHashAlgorithm.json")).unwrap();
    let answers = derive(std::str::from_utf8(&bytes).unwrap());
    assert!(answers.len() == 2 && answers[0].is_ok() && answers[0] == answers[1]);
}

/// Whatever the event hash of CBV 2.0 tells apart, a key tells apart too.
#[test]
fn events_of_two_published_hashes_have_two_keys() {
    let Some(published) = published() else { return };
    let mut hashes: BTreeMap<EventKey, BTreeSet<String>> = BTreeMap::new();
    let mut events = 0;
    for (name, bytes) in documents(&published.join("hash-fixtures")) {
        let path = published.join("hash-fixtures").join(name.replace(".jsonld", ".hashes"));
        let text = std::fs::read_to_string(path).unwrap();
        let listed: Vec<&str> = text.split_whitespace().collect();
        let answers = derive(std::str::from_utf8(&bytes).unwrap());
        assert_eq!(listed.len(), answers.len(), "{name}");
        for (answer, hash) in answers.into_iter().zip(listed) {
            events += 1;
            hashes.entry(answer.unwrap().0).or_default().insert(hash.to_owned());
        }
    }
    let shared: Vec<_> = hashes.values().filter(|hashes| hashes.len() > 1).collect();
    assert!(shared.is_empty(), "{shared:?}");
    assert_eq!(events, 43);
}
