//! The tape: what the reader found, as flat vectors of spans.
//!
//! A token's text lies in the payload, or, where it was written with escapes, decoded in the
//! tape's own `decoded` bytes. Members of an object are sorted by name (bytes of UTF-8, which is
//! the order of code points), so that names can be looked up and written in canonical order.

use super::shapes::Shapes;
use std::cmp::Ordering;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    False,
    True,
    Number,
    /// A string without escapes: its span, without the quotes, lies in the payload.
    Text,
    /// A string with escapes: its span lies in the decoded bytes.
    Decoded,
    /// A scalar that was normalized in place: its span lies in the normalizers' bytes.
    Normalized,
    Array,
    Object,
}

/// What the recipe says about a token; it steers the canonical content, never the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Stands literally in the canonical content.
    Literal,
    /// Left out: its meaning is in the identity already, or the recipe ignores it.
    LeftOut,
    /// An array whose order means nothing.
    Unordered,
    /// The array of items of a record: its content is written apart, in the order of the items.
    Items,
    /// Where the remainder is part of the identity: left out there, but part of the content.
    Aside,
}

/// One value of the document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub kind: Kind,
    pub mark: Mark,
    /// Scalars: where the text begins. Containers: where the bracket stands in the payload.
    pub start: u32,
    /// The end of the text, or one past the closing bracket.
    pub end: u32,
    /// Containers: the first child in `members` or `elements`.
    pub first: u32,
    /// Containers: the number of children.
    pub count: u32,
    /// Objects: the id of their shape; 0 where it is not known. Objects of one id have the same
    /// names in the same order.
    pub shape: u32,
}

/// One member of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// The first eight bytes of the name, big endian, padded with zeros: decides most comparisons.
    pub prefix: u64,
    pub start: u32,
    pub end: u32,
    /// The name was written with escapes: its span lies in the decoded bytes.
    pub decoded: bool,
    /// Room for the place in the document, while the members are sorted.
    pub place: u16,
    /// The token of the value.
    pub value: u32,
}

/// The document as the reader found it.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    pub tokens: Vec<Token>,
    pub members: Vec<Member>,
    pub elements: Vec<u32>,
    pub decoded: Vec<u8>,
    pub(super) open_members: Vec<Member>,
    pub(super) open_elements: Vec<u32>,
    pub(super) shapes: Shapes,
}

impl Tape {
    pub(super) fn clear(&mut self) {
        self.tokens.clear();
        self.members.clear();
        self.elements.clear();
        self.decoded.clear();
        self.open_members.clear();
        self.open_elements.clear();
        self.shapes.begin();
    }

    /// Grows when the ids of shapes begin anew.
    pub fn epoch(&self) -> u32 {
        self.shapes.epoch
    }

    pub fn token(&self, index: u32) -> Token {
        self.tokens[index as usize]
    }

    pub fn set_mark(&mut self, index: u32, mark: Mark) {
        self.tokens[index as usize].mark = mark;
    }

    /// The members of an object, sorted by name; nothing for any other kind.
    pub fn members_of(&self, token: Token) -> &[Member] {
        match token.kind {
            Kind::Object => {
                &self.members[token.first as usize..(token.first + token.count) as usize]
            }
            _ => &[],
        }
    }

    /// The elements of an array in their order; nothing for any other kind.
    pub fn elements_of(&self, token: Token) -> &[u32] {
        match token.kind {
            Kind::Array => {
                &self.elements[token.first as usize..(token.first + token.count) as usize]
            }
            _ => &[],
        }
    }

    /// The text of a string or number.
    pub fn text<'a>(&'a self, payload: &'a [u8], token: Token) -> &'a [u8] {
        let from = if token.kind == Kind::Decoded { &self.decoded } else { payload };
        &from[token.start as usize..token.end as usize]
    }

    /// The name of a member.
    pub fn name<'a>(&'a self, payload: &'a [u8], member: &Member) -> &'a [u8] {
        name_in(&self.decoded, payload, member)
    }

    /// The value that a pointer's segments lead to.
    pub fn at(&self, payload: &[u8], root: u32, segments: &[String]) -> Option<u32> {
        segments.iter().try_fold(root, |at, segment| {
            let (token, name) = (self.token(at), segment.as_bytes());
            match token.kind {
                Kind::Object => self.find(payload, token, prefix_of(name), name),
                Kind::Array => {
                    let index = index_of(segment)?;
                    self.elements_of(token).get(index).copied()
                }
                _ => None,
            }
        })
    }

    /// Whether nothing is in a value: `null`, `""`, `[]` or `{}`.
    pub fn is_empty(&self, index: u32) -> bool {
        let token = self.token(index);
        match token.kind {
            Kind::Null => true,
            Kind::Text | Kind::Decoded | Kind::Normalized => token.start == token.end,
            Kind::Array | Kind::Object => token.count == 0,
            Kind::Number | Kind::True | Kind::False => false,
        }
    }

    /// Puts a normalized text in the place of a value.
    pub fn replace(&mut self, index: u32, start: u32, end: u32) {
        let token = &mut self.tokens[index as usize];
        (token.kind, token.start, token.end) = (Kind::Normalized, start, end);
    }

    /// The value of a member by its name.
    pub fn find(&self, payload: &[u8], object: Token, prefix: u64, name: &[u8]) -> Option<u32> {
        self.members_of(object)
            .iter()
            .find(|m| compare_names((m.prefix, self.name(payload, m)), (prefix, name)).is_eq())
            .map(|m| m.value)
    }
}

/// Borrows the two sources of names apart, so that members can be sorted in place.
pub(super) fn name_in<'a>(decoded: &'a [u8], payload: &'a [u8], member: &Member) -> &'a [u8] {
    let from = if member.decoded { decoded } else { payload };
    &from[member.start as usize..member.end as usize]
}

/// A segment of a pointer as the index of an element (RFC 6901, section 4).
pub(crate) fn index_of(segment: &str) -> Option<usize> {
    let canonical = segment == "0" || !segment.starts_with('0');
    let digits = segment.bytes().all(|b| b.is_ascii_digit());
    if canonical && digits { segment.parse().ok() } else { None }
}

/// [`prefix_of`] a span, with one load where eight bytes are there: the bytes behind the name are
/// masked away.
#[inline]
pub(super) fn prefix_at(bytes: &[u8], start: usize, end: usize) -> u64 {
    match bytes.get(start..).and_then(|rest| rest.first_chunk::<8>()) {
        Some(chunk) if end - start >= 8 => u64::from_be_bytes(*chunk),
        Some(_) if end == start => 0,
        Some(chunk) => u64::from_be_bytes(*chunk) & (u64::MAX << (64 - 8 * (end - start))),
        None => prefix_of(&bytes[start..end]),
    }
}

/// Compares two names of which the prefixes are known, by their bytes.
#[inline]
pub(crate) fn compare_names(a: (u64, &[u8]), b: (u64, &[u8])) -> Ordering {
    // Where the prefixes are equal and no name is longer, the shorter one is the lesser: what
    // fills it up in the prefix are zeros.
    a.0.cmp(&b.0).then_with(|| match (a.1.get(8..), b.1.get(8..)) {
        (Some(a), Some(b)) => a.cmp(b),
        _ => a.1.len().cmp(&b.1.len()),
    })
}

/// The first eight bytes of a name, so that most comparisons are one of two numbers.
pub(crate) fn prefix_of(name: &[u8]) -> u64 {
    if let Some(first) = name.first_chunk::<8>() {
        return u64::from_be_bytes(*first);
    }
    let mut bytes = [0; 8];
    bytes[..name.len()].copy_from_slice(name);
    u64::from_be_bytes(bytes)
}
