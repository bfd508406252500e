//! The layout: in which order the normalized fields stand in the bytes that are hashed.
//!
//! It is worked out once from the recipe, so that deriving a key only copies. It holds no values.

use super::{Encoding, Field, FieldRef, Granularity, Items};

/// Where a part of the identity comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Field(FieldRef),
    /// The list of all items.
    Items,
    /// The number of an item among its equals.
    Occurrence,
}

/// One part: what is written before the value, and the value's origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// JSON: `"name":`. Tuple: nothing, or `name=` for an optional field.
    pub label: Box<[u8]>,
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
        fields: &[Field],
        items: Option<&Items>,
    ) -> Layout {
        let record = named(fields, FieldRef::Record);
        let Some(items) = items else {
            return Layout { record: arranged(encoding, record), item: Vec::new() };
        };
        let mut item = named(&items.fields, FieldRef::Item);
        match granularity {
            Granularity::Record => {
                let mut record = record;
                record.push((items.name.as_str(), false, Origin::Items));
                Layout { record: arranged(encoding, record), item: arranged(encoding, item) }
            }
            Granularity::Items => {
                item.splice(0..0, record);
                if let Some(occurrence) = &items.occurrence {
                    item.push((occurrence.as_str(), true, Origin::Occurrence));
                }
                Layout { record: Vec::new(), item: arranged(encoding, item) }
            }
        }
    }
}

type Named<'a> = (&'a str, bool, Origin);

fn named(fields: &[Field], at: fn(usize) -> FieldRef) -> Vec<Named<'_>> {
    let each = fields.iter().enumerate();
    each.map(|(i, field)| (field.name.as_str(), field.optional, Origin::Field(at(i)))).collect()
}

/// JSON sorts by name; a tuple puts what may be absent, by name, behind what is always there.
fn arranged(encoding: Encoding, mut parts: Vec<Named<'_>>) -> Vec<Part> {
    match encoding {
        Encoding::Json => parts.sort_by(|a, b| a.0.cmp(b.0)),
        Encoding::Tuple => parts.sort_by_key(|(_, optional, _)| *optional),
    }
    let label = |name: &str, optional: bool| match (encoding, optional) {
        (Encoding::Json, _) => format!("\"{name}\":"),
        (Encoding::Tuple, true) => format!("{name}="),
        (Encoding::Tuple, false) => String::new(),
    };
    let part = |(name, optional, origin): Named<'_>| Part {
        label: label(name, optional).into_bytes().into(),
        origin,
    };
    parts.into_iter().map(part).collect()
}
