//! The walls between the rooms: which module may name which crate and which other module.
//! Reads the sources as text, so that it needs none of them to compile.

use std::fs;
use std::path::{Path, PathBuf};

const ROOMS: [&str; 13] = [
    "identity",
    "gate",
    "journal",
    "store",
    "kafka",
    "processor",
    "evidence",
    "quarantine",
    "ops",
    "settings",
    "topics",
    "check",
    "commands",
];

/// A room, the other rooms that it may name, and the words that it must not use.
struct Wall {
    room: &'static str,
    may_name: &'static [&'static str],
    must_not_say: &'static [&'static str],
}

/// What a room without clock, IO, async and logging never says.
const PURE: &[&str] = &[
    "rdkafka",
    "rocksdb",
    "tokio",
    "tracing",
    "prometheus",
    "axum",
    "async",
    "await",
    "Instant",
    "SystemTime",
    "Utc::now",
    "Local::now",
    "std::fs",
    "std::io",
    "std::net",
    "std::thread",
    "std::process",
    "std::env",
    "println",
    "eprintln",
    "thread_rng",
];

const WALLS: &[Wall] = &[
    Wall { room: "identity", may_name: &[], must_not_say: PURE },
    Wall { room: "gate", may_name: &["identity"], must_not_say: PURE },
    Wall { room: "journal", may_name: &["identity", "gate"], must_not_say: PURE },
    Wall {
        room: "store",
        may_name: &["identity", "gate", "journal"],
        must_not_say: &["rdkafka", "tokio", "axum"],
    },
    Wall {
        room: "settings",
        may_name: &["identity", "gate", "kafka"],
        must_not_say: &["rdkafka", "rocksdb", "tokio", "axum", "tracing", "println", "eprintln"],
    },
    Wall {
        room: "topics",
        may_name: &["settings", "kafka"],
        must_not_say: &["rdkafka", "rocksdb", "tokio", "axum", "tracing", "println", "eprintln"],
    },
    Wall {
        room: "check",
        may_name: &["settings", "topics", "kafka"],
        must_not_say: &["rdkafka", "rocksdb", "tokio", "axum", "tracing", "println", "eprintln"],
    },
    Wall {
        room: "kafka",
        may_name: &["identity", "gate", "journal", "settings"],
        must_not_say: &["rocksdb", "axum"],
    },
    Wall {
        room: "processor",
        may_name: &["identity", "gate", "journal", "store", "kafka"],
        must_not_say: &["rdkafka", "rocksdb", "tokio", "axum"],
    },
    Wall { room: "quarantine", may_name: &["gate", "identity"], must_not_say: PURE },
    Wall {
        room: "evidence",
        may_name: &["identity", "gate", "journal", "kafka", "settings"],
        must_not_say: &["rdkafka", "rocksdb", "tokio", "axum", "tracing", "println", "eprintln"],
    },
    Wall {
        room: "ops",
        may_name: &["gate", "journal", "processor"],
        must_not_say: &["rdkafka", "rocksdb"],
    },
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// The lines of a file that are code of the product: comments and the test module left out, which
/// stands at the end of its file.
fn code_lines(path: &Path) -> Vec<(usize, String)> {
    let text = fs::read_to_string(path).expect("a readable source");
    let lines: Vec<&str> = text.lines().collect();
    let is_test_module = |at: &usize| {
        let next = lines.get(at + 1).is_some_and(|next| {
            next.trim_start().starts_with("mod ") && next.trim_end().ends_with('{')
        });
        lines[*at].trim() == "#![cfg(test)]" || (lines[*at].trim() == "#[cfg(test)]" && next)
    };
    let end = (0..lines.len()).find(is_test_module).unwrap_or(lines.len());
    (lines[..end].iter().enumerate())
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(number, line)| (number + 1, (*line).to_owned()))
        .collect()
}

fn says(line: &str, word: &str) -> bool {
    let boundary = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    line.match_indices(word).any(|(at, _)| {
        boundary(line[..at].chars().next_back()) && boundary(line[at + word.len()..].chars().next())
    })
}

#[test]
fn every_room_keeps_to_its_walls() {
    let mut breaches = Vec::new();
    for wall in WALLS {
        let dir = root().join("src").join(wall.room);
        assert!(!sources(&dir).is_empty(), "room {} is gone: mend this test", wall.room);
        for path in sources(&dir) {
            for (number, line) in code_lines(&path) {
                let place = format!("{}:{number}", path.display());
                for word in wall.must_not_say.iter().filter(|word| says(&line, word)) {
                    breaches.push(format!("{place}: {} must not say {word}", wall.room));
                }
                let others = ROOMS.iter().filter(|room| **room != wall.room);
                for other in others.filter(|room| !wall.may_name.contains(room)) {
                    if says(&line, &format!("crate::{other}")) {
                        breaches.push(format!("{place}: {} must not name {other}", wall.room));
                    }
                }
            }
        }
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn only_one_room_names_each_engine() {
    for (engine, room) in [("rdkafka", "kafka"), ("rocksdb", "store")] {
        let home = root().join("src").join(room);
        for path in sources(&root().join("src")) {
            if path.starts_with(&home) {
                continue;
            }
            for (number, line) in code_lines(&path) {
                assert!(!says(&line, engine), "{}:{number} names {engine}", path.display());
            }
        }
    }
}

#[test]
fn nothing_panics_without_a_sentence() {
    let mut bare = Vec::new();
    for path in sources(&root().join("src")) {
        let lines = code_lines(&path);
        for (number, line) in &lines {
            let panics = [".unwrap()", ".expect(", "panic!(", "unreachable!(", "todo!("];
            if panics.iter().any(|word| line.contains(word)) {
                let text = fs::read_to_string(&path).expect("a readable source");
                let above: Vec<&str> = text.lines().take(number - 1).collect();
                let explained =
                    above.iter().rev().take(3).any(|l| l.trim_start().starts_with("//"));
                if !explained {
                    bare.push(format!("{}:{number}: {}", path.display(), line.trim()));
                }
            }
        }
    }
    assert!(bare.is_empty(), "each needs a sentence why it cannot fail:\n{}", bare.join("\n"));
}

#[test]
fn every_file_says_what_it_is_for() {
    for path in sources(&root().join("src")) {
        let text = fs::read_to_string(&path).expect("a readable source");
        assert!(text.starts_with("//!"), "{} opens without a word", path.display());
    }
}

/// The test can fail: a line that breaks a wall is seen, one that only resembles it is not.
#[test]
fn a_breach_is_seen() {
    assert!(says("use rocksdb::DB;", "rocksdb"));
    assert!(!says("let librocksdb_x = 1;", "rocksdb"));
    assert!(says("let now = Instant::now();", "Instant"));
    assert!(!says("let InstantCoffee = 1;", "Instant"));
    assert!(says("use crate::kafka::broker;", "crate::kafka"));
}
