//! Real-world spellings: every case of `tests/vectors/field-formats.json`, by its id.
//!
//! Where a case says "unless configured", both are tried: refused by default, read by the option.

use oncegate::identity::{
    ContentDigest, Deriver, EventKey, NotNormalized, Reason, Recipe, normalize,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

type Answer = Result<String, Reason>;

fn by(name: &str, options: &str, value: &str) -> Answer {
    match normalize(name, options, value, false) {
        Ok(normalized) => Ok(normalized.value),
        Err(NotNormalized::Refused(fault)) => Err(fault.reason()),
        Err(NotNormalized::Options(error)) => panic!("{error}"),
    }
}

struct Case {
    id: String,
    inputs: Vec<Value>,
    expect: Value,
}

impl Case {
    fn texts(&self) -> impl Iterator<Item = &str> {
        self.inputs
            .iter()
            .map(|input| input.as_str().unwrap_or_else(|| panic!("{} has texts", self.id)))
    }

    fn all(&self, name: &str, options: &str) -> Vec<Answer> {
        self.texts().map(|text| by(name, options, text)).collect()
    }

    fn expected(&self, key: &str) -> &str {
        self.expect[key].as_str().unwrap_or_else(|| panic!("{} expects `{key}`", self.id))
    }

    #[track_caller]
    fn are(&self, answers: &[Answer], expected: &Answer) {
        assert!(
            answers.iter().all(|a| a == expected),
            "{}: {answers:?} instead of {expected:?}",
            self.id
        );
    }

    #[track_caller]
    fn differ(&self, answers: &[Answer]) {
        let distinct: BTreeSet<&String> = answers.iter().map(|a| a.as_ref().unwrap()).collect();
        assert_eq!(distinct.len(), answers.len(), "{}: {answers:?}", self.id);
    }
}

fn cases() -> Vec<Case> {
    let file: Value = serde_json::from_str(include_str!("vectors/field-formats.json")).unwrap();
    let case = |v: &Value| Case {
        id: v["id"].as_str().unwrap().to_owned(),
        inputs: v["inputs"].as_array().unwrap().clone(),
        expect: v["expect"].clone(),
    };
    file["cases"].as_array().unwrap().iter().map(case).collect()
}

#[test]
fn every_case_has_its_right_answer() {
    let cases = cases();
    assert_eq!(cases.len(), 43);
    for case in &cases {
        match case.id.split_once('-').unwrap().0 {
            "NDC" => ndc(case),
            "GTIN" => gtin(case),
            "BIZ" => biz_step(case),
            "LOINC" => loinc(case),
            "UCUM" => ucum(case),
            "HL7" => hl7(case),
            "FHIR" => fhir(case),
            "ISO" => iso(case),
            other => panic!("no test for {other}"),
        }
    }
}

fn ndc(case: &Case) {
    let answers = case.all("ndc", "");
    match case.id.as_str() {
        "NDC-2" | "NDC-3" => case.are(&answers, &Ok(case.expected("is").to_owned())),
        "NDC-4" => case.are(&answers, &Err(Reason::Ndc)),
        "NDC-5" => case.are(&answers, &by("ndc", "", case.expected("same_product_as"))),
        "NDC-6" => assert!(answers.iter().all(|a| matches!(a, Err(Reason::Ndc | Reason::Empty)))),
        "NDC-7" => {
            case.are(&answers, &Err(Reason::Ndc));
            let printed = case.all("ndc", "separators = \"as-printed\"");
            assert_eq!(printed, [Ok("55292014001".to_owned()), Ok("00093005801".to_owned())]);
        }
        other => panic!("no test for {other}"),
    }
}

fn gtin(case: &Case) {
    match case.id.as_str() {
        "GTIN-1" => case.are(&case.all("gtin", ""), &Ok(case.expected("same").to_owned())),
        "GTIN-2" => {
            let part = |index: usize| Ok(case.expect["same"][index].as_str().unwrap().to_owned());
            case.are(&case.all("epc", "part = \"gtin\""), &part(0));
            case.are(&case.all("epc", "part = \"serial\""), &part(1));
            let uri = Ok("https://id.gs1.org/01/00300930058011/21/SN1".to_owned());
            case.are(&case.all("epc", ""), &uri);
        }
        "GTIN-3" => case.are(&case.all("gtin", ""), &Err(Reason::Gtin)),
        "GTIN-4" => case.differ(&case.all("gtin", "")),
        "GTIN-6" => case.differ(&case.all("serial", "")),
        "GTIN-7" => case.are(&case.all("serial", ""), &Err(Reason::Serial)),
        "GTIN-8" => {
            for input in &case.inputs {
                let answer = match input {
                    Value::Number(number) => normalize("gtin", "", &number.to_string(), true),
                    text => normalize("gtin", "", text.as_str().unwrap(), false),
                };
                assert!(
                    matches!(answer, Err(NotNormalized::Refused(f)) if f.reason() == Reason::Gtin)
                );
            }
        }
        other => panic!("no test for {other}"),
    }
}

fn biz_step(case: &Case) {
    let step = |text: &str| by("cbv", "vocabulary = \"bizstep\"", text);
    let answers: Vec<Answer> = case.texts().map(step).collect();
    match case.id.as_str() {
        "BIZ-2" | "BIZ-3" => case.differ(&answers),
        "BIZ-4" => {
            let [first, second, third] = &answers[..] else { panic!("three inputs are due") };
            assert_eq!((first, second), (&Err(Reason::Cbv), &Err(Reason::Cbv)));
            assert_eq!(third, &step("commissioning"));
        }
        "BIZ-6" => {
            let urn = case.texts().next().unwrap().split(' ').next().unwrap();
            assert_eq!(step(urn), step("receiving"));
            assert!(step(urn).is_ok());
        }
        other => panic!("no test for {other}"),
    }
}

fn loinc(case: &Case) {
    let answers = case.all("loinc", "");
    match case.id.as_str() {
        "LOINC-1" => case.are(&answers, &Ok(case.expected("same").to_owned())),
        "LOINC-2" | "LOINC-6" => case.are(&answers, &Err(Reason::Loinc)),
        "LOINC-3" => assert!(answers.iter().all(Result::is_ok), "{answers:?}"),
        "LOINC-4" => {
            for text in case.texts() {
                assert!(normalize("loinc", "", text, false).unwrap().flag.is_some(), "{text}");
            }
            assert_eq!(normalize("loinc", "", "2823-3", false).unwrap().flag, None);
        }
        other => panic!("no test for {other}"),
    }
}

fn ucum(case: &Case) {
    let answers = case.all("ucum", "");
    match case.id.as_str() {
        "UCUM-1" => case.are(&answers, &Ok("mg/dL".to_owned())),
        "UCUM-3" => {
            let table = "table = { \"10*9/L\" = [\"10*3/uL\", \"10^3/uL\"] }";
            case.are(&case.all("ucum", table), &Ok("10*9/L".to_owned()));
        }
        "UCUM-4" => {
            case.are(&answers, &Err(Reason::Unit));
            let table = "table = { \"10*3/uL\" = [\"K/uL\"] }";
            case.are(&case.all("ucum", table), &Ok("10*3/uL".to_owned()));
        }
        // In UCUM these tokens are what the case says, and so none of what seed 000 means by them.
        "UCUM-6" => {
            let meant = ["{each}", "mL", "g", "Cel"].map(|unit| by("ucum", "", unit));
            for ((answer, text), meant) in answers.iter().zip(case.texts()).zip(meant) {
                assert_eq!(answer, &Ok(text.to_owned()));
                assert_ne!(answer, &meant);
            }
        }
        "UCUM-7" => case.differ(&answers),
        other => panic!("no test for {other}"),
    }
}

fn hl7(case: &Case) {
    let options = "format = \"hl7\"";
    match case.id.as_str() {
        "HL7-1" => case.are(&case.all("timestamp", options), &Ok(case.expected("same").to_owned())),
        "HL7-2" => {
            case.are(&case.all("timestamp", options), &Err(Reason::Timestamp));
            let zoned = case.all("timestamp", "format = \"hl7\"\nzone = \"-04:00\"");
            case.are(&zoned, &Ok("2026-07-01T18:30:00Z".to_owned()));
        }
        "HL7-3" => {
            case.differ(&case.all("timestamp", options));
            let seconds = "format = \"hl7\"\nprecision = \"second\"\nfiner = \"truncate\"";
            case.are(&case.all("timestamp", seconds), &Ok("2026-07-01T18:30:00Z".to_owned()));
        }
        "HL7-4" => case.are(&case.all("timestamp", options), &Err(Reason::Precision)),
        "HL7-6" => {
            let same = by("timestamp", options, case.expected("same_as"));
            assert!(same.is_ok());
            case.are(&case.all("timestamp", options), &same);
        }
        // The status is content of a lab result: a correction is a conflict, never absorbed.
        "HL7-7" => {
            let result = |status: &str| {
                let text = format!(
                    r#"{{"accession":"A1","analyte_loinc":"2823-3","instrument_id":"c","status":"{status}","resulted_at":"2026-07-01T14:30:00Z"}}"#
                );
                derive(include_str!("../config/recipes/lab-result.toml"), &text).unwrap()
            };
            let [first, corrected] = ["F", "C"].map(result);
            assert!(first.0 == corrected.0 && first.1 != corrected.1);
        }
        other => panic!("no test for {other}"),
    }
}

fn derive(recipe: &str, document: &str) -> Result<(EventKey, ContentDigest), Reason> {
    let recipe = Recipe::parse("recipe", recipe).unwrap_or_else(|e| panic!("{e}"));
    let mut deriver = Deriver::new(Arc::new(recipe));
    let events = deriver.derive(document.as_bytes()).map_err(|r| r.reason)?;
    let event = events.iter().next().unwrap().map_err(|r| r.reason)?;
    Ok((event.key, event.digest))
}

/// The observation of `tests/documents`, with one text put for another.
fn observation(from: &str, to: &str) -> Result<(EventKey, ContentDigest), Reason> {
    let document = include_str!("documents/fhir-observation.json");
    assert!(document.contains(from));
    derive(include_str!("../config/recipes/fhir-observation.toml"), &document.replace(from, to))
}

fn fhir(case: &Case) {
    let first = observation("final", "final").unwrap();
    match case.id.as_str() {
        "FHIR-1" => {
            let one =
                r#"{"use": "official", "system": "https://lab.example/results", "value": "R-100"}"#;
            let two = r#"{"system": "urn:oid:1.2.3.4", "value": "77"}"#;
            let order = observation(&format!("{one},\n    {two}"), &format!("{two}, {one}"));
            assert_eq!(order.unwrap(), first);
            assert_eq!(observation("obs-7", "obs-8").unwrap(), first);
            assert_eq!(observation("15:00:00Z", "15:00:09Z").unwrap(), first);
            let meta = r#""meta": {"versionId": "3", "lastUpdated": "2026-07-01T15:00:00Z"},"#;
            assert_eq!(observation(meta, "").unwrap(), first);
        }
        "FHIR-2" => {
            for status in ["preliminary", "corrected"] {
                assert_ne!(observation("final", status).unwrap().0, first.0);
            }
        }
        "FHIR-4" => {
            for text in case.texts() {
                assert_eq!(by("timestamp", "", text), Err(Reason::Timestamp));
                assert_eq!(observation("2026-07-01T14:30:00.000Z", text), Err(Reason::Timestamp));
            }
        }
        "FHIR-5" => {
            let one = r#"{"system": "http://loinc.org", "code": "2823-3", "display": "Potassium"}"#;
            let two = r#"{"system": "https://lab.example/codes", "code": "K"}"#;
            let both = format!("{one},\n      {two}");
            assert_eq!(observation(&both, &format!("{two},{one}")).unwrap(), first);
            let other = r#"{"system": "http://loinc.org", "code": "2951-2"}"#;
            assert_eq!(observation(two, other), Err(Reason::Coding));
        }
        "FHIR-6" => {
            let shorter = observation("4.20", "4.2").unwrap();
            assert!(shorter.0 == first.0 && shorter.1 != first.1);
        }
        other => panic!("no test for {other}"),
    }
}

fn iso(case: &Case) {
    let answers = case.all("timestamp", "");
    match case.id.as_str() {
        "ISO-2" => case.are(&answers, &by("timestamp", "", case.expected("same_as"))),
        "ISO-3" | "ISO-4" | "ISO-5" => case.are(&answers, &Err(Reason::Timestamp)),
        "ISO-7" => {
            let cbv = "precision = \"millisecond\"\nfiner = \"round-half-up\"\ndecimals = \"all\"";
            let millis = case.expect["cbv_hash_millis"].as_array().unwrap();
            for (answer, millis) in case.all("timestamp", cbv).iter().zip(millis) {
                assert_eq!(answer, &Ok(format!("2023-01-18T11:04:{}Z", millis.as_str().unwrap())));
            }
        }
        other => panic!("no test for {other}"),
    }
}

/// The tables of cases of each normalizer: `tests/vectors/normalizers.json`.
#[test]
fn every_normalizer_keeps_to_its_table() {
    let file: Value = serde_json::from_str(include_str!("vectors/normalizers.json")).unwrap();
    let (mut faults, mut tried) = (Vec::new(), BTreeSet::new());
    for table in file["tables"].as_array().unwrap() {
        let name = table["normalizer"].as_str().unwrap();
        let options = table["options"].as_str().unwrap_or("");
        tried.insert(name);
        let mut check = |expected: Answer, spellings: &Value| {
            for spelling in spellings.as_array().unwrap() {
                let answer = by(name, options, spelling.as_str().unwrap());
                if answer != expected {
                    faults.push(format!(
                        "{name} {options:?} {spelling}: {answer:?} instead of {expected:?}"
                    ));
                }
            }
        };
        for (value, spellings) in table["same"].as_object().unwrap() {
            check(Ok(value.clone()), spellings);
        }
        for (reason, spellings) in table["refused"].as_object().unwrap() {
            let known = Reason::all().iter().find(|known| known.as_str() == reason);
            check(Err(*known.unwrap_or_else(|| panic!("no reason {reason}"))), spellings);
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(tried, oncegate::identity::normalizers().collect(), "each normalizer has a table");
}

/// Libraries for numbers and times take more than their grammars; ours is checked first, and no
/// library sees a text at all (C07, C26).
#[test]
fn what_libraries_take_is_refused_by_the_grammar() {
    for text in ["1_000", "+5", ".5", "5."] {
        assert!(text.parse::<rust_decimal::Decimal>().is_ok(), "{text}");
        assert_eq!(by("decimal", "scale = 3", text), Err(Reason::NotNumber));
    }
    for text in ["2016-12-31T23:59:60Z", "2026-07-01T14:30:00+23:59"] {
        assert!(chrono::DateTime::parse_from_rfc3339(text).is_ok(), "{text}");
        assert_eq!(by("timestamp", "", text), Err(Reason::Timestamp));
    }
}

/// A normalizer is tried out by the strict recipes' options, and by one's own.
#[test]
fn trying_out_needs_no_options() {
    assert_eq!(by("decimal", "", "1e1"), Ok("10.000".to_owned()));
    assert_eq!(by("decimal", "scale = 1", "1e1"), Ok("10.0".to_owned()));
    assert_eq!(by("unit", "", "Tablet"), Ok("TAB".to_owned()));
    assert_eq!(by("unit", "", "\u{B5}g"), Ok("MCG".to_owned()));
    assert_eq!(by("unit", "", "Mg"), Err(Reason::Unit));
    assert_eq!(by("cbv", "", "packing"), by("cbv", "", "cbv:BizStep-packing"));
    for (name, options) in
        [("decimals", ""), ("decimal", "scales = 3"), ("decimal", "scale = x"), ("enum", "")]
    {
        assert!(
            matches!(normalize(name, options, "1", false), Err(NotNormalized::Options(_))),
            "{name}"
        );
    }
}

/// With `--number` a value is a JSON number, as one that a document could hold.
#[test]
fn a_value_taken_as_a_number_is_one() {
    let tried = |text: &str| match normalize("decimal", "", text, true) {
        Ok(normalized) => Ok(normalized.value),
        Err(NotNormalized::Refused(fault)) => Err(fault.reason()),
        Err(NotNormalized::Options(error)) => panic!("{error}"),
    };
    assert_eq!(tried("5"), Ok("5.000".to_owned()));
    assert_eq!(tried("-5.0E-1"), Ok("-0.500".to_owned()));
    for text in ["05", "-05", " 5", "5 ", "5\n", "\"5\"", "[5]", "", "NaN", "+5", "5.", "1 2"] {
        assert_eq!(tried(text), Err(Reason::NotNumber), "{text:?}");
    }
}

/// What options lack is said in a sentence.
#[test]
fn a_message_about_options_is_a_sentence() {
    let said = |name: &str, options: &str| match normalize(name, options, "1", false) {
        Err(NotNormalized::Options(error)) => error.message,
        other => panic!("{other:?}"),
    };
    assert_eq!(said("enum", ""), "this list of options needs `values`");
    let stray = said("serial", "scale = 1");
    assert!(stray.starts_with("a key that this list of options does not have"), "{stray}");
}
