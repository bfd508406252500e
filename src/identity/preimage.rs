//! The canonical identity: normalized fields to the bytes whose SHA-256 is the event key.
//!
//! Two encodings, byte for byte those of the vectors: a tuple joined by `|`, and JSON as
//! Python's `json.dumps(sort_keys=True, separators=(",", ":"))` writes it. Nothing is hashed and
//! nothing is normalized here.

use super::item_order::Place;
use super::normalize::push_integer;
use super::recipe::{Encoding, FieldRef, Origin, Part};
use super::reject::{Fault, Reason, fault};

/// What stands for one field of the identity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub form: Form,
    /// The span in the normalizers' bytes.
    pub start: u32,
    pub end: u32,
    /// Microseconds since 1970 where the value is a time.
    pub micros: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    Absent,
    /// ASCII that JSON takes as it is.
    Plain,
    /// Text that JSON may have to escape.
    Text,
    /// JSON already: a list.
    Json,
}

impl Value {
    pub const ABSENT: Value = Value { form: Form::Absent, start: 0, end: 0, micros: 0 };

    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.start as usize..self.end as usize]
    }
}

/// Appends a span of a text. Most spans are short, and copying sixteen bytes of which some are cut
/// off again is quicker than copying so many as there are.
#[inline(always)]
pub(crate) fn push_span(text: &[u8], start: usize, end: usize, out: &mut Vec<u8>) {
    match text.get(start..).and_then(|rest| rest.first_chunk::<16>()) {
        Some(chunk) if end - start <= 16 => {
            let len = out.len() + end - start;
            out.extend_from_slice(chunk);
            out.truncate(len);
        }
        _ => out.extend_from_slice(&text[start..end]),
    }
}

/// The separator of a tuple; no field of a tuple can hold it, or two events could share a key
/// (C18).
pub(crate) const SEPARATOR: u8 = b'|';

pub(crate) fn check_separator(bytes: &[u8]) -> Result<(), Fault> {
    match bytes.contains(&SEPARATOR) {
        true => Err(fault!(Reason::Separator, "a field of a tuple must not hold `|`",)),
        false => Ok(()),
    }
}

/// Appends a value as a JSON string in ASCII.
pub(crate) fn push_json(form: Form, value: &[u8], out: &mut Vec<u8>) {
    if form == Form::Json {
        out.extend_from_slice(value);
        return;
    }
    out.push(b'"');
    if form == Form::Plain {
        out.extend_from_slice(value);
    } else {
        // Normalizers write UTF-8 only, so nothing is lost here.
        for c in String::from_utf8_lossy(value).chars() {
            push_escaped(c, out);
        }
    }
    out.push(b'"');
}

/// One character by Python's `ensure_ascii`: short escapes where JSON has them, else `\uXXXX` in
/// lower case, pairs of surrogates beyond the basic plane, DEL too (C12).
fn push_escaped(c: char, out: &mut Vec<u8>) {
    let short = match c {
        '"' => b'"',
        '\\' => b'\\',
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\u{8}' => b'b',
        '\u{C}' => b'f',
        ' '..='~' => {
            out.push(c as u8);
            return;
        }
        _ => {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                push_unit(*unit, out);
            }
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

pub(crate) fn push_unit(unit: u16, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let digit = |shift: u16| HEX[usize::from(unit >> shift & 15)];
    out.extend_from_slice(&[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
}

/// Writes the parts of an identity.
pub(crate) struct Encoder<'a> {
    pub encoding: Encoding,
    /// The normalizers' bytes.
    pub bytes: &'a [u8],
    pub record: &'a [Value],
    /// The rest of the event as JSON, where it is part of the identity.
    pub rest: &'a [u8],
    pub list: Option<List<'a>>,
}

/// The items of a record, to be written in an order.
pub(crate) struct List<'a> {
    pub order: &'a [Place],
    /// The values of all items, one item behind the other.
    pub values: &'a [Value],
    pub parts: &'a [Part],
}

impl Encoder<'_> {
    /// Appends the parts that are there; `item` are the values of the item at hand.
    pub fn parts(
        &self,
        parts: &[Part],
        item: &[Value],
        occurrence: Option<i64>,
        out: &mut Vec<u8>,
    ) {
        let json = self.encoding == Encoding::Json;
        if json {
            out.push(b'{');
        }
        let mut first = true;
        for part in parts {
            let value = match part.origin {
                Origin::Field(at) => value_of(at, self.record, item),
                Origin::Occurrence if occurrence.is_none() => Value::ABSENT,
                Origin::Occurrence | Origin::Items | Origin::Rest => {
                    Value { form: Form::Plain, ..Value::ABSENT }
                }
            };
            if value.form == Form::Absent {
                continue;
            }
            // A label begins with what parts it from the value before.
            push_span(&part.label, usize::from(first), part.label_len, out);
            first = false;
            match (part.origin, occurrence) {
                (Origin::Items, _) => self.list(out),
                (Origin::Rest, _) => out.extend_from_slice(self.rest),
                (Origin::Occurrence, Some(number)) => self.number(number, out),
                _ if json && value.form != Form::Plain => {
                    push_json(value.form, value.bytes(self.bytes), out)
                }
                _ if json => {
                    out.push(b'"');
                    push_span(self.bytes, value.start as usize, value.end as usize, out);
                    out.push(b'"');
                }
                _ => out.extend_from_slice(value.bytes(self.bytes)),
            }
        }
        if json {
            out.push(b'}');
        }
    }

    /// A number is a text like every value of an identity.
    fn number(&self, number: i64, out: &mut Vec<u8>) {
        let quote: &[u8] = if self.encoding == Encoding::Json { b"\"" } else { b"" };
        out.extend_from_slice(quote);
        push_integer(number, out);
        out.extend_from_slice(quote);
    }

    fn list(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        if let Some(list) = &self.list {
            let width = list.values.len() / list.order.len().max(1);
            for (place, item) in list.order.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                let values = &list.values[item.index as usize * width..][..width];
                self.parts(list.parts, values, None, out);
            }
        }
        out.push(b']');
    }
}

pub(crate) fn value_of(at: FieldRef, record: &[Value], item: &[Value]) -> Value {
    match at {
        FieldRef::Record(index) => record[index],
        FieldRef::Item(index) => item[index],
    }
}
