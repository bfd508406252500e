//! The commands `key` and `normalize` as a person or a script calls them.
#![cfg(feature = "service")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Output, Stdio};

fn oncegate(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_oncegate"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    // A command that ends before it has read all closes its input.
    let _ = feeder.join().unwrap();
    output
}

fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn faulty(arguments: &[&str]) -> String {
    let output = oncegate(arguments, b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn every_vector_is_answered_as_a_line() {
    let vectors: Value = serde_json::from_str(include_str!("vectors/keys.json")).unwrap();
    let mut by_recipe: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for vector in vectors["vectors"].as_array().unwrap() {
        by_recipe.entry(vector["recipe"].as_str().unwrap()).or_default().push(vector);
    }
    let mut answered = 0;
    for (recipe, vectors) in by_recipe {
        let documents: Vec<&str> =
            vectors.iter().map(|vector| vector["document"].as_str().unwrap()).collect();
        let output = oncegate(&["key", "--recipe", recipe], documents.join("\n").as_bytes());
        let answers = lines(&output);
        assert_eq!(answers.len(), vectors.len(), "{recipe}");
        for (vector, answer) in vectors.iter().zip(&answers) {
            let whole = vec![(*vector).clone()];
            let due = vector["items"].as_array().unwrap_or(&whole);
            let events = answer["events"].as_array().unwrap();
            assert_eq!(events.len(), due.len(), "{vector}");
            for (event, due) in events.iter().zip(due) {
                assert_eq!(event["key"], due["key"], "{vector}");
                assert_eq!(event["rejected"], due["rejected"], "{vector}");
                let members: Vec<&str> =
                    event.as_object().unwrap().keys().map(String::as_str).collect();
                let known: &[&str] = match event["rejected"] {
                    Value::Null => &["digest", "event_time", "key"],
                    _ => &["detail", "rejected"],
                };
                assert_eq!(members, known);
            }
            answered += 1;
        }
    }
    assert_eq!(answered, 155);
}

#[test]
fn an_event_time_is_told_in_utc() {
    let document = |time: &str| {
        format!(
            r#"{{"accession":"A","analyte_loinc":"2823-3","instrument_id":"i","resulted_at":"{time}"}}"#
        )
    };
    let input = [document("2026-07-01T16:30:00+02:00"), document("2026-07-01T14:30:00.25Z")];
    let answers = lines(&oncegate(&["key", "--recipe", "lab-result"], input.join("\n").as_bytes()));
    assert_eq!(answers[0]["events"][0]["event_time"], "2026-07-01T14:30:00Z");
    assert_eq!(answers[1]["events"][0]["event_time"], "2026-07-01T14:30:00.250000Z");
    let batch = include_bytes!("documents/inventory-batch-6k.json");
    let answers = lines(&oncegate(&["key", "--recipe", "reference/inventory-batch"], batch));
    assert_eq!(answers[0]["events"].as_array().unwrap().len(), 1);
}

#[test]
fn an_explanation_shows_what_was_sent_what_it_means_and_what_was_hashed() {
    let document = br#"{"accession":" A1 ","analyte_loinc":"2823-3","instrument_id":"i","resulted_at":"2026-07-01T14:30:00Z"}"#;
    let output = oncegate(&["key", "--recipe", "lab-result", "--explain", "-"], document);
    let text = String::from_utf8(output.stdout).unwrap();
    for due in [
        r#"/accession      " A1 "  is  "A1""#,
        "preimage    A1|2823-3|i|2026-07-01T14:30:00+00:00",
        "event time  2026-07-01T14:30:00Z",
    ] {
        assert!(text.contains(due), "{due} stands in\n{text}");
    }
    let key = lines(&oncegate(&["key", "--recipe", "lab-result"], document))[0]["events"][0]["key"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(text.contains(&key));
}

#[test]
fn a_folder_of_ones_own_takes_the_place_of_what_is_shipped() {
    let dir = tempfile::tempdir().unwrap();
    let recipe = "name = \"mine\"\nversion = 1\ngranularity = \"record\"\nencoding = \"tuple\"\n\n\
                  [[field]]\nname = \"id\"\npointer = \"/id\"\nnormalize = \"text\"\n";
    std::fs::write(dir.path().join("mine.toml"), recipe).unwrap();
    let folder = dir.path().to_str().unwrap();
    let output = oncegate(&["key", "--recipe", "mine", "--recipes", folder], b"{\"id\":\"1\"}\n");
    let answers = lines(&output);
    assert_eq!(answers.len(), 1, "a last line end begins no document");
    assert!(answers[0]["events"][0]["event_time"].is_null());
    assert!(faulty(&["key", "--recipe", "lab-result", "--recipes", folder]).contains("not there"));
    std::fs::write(dir.path().join("bad.toml"), recipe.replace("text", "texts")).unwrap();
    let said = faulty(&["key", "--recipe", "bad", "--recipes", folder]);
    assert!(said.contains("bad.toml:9"), "{said}");
    assert!(faulty(&["key", "--recipe", "../mine", "--recipes", folder]).contains("name"));
}

#[test]
fn what_is_shipped_is_what_the_folder_holds() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("config/recipes");
    let files = |dir: &std::path::Path| -> Vec<std::path::PathBuf> {
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let mut names: Vec<String> = files(&root)
        .into_iter()
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .map(|path| path.strip_prefix(&root).unwrap().with_extension("").display().to_string())
        .collect();
    names.sort();
    let mut shipped: Vec<String> =
        oncegate::identity::shipped_recipes().map(str::to_owned).collect();
    shipped.sort();
    assert_eq!(shipped, names);
    let said = faulty(&["key", "--recipe", "lab-resulted"]);
    assert!(said.contains("did you mean `lab-result`?"), "{said}");
    assert!(!root.join("missing").exists());
    assert!(faulty(&["key", "--recipe", "lab-result", "/nowhere"]).contains("/nowhere"));
}

#[test]
fn values_are_normalized_or_refused_one_a_line() {
    let answers =
        lines(&oncegate(&["normalize", "decimal", "-1", "1-", "+5", "1_000", "10e-1"], b""));
    let value = |n: usize| answers[n]["value"].as_str();
    assert_eq!((value(0), value(4)), (Some("-1.000"), Some("1.000")));
    for refused in [1, 2, 3] {
        assert_eq!(answers[refused]["rejected"], "not-number");
        assert!(answers[refused]["detail"].is_string());
    }
    let options = ["--option", "scale=2", "--option", "excess=round-half-up"];
    let arguments = [&["normalize", "decimal"][..], &options, &["1.005"]].concat();
    assert_eq!(lines(&oncegate(&arguments, b""))[0]["value"], "1.01");
    let zone = ["normalize", "timestamp", "--option", "format=hl7", "--option", "zone=+01:00"];
    let arguments = [&zone[..], &["20260701143000"]].concat();
    assert_eq!(lines(&oncegate(&arguments, b""))[0]["value"], "2026-07-01T13:30:00Z");
    let table = ["normalize", "unit", "--option", r#"table={ MG = ["mg"] }"#, "mg", "kg"];
    let answers = lines(&oncegate(&table, b""));
    assert_eq!((&answers[0]["value"], &answers[1]["rejected"]), (&"MG".into(), &"unit".into()));
    let number = lines(&oncegate(&["normalize", "ndc", "--number", "93005801"], b""));
    assert_eq!(number[0]["rejected"], "not-text");
}

#[test]
fn a_faulty_call_says_what_was_meant() {
    let said = faulty(&["normalize", "decimals", "1"]);
    assert!(said.contains("did you mean `decimal`?"), "{said}");
    let said = faulty(&["normalize", "decimal", "--option", "scal=2", "1"]);
    assert!(said.contains("was `scale` meant?"), "{said}");
    assert!(faulty(&["normalize", "decimal", "--option", "scale", "1"]).contains("NAME=VALUE"));
    assert!(faulty(&["normalize", "decimal"]).contains("VALUE"));
}
