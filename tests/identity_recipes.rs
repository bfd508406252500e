//! Recipes: those of the project by their fingerprints, those that are refused by line and
//! message, and what a fingerprint does and does not depend on.

mod support;

use oncegate::identity::{Granularity, Recipe};
use std::path::Path;
use support::{RECIPES, recipe};

/// A changed fingerprint means that stores and journals of the recipe are refused: raise the
/// recipe's version, and only then put the new one here.
const FINGERPRINTS: [(&str, &str); 10] = [
    ("lab-result", "ec3c5fd94285b343a6de5ca523b9a0606ba1a65fb02052963e45ac42f3bf6697"),
    ("epcis-event", "66991f4d778c3f397dd90c4ef6336dd57e7539291b54184e6b175bca2c85b41d"),
    ("inventory-batch", "69fc45b8eaa874575a25c27c6849215a6b2ccc4eb134aa0fe721f3da0fc56fe8"),
    ("inventory-item", "e2aac98de4f3790d40c90a35512cffe5fef7063074a790c209a36ea87ef62f02"),
    ("epcis-document", "c21a81fb189a6dfd2f420239835a92988e0cc3696481729efe8aad9a50c7fb09"),
    ("fhir-observation", "daf20e3aa20efaabe39d7bb1050d213b21473527f3a912bbe0c7f4ab72a926da"),
    ("reference/lab-result", "cb833cb0109c15525714a871b2754a2371ec3dfa888711a029b0f8b32066d231"),
    ("reference/epcis-event", "85e25c5f22f592d8cccf1948cfc0d7581a23e4d0bd02055d55cd433d2366c3f6"),
    (
        "reference/inventory-batch",
        "86fcc34a5e712b2d02814827e18b8570542011ad52e6f6dda7b3564f4410c417",
    ),
    (
        "reference/inventory-item",
        "e1f0bb65cbdc933051984290bb6244908f6fb80318f6c5b97c7aac2d332a9413",
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
