//! The walls of the room: what identity must not know, and what its types promise.

use oncegate::identity::{ContentDigest, Deriver, EventKey, Recipe, Rejection};
use std::path::{Path, PathBuf};

/// What must not stand in the room, and why.
const BANNED: [(&str, &str); 16] = [
    ("std::time", "identity has no clock"),
    ("chrono", "times are read byte by byte"),
    ("rust_decimal", "numbers are read digit by digit"),
    ("f32", "no value passes a float"),
    ("f64", "no value passes a float"),
    ("std::fs", "identity does no IO"),
    ("std::net", "identity does no IO"),
    ("std::env", "identity has no surroundings"),
    ("println!", "identity says nothing"),
    ("async ", "identity is not async"),
    ("tracing", "identity does not log"),
    ("crate::gate", "identity knows no other room"),
    ("crate::journal", "identity knows no other room"),
    ("unsafe", "nothing here needs it"),
    (".unwrap()", "a fault is an answer, not a panic"),
    (".expect(", "a fault is an answer, not a panic"),
];

#[test]
fn the_room_is_pure() {
    let mut faults = Vec::new();
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/identity")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        assert!(text.starts_with("//! "), "{} says what it is for", path.display());
        let lines =
            code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        for (at, line) in lines {
            for (banned, why) in BANNED.iter().filter(|(banned, _)| line.contains(banned)) {
                faults.push(format!("{}:{}: {banned}: {why}", path.display(), at + 1));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match path.is_dir() {
            true => found.extend(sources(&path)),
            false => found.push(path),
        }
    }
    found
}

#[test]
fn derivers_move_between_threads_and_recipes_are_shared() {
    fn is_send<T: Send>() {}
    fn is_sync<T: Send + Sync + 'static>() {}
    fn is_key<T: Copy + Ord + std::hash::Hash + std::fmt::Display + std::fmt::Debug>() {}
    is_send::<Deriver>();
    is_sync::<Recipe>();
    is_sync::<Rejection>();
    is_key::<EventKey>();
    is_key::<ContentDigest>();
}
