//! What the documents state as a contract, against the code.

#[cfg(feature = "service")]
use oncegate::evidence::KINDS;
use oncegate::gate::Reason;

fn document(name: &str) -> String {
    let path = format!("{}/docs/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The rows of the first table behind a heading, as cells.
fn table(text: &str, heading: &str) -> Vec<Vec<String>> {
    let (_, behind) = text.split_once(&format!("## {heading}\n")).expect(heading);
    let section = behind.split("\n## ").next().unwrap_or(behind);
    (section.lines().skip_while(|line| !line.starts_with("| --- ")))
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split(" | ").map(|c| c.trim().to_owned()).collect())
        .collect()
}

#[test]
fn the_documented_reasons_are_the_codes() {
    let documented: Vec<(String, String)> = table(&document("headers.md"), "Reasons")
        .into_iter()
        .map(|row| (row[0].trim_matches('`').to_owned(), row[1].clone()))
        .collect();
    let coded: Vec<(String, String)> = Reason::all()
        .map(|reason| (reason.as_str().to_owned(), reason.meaning().to_owned()))
        .collect();
    assert_eq!(documented, coded);
}

/// Every header of ours that the code writes stands in the document, and no other.
#[test]
fn the_documented_headers_are_the_codes() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/gate/output.rs");
    let source = std::fs::read_to_string(source).expect("the source");
    let mut written: Vec<&str> = (source.match_indices("\"oncegate-"))
        .filter_map(|(at, _)| source[at + 1..].split('"').next())
        .filter(|name| !name.ends_with('-'))
        .collect();
    written.sort_unstable();
    written.dedup();
    let rows = table(&document("headers.md"), "Headers");
    let mut documented: Vec<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    documented.sort_unstable();
    assert_eq!(documented, written);
}

/// Every kind of finding stands in the document, and the code names no other.
#[cfg(feature = "service")]
#[test]
fn the_documented_findings_are_the_codes() {
    let text = document("evidence.md");
    let rows = table(&text, "`oncegate verify ROUTE`");
    let documented: Vec<&str> =
        rows.iter().flat_map(|row| row[0].split(", ")).map(|kind| kind.trim_matches('`')).collect();
    assert_eq!(documented, KINDS);
    let mut named = Vec::new();
    let mut folders = vec![format!("{}/src/evidence", env!("CARGO_MANIFEST_DIR"))];
    while let Some(folder) = folders.pop() {
        for file in std::fs::read_dir(&folder).expect("a folder") {
            let path = file.expect("a file").path();
            match path.is_dir() {
                true => folders.push(path.display().to_string()),
                false => named.extend(kinds_in(&std::fs::read_to_string(&path).expect("text"))),
            }
        }
    }
    for kind in &named {
        assert!(KINDS.contains(&kind.as_str()), "{kind} is not in the list");
    }
    let unnamed: Vec<_> =
        KINDS.iter().filter(|kind| !named.iter().any(|name| name == *kind)).collect();
    assert!(unnamed.is_empty(), "no code names {unnamed:?}");
}

/// The kinds that a source names where it makes a finding.
#[cfg(feature = "service")]
fn kinds_in(source: &str) -> Vec<String> {
    let places =
        ["wrong(findings, \"", "finding(\"", "findings.add(\"", "kind: \"", "CleanFault::"];
    let lines = source.lines().flat_map(|line| {
        places.iter().filter_map(move |place| {
            let (_, behind) = line.split_once(place)?;
            let behind = match *place {
                "CleanFault::" => behind.split_once("=> \"")?.1,
                _ => behind,
            };
            behind.split('"').next().map(str::to_owned)
        })
    });
    lines.collect()
}
