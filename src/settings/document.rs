//! TOML files that are read key by key, so that all their faults are told in one go.
//!
//! serde's derived readers stop at the first fault and quote values; these write their own
//! sentences. Must not be in here: what any key means, or a message with a value in it.

use super::fault::Fault;
use super::files::Source;
use super::merge::merge;
use super::section::Section;
use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;
use toml::de::DeTable;

/// Files under reading, with the faults found so far. A place is counted over all of them: each
/// file is parsed behind as many blanks as the files before it are long.
pub struct Document<'t> {
    parts: Vec<Part<'t>>,
    faults: RefCell<Vec<Fault>>,
}

struct Part<'t> {
    file: Cow<'t, str>,
    text: &'t str,
    /// Where the file's own text begins.
    start: usize,
}

impl<'t> Document<'t> {
    /// A file and its text.
    pub fn new(file: impl Into<String>, text: &'t str) -> Document<'t> {
        let part = Part { file: Cow::Owned(file.into()), text, start: 0 };
        Document { parts: vec![part], faults: RefCell::default() }
    }

    /// Several files, whose tables become one.
    pub fn of(sources: &'t [Source]) -> Document<'t> {
        let part = |source: &'t Source| Part {
            file: Cow::Borrowed(&source.file),
            text: &source.padded,
            start: source.start,
        };
        Document { parts: sources.iter().map(part).collect(), faults: RefCell::default() }
    }

    /// The files' tree; `None` (and faults) where one is no TOML.
    pub fn parse(&self) -> Option<DeTable<'t>> {
        let mut whole = DeTable::new();
        for part in &self.parts {
            let (tree, errors) = DeTable::parse_recoverable(part.text);
            for error in &errors {
                // The parser's messages are fixed sentences; only its `Display` quotes the line.
                let what = format!("this is not TOML: {}", error.message());
                let at = error.span().unwrap_or(part.start..part.start).start;
                self.push(at.max(part.start), what, String::new());
            }
            merge(self, &mut whole, tree.into_inner());
        }
        (!self.is_faulty()).then_some(whole)
    }

    /// The keys outside of any section.
    pub fn root<'d>(&'d self, table: &'d DeTable<'t>) -> Section<'d, 't> {
        Section::root(self, table)
    }

    /// Notes a fault at a place in the text.
    pub fn fault(&self, at: Range<usize>, what: impl Into<String>, meant: impl Into<String>) {
        self.push(at.start, what.into(), meant.into());
    }

    /// Notes a fault of another file that this one names.
    pub fn fault_elsewhere(&self, fault: Fault) {
        self.faults.borrow_mut().push(fault);
    }

    fn push(&self, at: usize, what: String, meant: String) {
        let (file, line) = (self.file(at).to_owned(), Some(self.line(at)));
        self.faults.borrow_mut().push(Fault { file, line, what, meant });
    }

    fn part(&self, at: usize) -> &Part<'t> {
        let begun = self.parts.iter().rev().find(|part| part.start <= at);
        // The first one begins at 0.
        begun.unwrap_or(&self.parts[0])
    }

    /// The file of a place.
    pub fn file(&self, at: usize) -> &str {
        &self.part(at).file
    }

    /// The directory of that file, to which its paths are relative.
    pub fn dir(&self, at: usize) -> &Path {
        Path::new(self.file(at)).parent().unwrap_or(Path::new(""))
    }

    /// The line of a place in its file, from 1.
    pub fn line(&self, at: usize) -> usize {
        let Part { text, start, .. } = self.part(at);
        let before = &text.as_bytes()[*start..at.clamp(*start, text.len())];
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// A place as it is told to someone who looks at another one: `line 7`, or with its file.
    pub fn seen_from(&self, at: usize, from: usize) -> String {
        match self.file(at) == self.file(from) {
            true => format!("line {}", self.line(at)),
            false => self.place(at),
        }
    }

    /// A place: file and line.
    pub fn place(&self, at: usize) -> String {
        format!("{}:{}", self.file(at), self.line(at))
    }

    /// Whether any fault was found.
    pub fn is_faulty(&self) -> bool {
        !self.faults.borrow().is_empty()
    }

    /// The faults found.
    pub fn into_faults(self) -> Vec<Fault> {
        self.faults.into_inner()
    }
}
