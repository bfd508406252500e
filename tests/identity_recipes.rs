//! Recipes: those of the project by their fingerprints, those that are refused by line and
//! message, and what a fingerprint does and does not depend on.

mod support;

use oncegate::identity::{Granularity, Recipe};
use std::path::Path;
use support::{RECIPES, recipe};

/// A changed fingerprint means that stores and journals of the recipe are refused: raise the
/// recipe's version, and only then put the new one here.
const FINGERPRINTS: [(&str, &str); 10] = [
    ("lab-result", "70a5b0bc830462a42dca83abace333fe982619e385a30c632edcaa1df7470ef0"),
    ("epcis-event", "7c45cea5cd1170e92ba467d6be391194c3017850070d7200738efe635e27387b"),
    ("inventory-batch", "9c56946535e243ef87c209e42e5a89973ccc150c98c4f77cbd3408d1858fd3bf"),
    ("inventory-item", "95f520a5c4a9db6cd40f304a87d5bb365ab95a87ec50d4b0d8d16a46b6d1965e"),
    ("epcis-document", "edacc2aa2c0dd667bf53ae39fbcdc47cb2777aa8f80f64c5dd0e879e40c31923"),
    ("fhir-observation", "f31334a869feb86d6bcde67888a95aa391b2afa2ea61a5433f530039d747c135"),
    ("reference/lab-result", "a9ced3effa7c3656e6e8120d7e86dbe2827908a552b9a2dce33fbece8415678d"),
    ("reference/epcis-event", "0ce02d50fc8852b225e3fcfe265390a4a7733c20abc0c0de92ac61b8a1907955"),
    (
        "reference/inventory-batch",
        "6699872ab512355613d7ccd94c22f42b65ee2249206c01110cc2e7160e1d5b8c",
    ),
    (
        "reference/inventory-item",
        "a7fdc1271da006c61443ad9818a1dea76216398af58abdf1e8391471e534492e",
    ),
];

#[test]
fn fingerprints_stay() {
    let now = RECIPES.map(|name| (name, hex::encode(recipe(name).fingerprint())));
    let now: Vec<(&str, &str)> = now.iter().map(|(name, hash)| (*name, hash.as_str())).collect();
    assert_eq!(now, FINGERPRINTS);
}

#[test]
fn every_recipe_file_is_listed_and_bears_its_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/recipes");
    let mut found = Vec::new();
    for folder in [folder.clone(), folder.join("reference")] {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.extension().is_some_and(|e| e == "toml") {
                let text = std::fs::read_to_string(&entry).unwrap();
                found.push(Recipe::parse("file", &text).unwrap().name().to_owned());
            }
        }
    }
    found.sort();
    let mut listed = RECIPES.map(str::to_owned);
    listed.sort();
    assert_eq!(found, listed);
    for name in RECIPES {
        assert_eq!(recipe(name).name(), name);
        assert_eq!(recipe(name).version(), 1);
    }
}

#[test]
fn a_recipe_says_what_it_declares() {
    assert_eq!(recipe("lab-result").event_time_field(), Some("resulted_at"));
    assert_eq!(recipe("epcis-event").event_time_field(), Some("event_time"));
    assert_eq!(recipe("inventory-item").event_time_field(), Some("batch_ts"));
    assert_eq!(recipe("fhir-observation").event_time_field(), None);
    assert_eq!(recipe("inventory-item").granularity(), Granularity::Items);
    assert_eq!(recipe("inventory-batch").granularity(), Granularity::Record);
}

/// Each file ends with a comment that says the line and a part of the message.
#[test]
fn a_faulty_recipe_is_refused_with_its_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes_refused");
    let mut tried = 0;
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let comment = text.lines().last().unwrap().strip_prefix("# line ").unwrap();
        let (line, part) = comment.split_once(": ").unwrap();
        let error = Recipe::parse(&name, &text).expect_err(&name);
        assert_eq!(error.line, Some(line.parse().unwrap()), "{error}");
        assert!(error.message.contains(part), "{error}");
        assert!(error.to_string().starts_with(&format!("{name}:{line}: ")), "{error}");
        tried += 1;
    }
    assert!(tried >= 45, "only {tried} recipes were tried");
}

/// A configuration may hold a secret in the wrong place.
#[test]
fn no_message_quotes_the_recipe() {
    let recipe = include_str!("../config/recipes/epcis-document.toml");
    let lines: Vec<&str> = recipe.lines().collect();
    for at in 0..lines.len() {
        let Some((key, _)) = lines[at].split_once('=') else {
            continue;
        };
        for secret in [
            "= \"hunter2\"",
            "= hunter2",
            "= [\"hunter2\"]",
            "hunter2 = \"x\"",
            "= { hunter2 = 1 }",
            "= '''hunter2",
        ] {
            let line =
                if secret.starts_with('=') { format!("{key}{secret}") } else { secret.to_owned() };
            let mut faulty = lines.clone();
            faulty[at] = &line;
            if let Err(error) = Recipe::parse("r.toml", &faulty.join("\n")) {
                assert!(!error.to_string().contains("hunter2"), "{error}");
                assert!(error.line.is_some(), "{error}");
            }
        }
    }
}

#[test]
fn layout_and_defaults_do_not_change_a_fingerprint() {
    let text = include_str!("../config/recipes/inventory-batch.toml");
    let plain = Recipe::parse("a", text).unwrap().fingerprint();
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        Recipe::parse("b", &text.replace(from, to)).unwrap_or_else(|e| panic!("{e}")).fingerprint()
    };
    assert_eq!(changed("# The key is", "\n\n# another comment"), plain);
    assert_eq!(changed("scale = 3", "scale   = 3\nexcess = 'refuse' # the default"), plain);
    assert_eq!(changed("normalize = \"ndc\"", "optional = false\nnormalize = \"ndc\""), plain);
    assert_eq!(changed("[\"ea\", \"each\"]", "[\"each\", \"EA\", \"ea\"]"), plain);
    assert_eq!(changed("\"dispense\", \"receipt\"", "\"receipt\", \"dispense\""), plain);
    for (from, to) in [
        ("scale = 3", "scale = 2"),
        ("version = 1", "version = 2"),
        ("\"inventory-batch\"", "\"inventory-batch-2\""),
        ("[\"ea\", \"each\"]", "[\"ea\"]"),
        ("refuse = [\"Mg\"]", ""),
        ("\"unit\"]", "]"),
        ("idem:batch:", "batch:"),
        ("ignore = [\"/received_at\"]", "ignore = [\"/sent_at\"]"),
        ("pointer = \"/lot\"", "pointer = \"/batch\""),
        ("normalize = \"ndc\"", "normalize = \"ndc\"\nseparators = \"as-printed\""),
        ("normalize = \"timestamp\"", "normalize = \"timestamp\"\nstyle = \"offset\""),
    ] {
        assert_ne!(changed(from, to), plain, "{from} to {to}");
    }
}

/// The recipes of the documentation are recipes.
#[test]
fn the_documentation_is_true() {
    let blocks = include_str!("../docs/recipes.md").split("```toml\n").skip(1);
    let blocks: Vec<&str> = blocks.map(|block| block.split("```").next().unwrap()).collect();
    let whole = blocks.iter().filter(|block| block.starts_with("name")).count();
    assert!(whole >= 4, "{whole}");
    for at in 0..blocks.len() {
        let text = match blocks[at].starts_with("name") {
            true => blocks[at].to_owned(),
            false => format!("{}{}", blocks[at - 1], blocks[at]),
        };
        let recipe = Recipe::parse("recipes.md", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        if recipe.name() != "pallet-scan" {
            continue;
        }
        let mut deriver = oncegate::identity::Deriver::new(recipe.into());
        let document = include_str!("../docs/recipes.md").split("```json\n").nth(1).unwrap();
        let document = document.split("```").next().unwrap();
        let first = support::answers(&mut deriver, document.as_bytes());
        let resent = document
            .replace("(00)040123450000003338", "https://id.gs1.org/00/040123450000003338")
            .replace("14:30:00+02:00", "12:30:00Z")
            .replace("7f0c", "81aa");
        assert!(first[0].is_ok());
        assert_eq!(support::answers(&mut deriver, resent.as_bytes()), first);
    }
    for name in oncegate::identity::normalizers() {
        assert!(include_str!("../docs/recipes.md").contains(&format!("| `{name}` |")), "{name}");
    }
    for reason in oncegate::identity::Reason::all() {
        assert!(include_str!("../docs/recipes.md").contains(&format!("`{reason}`")), "{reason}");
    }
}
