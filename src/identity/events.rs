//! The answers of a [`Deriver`](super::Deriver): one for each event of a record.
//!
//! Values only; how they come about is in `derive`.

use super::hash::{ContentDigest, EventKey};
use super::preimage::{Form, Value, value_of};
use super::recipe::{PrefixPart, Recipe};
use super::reject::Rejection;
use std::fmt;
use std::ops::Range;

/// The answers for one record, in the order of the document.
#[derive(Clone, Copy)]
pub struct Events<'d> {
    pub(crate) answers: &'d [Result<Derived, Rejection>],
    pub(crate) prefixes: &'d str,
}

/// What is kept of an event; the prefix is a span of the deriver's text.
#[derive(Clone, Debug)]
pub(crate) struct Derived {
    pub key: EventKey,
    pub digest: ContentDigest,
    pub event_time_micros: Option<i64>,
    pub prefix: Range<usize>,
    pub item: Option<ItemSpan>,
    pub occurrence: Option<u32>,
}

/// One event of a record.
#[derive(Clone, PartialEq, Eq)]
pub struct Event<'d> {
    /// The identity.
    pub key: EventKey,
    /// The content beside it.
    pub digest: ContentDigest,
    /// Microseconds since 1970-01-01T00:00:00Z; `None` where the recipe has no event time.
    pub event_time_micros: Option<i64>,
    /// What stands before the 64 hex digits when the key is written as text; may be empty. It can
    /// hold values of the document.
    pub prefix: &'d str,
    /// Where the event lies in the payload, in granularity `items` only.
    pub item: Option<ItemSpan>,
    /// Its number among equal items of the record, from 1; `None` where the recipe numbers none.
    /// It is part of the key: see [`Deriver::derive_numbered`](super::Deriver::derive_numbered).
    pub occurrence: Option<u32>,
}

/// Byte ranges in the payload: replacing `array` by `[`, the bytes of `element` and `]` gives a
/// document that holds this one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemSpan {
    /// The element itself.
    pub element: Range<usize>,
    /// The whole array, both brackets included.
    pub array: Range<usize>,
}

impl<'d> Events<'d> {
    /// How many answers there are; never 0.
    #[allow(
        clippy::len_without_is_empty,
        reason = "a record never has no event: that is a rejection"
    )]
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// The answers in the order of the document.
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = Result<Event<'d>, &'d Rejection>> + use<'d> {
        let prefixes = self.prefixes;
        self.answers.iter().map(move |answer| match answer {
            Err(rejection) => Err(rejection),
            Ok(derived) => Ok(Event {
                key: derived.key,
                digest: derived.digest,
                event_time_micros: derived.event_time_micros,
                prefix: &prefixes[derived.prefix.clone()],
                item: derived.item.clone(),
                occurrence: derived.occurrence,
            }),
        })
    }
}

/// Shows the answers without the prefixes, which can hold values of the document.
impl fmt::Debug for Events<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.answers).finish()
    }
}

/// Shows the event without its prefix, which can hold values of the document.
impl fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("key", &self.key)
            .field("digest", &self.digest)
            .field("event_time_micros", &self.event_time_micros)
            .field("item", &self.item)
            .field("occurrence", &self.occurrence)
            .finish_non_exhaustive()
    }
}

impl Event<'_> {
    /// The key as text: the prefix and 64 hex digits.
    pub fn key_text(&self) -> String {
        format!("{}{}", self.prefix, self.key)
    }
}

/// The first of the event time's fields that is there.
pub(crate) fn event_time(recipe: &Recipe, record: &[Value], item: &[Value]) -> Option<i64> {
    let mut values = recipe.event_time.iter().map(|at| value_of(*at, record, item));
    values.find(|value| value.form != Form::Absent).map(|value| value.micros)
}

/// Appends the prefix of an event; the span of it.
pub(crate) fn push_prefix(
    recipe: &Recipe,
    record: &[Value],
    item: &[Value],
    bytes: &[u8],
    out: &mut String,
) -> Range<usize> {
    let start = out.len();
    for part in &recipe.prefix {
        match part {
            PrefixPart::Literal(text) => out.push_str(text),
            PrefixPart::Field(at) => {
                // Normalizers write UTF-8 only, so nothing is lost here.
                out.push_str(&String::from_utf8_lossy(value_of(*at, record, item).bytes(bytes)));
            }
        }
    }
    start..out.len()
}
