//! The files of a configuration: which they are, and their texts.
//! Must not be in here: what a text says.

use super::fault::{Fault, SettingsErrors};
use std::path::{Path, PathBuf};

/// A file that was read.
pub struct Source {
    /// The file, as it was named.
    pub file: String,
    /// Its text behind as many blanks as the files before it are long.
    pub padded: String,
    /// Where its own text begins.
    pub start: usize,
}

/// Reads every file named, and of a directory every `*.toml` in the order of the names.
///
/// # Errors
/// What cannot be read, and a directory without files.
pub fn read_sources(paths: &[PathBuf]) -> Result<Vec<Source>, SettingsErrors> {
    let (mut sources, mut faults) = (Vec::new(), Vec::new());
    let mut start = 0;
    for path in paths {
        let files = match path.is_dir() {
            true => files_in(path),
            false => Ok(vec![path.clone()]),
        };
        let mut read = |file: &Path| -> Result<(), Fault> {
            let text = std::fs::read_to_string(file)
                .map_err(|error| fault(file, format!("the file cannot be read: {error}")))?;
            let file = file.display().to_string();
            // A mark of the encoding may stand at the very beginning only.
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            let padded = " ".repeat(start) + text;
            let next = padded.len() + 1;
            sources.push(Source { file, padded, start });
            start = next;
            Ok(())
        };
        let read_all = files.and_then(|files| files.iter().try_for_each(|file| read(file)));
        faults.extend(read_all.err());
    }
    if faults.is_empty() && !sources.is_empty() {
        return Ok(sources);
    }
    Err(SettingsErrors::new(faults))
}

fn files_in(dir: &Path) -> Result<Vec<PathBuf>, Fault> {
    let unreadable = |error| fault(dir, format!("the directory cannot be read: {error}"));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
        if path.extension().is_some_and(|end| end == "toml") && !hidden && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(fault(dir, "there is no `*.toml` file in the directory".to_owned()));
    }
    Ok(files)
}

fn fault(path: &Path, what: String) -> Fault {
    Fault { file: path.display().to_string(), line: None, what, meant: String::new() }
}
