//! oncegate's own headers: written in one buffer, put behind the raw ones, which cannot pass for
//! them.
//! Must not be in here: which headers a record gets.

use super::collected::Collected;
use super::output::{OWN_PREFIX, OutputRecord, RAW_PREFIX};
use super::place::Place;
use super::record::Header;
use std::borrow::Cow;
use std::fmt::Write;

/// Lower-case hexadecimal digits.
pub struct Hex<'a>(pub &'a [u8]);

impl Hex<'_> {
    /// Appends them.
    fn push(&self, text: &mut String) {
        // Writing to a `String` does not fail.
        let _ = self.write(|digits| {
            text.push_str(digits);
            Ok(())
        });
    }

    fn write(&self, mut write: impl FnMut(&str) -> std::fmt::Result) -> std::fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0u8; 64];
        for chunk in self.0.chunks(32) {
            for (nth, byte) in chunk.iter().enumerate() {
                text[2 * nth] = DIGITS[usize::from(byte >> 4)];
                text[2 * nth + 1] = DIGITS[usize::from(byte & 15)];
            }
            // Hexadecimal digits are ASCII.
            write(std::str::from_utf8(&text[..2 * chunk.len()]).unwrap_or_default())?;
        }
        Ok(())
    }
}

impl std::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.write(|digits| f.write_str(digits))
    }
}

/// The most that one record gets.
const OWN_HEADERS_MAX: usize = 10;

/// oncegate's own headers of one record: texts in one buffer, names with their ends.
pub(super) struct OwnHeaders<'a> {
    text: &'a mut String,
    ends: [(&'static str, usize); OWN_HEADERS_MAX],
    len: usize,
}

impl<'a> OwnHeaders<'a> {
    pub fn new(text: &'a mut String) -> OwnHeaders<'a> {
        OwnHeaders { text, ends: [("", 0); OWN_HEADERS_MAX], len: 0 }
    }

    pub fn add(&mut self, name: &'static str, value: std::fmt::Arguments<'_>) {
        // Writing to a `String` does not fail.
        let _ = self.text.write_fmt(value);
        self.end(name);
    }

    /// A text as it is. Each clean record has what this and the next two add, and formatting
    /// costs more than copying.
    pub fn add_text(&mut self, name: &'static str, text: &str) {
        self.text.push_str(text);
        self.end(name);
    }

    /// A hash, and what stands before it.
    pub fn add_hash(&mut self, name: &'static str, prefix: &str, hash: &[u8]) {
        self.text.push_str(prefix);
        Hex(hash).push(self.text);
        self.end(name);
    }

    /// Where a delivery stands.
    pub fn add_place(&mut self, name: &'static str, place: &Place, topic_partition: &str) {
        place.push(topic_partition, self.text);
        self.end(name);
    }

    fn end(&mut self, name: &'static str) {
        self.ends[self.len] = (name, self.text.len());
        self.len += 1;
    }

    /// What was added so far.
    pub fn each(&self) -> impl Iterator<Item = Header<'_>> {
        each(self.text, &self.ends[..self.len])
    }

    pub fn finish(self) -> FinishedHeaders<'a> {
        FinishedHeaders { text: self.text, ends: self.ends, len: self.len }
    }
}

/// The same, written.
pub(super) struct FinishedHeaders<'a> {
    text: &'a str,
    ends: [(&'static str, usize); OWN_HEADERS_MAX],
    len: usize,
}

impl<'a> FinishedHeaders<'a> {
    fn each(&self) -> impl Iterator<Item = Header<'a>> {
        each(self.text, &self.ends[..self.len])
    }

    pub fn headers(&self) -> Vec<Header<'a>> {
        self.each().collect()
    }
}

fn each<'t>(text: &'t str, ends: &[(&'static str, usize)]) -> impl Iterator<Item = Header<'t>> {
    let mut from = 0;
    ends.iter().map(move |(name, end)| {
        let value = &text.as_bytes()[from..*end];
        from = *end;
        Header { name: name.as_bytes(), value: Some(value) }
    })
}

/// Puts the raw headers before our own, renames those that would pass for ours, and sends.
pub(super) fn with_headers<E>(
    collected: &Collected,
    record: usize,
    own: &FinishedHeaders<'_>,
    output: OutputRecord<'_>,
    sink: &mut dyn FnMut(&OutputRecord<'_>) -> Result<(), E>,
) -> Result<(), E> {
    const NO_HEADER: Header<'static> = Header { name: b"", value: None };
    let raw = collected.headers(record);
    if raw.len() == 0 {
        let mut headers = [NO_HEADER; OWN_HEADERS_MAX];
        let mut len = 0;
        for header in own.each() {
            headers[len] = header;
            len += 1;
        }
        return sink(&OutputRecord { headers: &headers[..len], ..output });
    }
    let names: Vec<Option<String>> = raw.map(|header| kept_name(header.name)).collect();
    let renamed = collected.headers(record).zip(&names).map(|(header, name)| Header {
        name: name.as_deref().map_or(header.name, str::as_bytes),
        value: header.value,
    });
    let headers: Vec<Header<'_>> = renamed.chain(own.each()).collect();
    sink(&OutputRecord { headers: &headers, ..output })
}

/// The name under which a raw header is kept, where it is not its own: one that would pass for
/// ours, and one that is not UTF-8 (then its bytes in hexadecimal digits).
fn kept_name(name: &[u8]) -> Option<String> {
    match std::str::from_utf8(name) {
        Ok(name) => name.strip_prefix(OWN_PREFIX).map(|rest| format!("{RAW_PREFIX}{rest}")),
        Err(_) => Some(format!("{RAW_PREFIX}name-{}", hex::encode(name))),
    }
}

/// The name that a kept raw header had: undoes [`kept_name`], apart from names that are not UTF-8,
/// which no client writes. Those stay as they are kept.
pub fn raw_name(kept: &[u8]) -> Cow<'_, [u8]> {
    let Some(rest) = kept.strip_prefix(RAW_PREFIX.as_bytes()) else { return Cow::Borrowed(kept) };
    let bytes = rest.strip_prefix(b"name-").and_then(|digits| hex::decode(digits).ok());
    match bytes.is_some_and(|bytes| std::str::from_utf8(&bytes).is_err()) {
        true => Cow::Borrowed(kept),
        false => Cow::Owned([OWN_PREFIX.as_bytes(), rest].concat()),
    }
}
