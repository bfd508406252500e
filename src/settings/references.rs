//! `${VAR}` and `${file:PATH}` in the values of `[kafka]`: secrets come from the environment or
//! from files of their own. Must not be in here: printing a value.

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;

/// Begins a reference to a file.
const FILE: &str = "file:";
/// More than any key or certificate, less than what a mistaken path might lead to.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Why a value could not be completed. Names variables and files, never values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpansionFault {
    /// The variable is not set.
    Missing(String),
    /// The variable is set to something that is not UTF-8.
    NotText(String),
    /// The file is not one that a value can be taken from.
    File {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// `${` without a variable's name, or `file:` and a path, and `}`.
    Malformed,
}

/// Replaces each `${VAR}` by what `lookup` gives, each `${file:PATH}` by the file's content without
/// the end of its last line; `$${` stands for the text `${`. Relative paths begin at `dir`.
pub fn expand(
    text: &str,
    dir: &Path,
    lookup: &dyn Fn(&str) -> Option<OsString>,
) -> Result<String, ExpansionFault> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if let Some(before) = rest[..at].strip_suffix('$') {
            expanded.push_str(before);
            expanded.push_str("${");
            rest = &rest[at + 2..];
            continue;
        }
        expanded.push_str(&rest[..at]);
        let (name, after) = rest[at + 2..].split_once('}').ok_or(ExpansionFault::Malformed)?;
        let value = match name.strip_prefix(FILE) {
            Some("") => return Err(ExpansionFault::Malformed),
            Some(path) => of_file(&dir.join(path))?,
            None if is_variable_name(name) => of_variable(name, lookup)?,
            None => return Err(ExpansionFault::Malformed),
        };
        expanded.push_str(&value);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn of_variable(
    name: &str,
    lookup: &dyn Fn(&str) -> Option<OsString>,
) -> Result<String, ExpansionFault> {
    let value = lookup(name).ok_or_else(|| ExpansionFault::Missing(name.to_owned()))?;
    value.into_string().map_err(|_| ExpansionFault::NotText(name.to_owned()))
}

fn of_file(path: &Path) -> Result<String, ExpansionFault> {
    let fault =
        |why: &str| ExpansionFault::File { path: path.display().to_string(), why: why.to_owned() };
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| fault(&format!("it cannot be read: {error}")))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(fault("it is longer than 1 MiB"));
    }
    // The error would hold the content.
    let text = String::from_utf8(bytes).map_err(|_| fault("it is not UTF-8"))?;
    let text =
        text.strip_suffix('\n').map_or(&*text, |line| line.strip_suffix('\r').unwrap_or(line));
    if text.is_empty() {
        return Err(fault("it is empty"));
    }
    Ok(text.to_owned())
}

fn is_variable_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_once() {
        let lookup = |name: &str| (name == "USER").then(|| OsString::from("a${USER}b"));
        let expand = |text: &str| expand(text, Path::new(""), &lookup);
        assert_eq!(expand("x${USER}y"), Ok("xa${USER}by".into()));
        assert_eq!(expand("$${USER} $5"), Ok("${USER} $5".into()));
        assert_eq!(expand("${PASS}"), Err(ExpansionFault::Missing("PASS".into())));
        for wrong in ["${", "${a b}", "${file:}", "${File:x}"] {
            assert_eq!(expand(wrong), Err(ExpansionFault::Malformed), "{wrong}");
        }
    }

    #[test]
    fn files_lose_the_end_of_their_last_line_only() {
        let dir = tempfile::tempdir().unwrap();
        let taken = |content: &[u8]| {
            std::fs::write(dir.path().join("secret"), content).unwrap();
            expand("<${file:secret}>", dir.path(), &|_| None)
        };
        for (content, value) in
            [("a b", "<a b>"), ("ab\n", "<ab>"), ("ab\r\n", "<ab>"), (" ab\n\n", "< ab\n>")]
        {
            assert_eq!(taken(content.as_bytes()), Ok(value.into()), "{content:?}");
        }
        for (content, why) in [(&b"\n"[..], "it is empty"), (b"\xff", "it is not UTF-8")] {
            let Err(ExpansionFault::File { path, why: told }) = taken(content) else { panic!() };
            assert_eq!(told, why);
            assert!(path.ends_with("secret"));
        }
        assert!(matches!(taken(&vec![b'a'; 1 << 21]), Err(ExpansionFault::File { .. })));
    }
}
