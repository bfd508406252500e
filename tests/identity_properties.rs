//! Properties of identity: one meaning, one key; another meaning, another key; no bytes panic.
//!
//! Every random value comes from the seed that a failing property prints.

mod support;

use oncegate::identity::{Deriver, Recipe, normalize};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use support::json::Json;
use support::spell::FAMILIES;
use support::{Answer, RECIPES, Random, answers, recipe};

fn config() -> ProptestConfig {
    ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() }
}

/// The answers in an order of their own: items of a list may stand in any.
fn sorted(mut answers: Vec<Answer>) -> Vec<String> {
    let mut texts: Vec<String> = answers.drain(..).map(|answer| format!("{answer:?}")).collect();
    texts.sort();
    texts
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn another_spelling_has_the_same_key_and_digest(seed: u64) {
        for family in &FAMILIES {
            let mut random = Random(seed);
            let mut deriver = Deriver::new(recipe(family.recipe));
            let json = (family.make)(&mut random);
            let plain = sorted(answers(&mut deriver, json.plain().as_bytes()));
            prop_assert!(plain.iter().all(|answer| answer.starts_with("Ok")), "{} {plain:?}", json.plain());
            for _ in 0..4 {
                let mut other = json.clone();
                (family.respell)(&mut other, &mut random);
                let text = other.spelled(&mut random);
                let respelled = sorted(answers(&mut deriver, text.as_bytes()));
                prop_assert_eq!(&respelled, &plain, "{}: {} and {}", family.recipe, json.plain(), text);
            }
        }
    }

    #[test]
    fn another_meaning_has_another_key(seed: u64) {
        for family in &FAMILIES {
            let mut random = Random(seed);
            let mut deriver = Deriver::new(recipe(family.recipe));
            let mut json = (family.make)(&mut random);
            let text = json.plain();
            let keys: BTreeSet<_> = answers(&mut deriver, text.as_bytes()).into_iter().map(|a| a.unwrap().0).collect();
            (family.change)(&mut json, &mut random);
            (family.respell)(&mut json, &mut random);
            for answer in answers(&mut deriver, json.spelled(&mut random).as_bytes()) {
                let answer = answer.unwrap_or_else(|r| panic!("{}: {r}", json.plain()));
                prop_assert!(!keys.contains(&answer.0), "{}: {} and {}", family.recipe, text, json.plain());
            }
        }
    }

    #[test]
    fn other_content_has_the_same_key_and_another_digest(seed: u64) {
        let mut random = Random(seed);
        let mut deriver = Deriver::new(recipe("lab-result"));
        let mut json = (FAMILIES[0].make)(&mut random);
        let first = answers(&mut deriver, json.plain().as_bytes()).remove(0).unwrap();
        match random.below(3) {
            0 => *json.at(&["value"]) = Json::Raw("17".into()),
            1 => json.at(&["note"]).as_text().push('x'),
            _ => json.at(&["nested", "a"]).as_list().push(Json::Raw("1".into())),
        }
        let text = json.spelled(&mut random);
        let second = answers(&mut deriver, text.as_bytes()).remove(0).unwrap();
        prop_assert_eq!(first.0, second.0);
        prop_assert_ne!(first.1, second.1);
    }

    #[test]
    fn decimals_are_idempotent(text in "-?[0-9]{1,26}(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?") {
        for options in ["scale = 3", "scale = 3\nexcess = \"round-half-up\"", "scale = 9\nzeros = \"drop\""] {
            if let Ok(once) = normalize("decimal", options, &text, false) {
                let twice = normalize("decimal", options, &once.value, false);
                prop_assert_eq!(twice.map(|n| n.value), Ok(once.value));
            }
        }
    }

    /// A second opinion on rounding.
    #[test]
    fn decimals_agree_with_a_library(text in "-?[0-9]{1,18}(\\.[0-9]{1,9})?") {
        let ours = normalize("decimal", "scale = 3\nexcess = \"round-half-up\"", &text, false).unwrap();
        let away = rust_decimal::RoundingStrategy::MidpointAwayFromZero;
        let number: rust_decimal::Decimal = text.parse().unwrap();
        let rounded = number.round_dp_with_strategy(3, away);
        let theirs = if rounded.is_zero() { "0.000".to_owned() } else { format!("{rounded:.3}") };
        prop_assert_eq!(ours.value, theirs);
    }

    /// A second opinion on calendar and zones.
    #[test]
    fn timestamps_agree_with_a_library(seed: u64) {
        let mut random = Random(seed);
        let mut json = (FAMILIES[0].make)(&mut random);
        (FAMILIES[0].respell)(&mut json, &mut random);
        let text = json.at(&["resulted_at"]).as_text().replace(['t', ' '], "T").replace('z', "Z");
        let instant = chrono::DateTime::parse_from_rfc3339(&text).unwrap();
        let event = answers(&mut Deriver::new(recipe("lab-result")), json.plain().as_bytes()).remove(0).unwrap();
        prop_assert_eq!(event.2, Some(instant.timestamp_micros()));
    }

    #[test]
    fn timestamps_are_idempotent(seed: u64) {
        let mut random = Random(seed);
        let mut json = (FAMILIES[0].make)(&mut random);
        (FAMILIES[0].respell)(&mut json, &mut random);
        let text = json.at(&["resulted_at"]).as_text().clone();
        for options in ["", "style = \"offset\"", "precision = \"second\"\nfiner = \"truncate\"",
            "precision = \"millisecond\"\nfiner = \"round-half-up\"\ndecimals = \"all\""] {
            if let Ok(once) = normalize("timestamp", options, &text, false) {
                let twice = normalize("timestamp", options, &once.value, false);
                prop_assert_eq!(twice.map(|n| n.value), Ok(once.value));
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>(), number: bool) {
        let options = [
            ("text", ""), ("decimal", "scale = 3"), ("timestamp", ""), ("timestamp", "format = \"hl7\""),
            ("unit", "table = { EA = [\"ea\"] }\nunknown = \"upper\""), ("ucum", ""), ("epc", ""),
            ("gtin", ""), ("serial", ""), ("ndc", "separators = \"as-printed\""), ("loinc", ""),
            ("cbv", "vocabulary = \"bizstep\""), ("uuid", ""), ("enum", "values = [\"a\"]"),
        ];
        for (name, options) in options {
            let _ = normalize(name, options, &text, number);
        }
    }
}

/// Objects of few names in all orders, nested and repeated: what a deriver expects of an object,
/// from those it has seen, must never show.
#[test]
fn expected_shapes_never_show() {
    const RECIPE: &str = r#"
        name = "shapes"
        version = 1
        granularity = "record"
        encoding = "json"
        [digest]
        rest = "rest"
        ignore = ["/a/b", "/c/*/a", "/b/c/b"]
        unordered = ["/c", "/b/a"]
        [[field]]
        name = "one"
        pointer = "/a/c/b"
        normalize = "text"
        optional = true
        absent_within = true
        [[field]]
        name = "two"
        pointer = "/b/b"
        normalize = "decimal"
        scale = 3
        optional = true
        absent_within = true
    "#;
    let recipe = Arc::new(Recipe::parse("shapes", RECIPE).unwrap_or_else(|e| panic!("{e}")));
    for seed in 0..3 {
        println!("seed {seed}");
        let mut random = Random(seed);
        let mut warm = Deriver::new(recipe.clone());
        for _ in 0..10_000 {
            let wide = if random.one_in(8) { 40 } else { 1 };
            let parts = (0..wide).map(|_| nested(&mut random, 1)).collect();
            let document = Json::Object(vec![
                (random.pick(&["a", "b", "c"]).to_string(), nested(&mut random, 1)),
                ("w".into(), Json::List(parts)),
                (random.pick(&["b", "c", "d"]).to_string(), nested(&mut random, 1)),
            ]);
            let document = document.spelled(&mut random);
            let fresh = answers(&mut Deriver::new(recipe.clone()), document.as_bytes());
            assert_eq!(answers(&mut warm, document.as_bytes()), fresh, "{document}");
        }
    }
}

/// Found by fuzzing: the 65th object took the place in which the first had its shape kept, so that
/// the first was taken to have the names of the 65th.
#[test]
fn an_object_within_does_not_change_what_is_expected_of_the_outer() {
    let recipe = recipe("inventory-item");
    let item = |n: usize| {
        format!(
            r#"{{"ndc11":"00093005801","lot":"L{n}","qty_delta":"1","unit":"EA","event_type":"receipt"}}"#
        )
    };
    // The odd one goes on, from its second member, as the record does.
    let odd = r#"{"aa":1,"facility_uuid":2,"batch_ts":3}"#;
    let mut warm = Deriver::new(recipe.clone());
    for objects in [62, 63, 64, 65, 130] {
        for at in 0..objects {
            let items: Vec<String> =
                (0..objects).map(|n| if n == at { odd.to_owned() } else { item(n) }).collect();
            let facility = "5f1e6c2a-0000-4000-8000-000000000abc";
            let document = format!(
                r#"{{"items":[{}],"facility_uuid":"{facility}","batch_ts":"2026-07-16T14:30:00Z"}}"#,
                items.join(",")
            );
            let fresh = answers(&mut Deriver::new(recipe.clone()), document.as_bytes());
            assert_eq!(answers(&mut warm, document.as_bytes()), fresh, "{objects} {at}");
        }
    }
}

fn nested(random: &mut Random, depth: usize) -> Json {
    match random.below(if depth < 5 { 8 } else { 4 }) {
        0 => Json::Raw(random.pick(&["1", "1.0", "null", "1.0005"]).to_string()),
        1 | 2 => Json::text(*random.pick(&["x", "y", " x", "\\"])),
        3 => Json::List((0..random.below(4)).map(|_| nested(random, depth + 1)).collect()),
        _ => {
            let names = ["a", "b", "c", "abcdefgh", "abcdefghi", "abcdefgh\u{0}", "\u{e9}"];
            let members = (0..random.below(5))
                .map(|_| (random.pick(&names).to_string(), nested(random, depth + 1)));
            Json::Object(members.collect())
        }
    }
}

/// Random and mutated documents; `ONCEGATE_DOCUMENTS` says how many, `ONCEGATE_SEED` from where.
#[test]
fn no_bytes_panic_and_no_answer_depends_on_what_came_before() {
    let number =
        |name: &str, default: u64| std::env::var(name).map_or(default, |n| n.parse().unwrap());
    let (documents, seed) = (number("ONCEGATE_DOCUMENTS", 30_000), number("ONCEGATE_SEED", 7));
    println!("ONCEGATE_DOCUMENTS={documents} ONCEGATE_SEED={seed}");
    let mut random = Random(seed);
    let corpus = corpus();
    let recipes = RECIPES.map(recipe);
    let mut warm = recipes.clone().map(Deriver::new);
    let mut document = Vec::new();
    let mut accepted = 0_u64;
    for _ in 0..documents {
        document.clear();
        let (recipe, seed) = random.pick(&corpus);
        document.extend_from_slice(seed);
        mutate(&mut document, &corpus, &mut random);
        let own = RECIPES.iter().position(|name| name == recipe).unwrap();
        let at = if random.one_in(10) { random.below(recipes.len()) } else { own };
        if random.one_in(16) {
            let seen = answers(&mut warm[at], &document);
            let fresh = answers(&mut Deriver::new(recipes[at].clone()), &document);
            assert_eq!(seen, fresh, "{} {:?}", RECIPES[at], String::from_utf8_lossy(&document));
        } else if let Ok(events) = warm[at].derive(&document) {
            accepted += events.iter().filter(|event| event.is_ok()).count() as u64;
        }
    }
    println!("{accepted} events were accepted");
}

/// The documents of the vectors and of `tests/documents`, each with its recipe.
fn corpus() -> Vec<(String, Vec<u8>)> {
    let mut corpus = Vec::new();
    for file in [include_str!("vectors/keys.json"), include_str!("vectors/reference.json")] {
        let file: serde_json::Value = serde_json::from_str(file).unwrap();
        corpus.extend(file["vectors"].as_array().unwrap().iter().map(|v| {
            let text = |member: &str| v[member].as_str().unwrap().to_owned();
            (text("recipe"), text("document").into_bytes())
        }));
    }
    let add = |name: &str, document: &[u8]| (name.to_owned(), document.to_vec());
    for _ in 0..20 {
        corpus.push(add("epcis-document", include_bytes!("documents/epcis-document.json")));
        corpus.push(add("fhir-observation", include_bytes!("documents/fhir-observation.json")));
    }
    corpus
}

/// A few changes of the kinds that break parsers: bits, lengths, repeated pieces, odd words.
fn mutate(document: &mut Vec<u8>, corpus: &[(String, Vec<u8>)], random: &mut Random) {
    const WORDS: [&[u8]; 20] = [
        b"\"",
        b"\\",
        b"\\u",
        b"\\ud800",
        b"\\udc00",
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b"null",
        b"NaN",
        b"1e99999999999",
        b"-0",
        b"0.0000000001",
        b"\xEF\xBB\xBF",
        b"\xFF",
        b"\0",
        b"[[[[[[[[[[[[[[[[",
    ];
    for _ in 0..random.below(4) {
        let at = random.below(document.len() + 1);
        let end = (at + random.below(12)).min(document.len());
        match random.below(7) {
            0 if at < document.len() => document[at] ^= 1 << random.below(8),
            1 => document.truncate(at),
            2 => drop(document.drain(at..end)),
            3 => {
                let piece = document[at..end].to_vec();
                document.splice(at..at, piece);
            }
            4 => {
                let (_, other) = random.pick(corpus);
                let from = random.below(other.len());
                let to = (from + random.below(40)).min(other.len());
                document.splice(at..end, other[from..to].iter().copied());
            }
            5 => drop(document.splice(at..at, random.pick(&WORDS).iter().copied())),
            _ => {
                let noise: Vec<u8> = (0..random.below(8)).map(|_| random.next() as u8).collect();
                document.splice(at..end, noise);
            }
        }
    }
}
