//! The canonical identity: normalized fields to the bytes whose SHA-256 is the event key.
//!
//! Two encodings, byte for byte those of the vectors: a tuple joined by `|`, and JSON as
//! Python's `json.dumps(sort_keys=True, separators=(",", ":"))` writes it. Nothing is hashed and
//! nothing is normalized here.

use super::reject::{Fault, Reason};

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
}

impl Value {
    pub const ABSENT: Value = Value { form: Form::Absent, start: 0, end: 0, micros: 0 };

    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.start as usize..self.end as usize]
    }
}

/// The separator of a tuple; no field of a tuple can hold it, or two events could share a key
/// (C18).
pub(crate) const SEPARATOR: u8 = b'|';

pub(crate) fn check_separator(bytes: &[u8]) -> Result<(), Fault> {
    match bytes.contains(&SEPARATOR) {
        true => Err(Fault::new(Reason::Separator, "a field of a tuple does not hold `|`")),
        false => Ok(()),
    }
}

/// Appends a value as a JSON string in ASCII.
pub(crate) fn push_json(form: Form, value: &[u8], out: &mut Vec<u8>) {
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
