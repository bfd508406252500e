//! The position in the raw topic that clean and quarantine records name.
//! Must not be in here: other headers.

use crate::gate::RawRecord;
use serde::Serialize;
use std::fmt;

/// A raw position as the header `oncegate-source` tells it, its topic aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SourcePosition {
    /// Raw partition.
    pub partition: i32,
    /// Raw offset.
    pub offset: i64,
    /// Index of the event within its record.
    pub item: u32,
}

impl SourcePosition {
    /// Reads `topic/partition/offset` with or without `/item`.
    pub fn parse(text: &str) -> Option<(&str, SourcePosition)> {
        let mut parts = text.split('/');
        let topic = parts.next().filter(|topic| !topic.is_empty())?;
        let partition = parts.next()?.parse().ok()?;
        let offset = parts.next()?.parse().ok().filter(|offset: &i64| *offset >= 0)?;
        let item = match parts.next() {
            None => 0,
            Some(item) => item.parse().ok()?,
        };
        let position = SourcePosition { partition, offset, item };
        parts.next().is_none().then_some((topic, position))
    }

    /// `partition/offset`, with `/item` where the event is one item of its record.
    pub fn shown(self, itemized: bool) -> Shown {
        Shown { position: self, itemized }
    }
}

/// A position in words.
pub struct Shown {
    position: SourcePosition,
    itemized: bool,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SourcePosition { partition, offset, item } = self.position;
        match self.itemized {
            true => write!(f, "{partition}/{offset}/{item}"),
            false => write!(f, "{partition}/{offset}"),
        }
    }
}

/// The last header of this name, as text. What a raw record brought along under our names stands
/// renamed, so the last is oncegate's own.
pub fn header<'r>(record: &RawRecord<'r>, name: &str) -> Option<&'r str> {
    let found = record.headers.iter().rev().find(|header| header.name == name.as_bytes())?;
    std::str::from_utf8(found.value?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_positions_and_nothing_else() {
        let at = |partition, offset, item| SourcePosition { partition, offset, item };
        assert_eq!(SourcePosition::parse("a.b/3/17"), Some(("a.b", at(3, 17, 0))));
        assert_eq!(SourcePosition::parse("a.b/3/17/2"), Some(("a.b", at(3, 17, 2))));
        let shown = |itemized| at(3, 17, 0).shown(itemized).to_string();
        assert_eq!((shown(false), shown(true)), ("3/17".to_owned(), "3/17/0".to_owned()));
        for bad in ["", "a", "a/1", "/1/2", "a/1/-2", "a/x/2", "a/1/2/3/4", "a/1/2/"] {
            assert_eq!(SourcePosition::parse(bad), None, "{bad}");
        }
    }
}
