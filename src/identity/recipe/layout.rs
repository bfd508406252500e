//! The layout: in which order the normalized fields stand in the bytes that are hashed.
//!
//! It is worked out once from the recipe, so that deriving a key only copies. It holds no values.

use super::{Encoding, FieldRef, Granularity, Items, Scope};

/// Where a part of the identity comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Field(FieldRef),
    /// The list of all items.
    Items,
    /// The number of an item among its equals.
    Occurrence,
    /// All that no other part speaks of.
    Rest,
}

/// One part: what is written before the value, and the value's origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// JSON: `,"name":`. Tuple: `|`, with `name=` for an optional field.
    /// Filled up to at least 32 bytes, for copying.
    pub label: Box<[u8]>,
    pub label_len: usize,
    pub origin: Origin,
}

/// The parts of the identity of a record, and those of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Granularity `record`: the record's own parts. Granularity `items`: nothing.
    pub record: Vec<Part>,
    /// Granularity `record`: the parts of one item in the list. Granularity `items`: all parts
    /// of one event.
    pub item: Vec<Part>,
}

impl Layout {
    pub(super) fn new(
        granularity: Granularity,
        encoding: Encoding,
        record: &Scope,
        items: Option<&Items>,
    ) -> Layout {
        let mut own = named(record, FieldRef::Record);
        let Some(items) = items else {
            return Layout { record: arranged(encoding, own), item: Vec::new() };
        };
        let mut item = named(&items.scope, FieldRef::Item);
        match granularity {
            Granularity::Record => {
                own.push((items.name.as_str(), false, Origin::Items));
                Layout { record: arranged(encoding, own), item: arranged(encoding, item) }
            }
            Granularity::Items => {
                item.splice(0..0, own);
                if let Some(occurrence) = &items.occurrence {
                    item.push((occurrence.as_str(), true, Origin::Occurrence));
                }
                Layout { record: Vec::new(), item: arranged(encoding, item) }
            }
        }
    }
}

/// Name, whether it may be absent, origin.
type Named<'a> = (&'a str, bool, Origin);

fn named(scope: &Scope, at: fn(usize) -> FieldRef) -> Vec<Named<'_>> {
    let fields = scope.fields.iter().enumerate();
    let fields =
        fields.map(|(i, field)| (field.name.as_str(), field.optional, Origin::Field(at(i))));
    fields.chain(scope.rest.as_deref().map(|name| (name, false, Origin::Rest))).collect()
}

/// JSON sorts by name; a tuple puts what may be absent, by name, behind what is always there.
fn arranged(encoding: Encoding, mut parts: Vec<Named<'_>>) -> Vec<Part> {
    match encoding {
        Encoding::Json => parts.sort_by(|a, b| a.0.cmp(b.0)),
        Encoding::Tuple => parts.sort_by_key(|(_, optional, _)| *optional),
    }
    let label = |name: &str, optional: bool| match (encoding, optional) {
        (Encoding::Json, _) => format!(",\"{name}\":"),
        (Encoding::Tuple, true) => format!("|{name}="),
        (Encoding::Tuple, false) => "|".to_owned(),
    };
    let part = |(name, optional, origin): Named<'_>| {
        let mut label = label(name, optional).into_bytes();
        let label_len = label.len();
        label.resize(label_len + 32, 0);
        Part { label: label.into(), label_len, origin }
    };
    parts.into_iter().map(part).collect()
}
