//! Element strings: what is printed under a bar code, `(01)…(21)…`, and what a scanner sends.
//!
//! General Specifications, section 7.8. In a scanned string a value of variable length ends at
//! FNC1, which is transmitted as GS (U+001D), or at the end. Without any separator nothing tells
//! where a lot ends, so such a string is read only where its one variable value is the serial at
//! its end (P27).

use super::gs1_ais;
use super::gs1_keys::{Identifier, KEYS, Key, QUALIFIERS};
use crate::identity::reject::{Fault, Reason, fault};

const FORM: &str =
    "an element string has known application identifiers, each with a value of its length";
const END: &str = "an element string without separators cannot tell where a lot ends";
const ONE: &str = "an element string holds one GS1 key";
const GS: u8 = 0x1D;

/// Whether a text is to be read as an element string rather than as a URI.
pub(super) fn is_element_string(text: &[u8]) -> bool {
    matches!(text.first(), Some(b'(' | b']' | b'0'..=b'9' | &GS))
}

/// One application identifier with its value.
struct Element<'a> {
    ai: &'a [u8],
    value: &'a [u8],
}

pub(super) fn read(text: &[u8]) -> Result<Identifier, Fault> {
    let mut found = Found::default();
    match text {
        [b'(', ..] => bracketed(text, &mut found)?,
        _ => scanned(text, &mut found)?,
    }
    found.identifier()
}

/// The key and its qualifiers, whatever their order.
#[derive(Default)]
struct Found<'a> {
    key: Option<(Key, &'a [u8])>,
    qualifiers: [Option<&'a [u8]>; QUALIFIERS.len()],
}

impl<'a> Found<'a> {
    fn take(&mut self, element: Element<'a>) -> Result<(), Fault> {
        if let Some((key, ..)) = KEYS.iter().find(|(_, ai, _)| ai.as_bytes() == element.ai) {
            return match self.key.replace((*key, element.value)) {
                None => Ok(()),
                Some(_) => Err(fault!(Reason::Epc, ONE)),
            };
        }
        if let Some(at) = QUALIFIERS.iter().position(|(ai, _)| ai.as_bytes() == element.ai)
            && self.qualifiers[at].replace(element.value).is_some()
        {
            return Err(fault!(Reason::Epc, FORM));
        }
        Ok(())
    }

    fn identifier(&self) -> Result<Identifier, Fault> {
        let (key, value) = self.key.ok_or(fault!(Reason::Epc, ONE))?;
        let mut identifier = Identifier::new(key, value)?;
        for ((ai, _), value) in QUALIFIERS.iter().zip(self.qualifiers) {
            // On a logistic label the lot is that of what the unit holds.
            let of_contents = key == Key::Sscc && *ai == "10";
            if let Some(value) = value.filter(|_| !of_contents) {
                identifier.qualify(ai, value)?;
            }
        }
        Ok(identifier)
    }
}

/// Brackets hold application identifiers only; a value with a bracket of its own is refused.
fn bracketed<'a>(text: &'a [u8], found: &mut Found<'a>) -> Result<(), Fault> {
    for part in text.split(|b| *b == b'(').skip(1) {
        let close = part.iter().position(|b| *b == b')').ok_or(fault!(Reason::Epc, FORM))?;
        let (ai, value) = (&part[..close], &part[close + 1..]);
        let (length, form) = gs1_ais::begin(ai).ok_or(fault!(Reason::Epc, FORM))?;
        if length != ai.len() || value.contains(&b')') || !form.fits(value) {
            return Err(fault!(Reason::Epc, FORM));
        }
        found.take(Element { ai, value })?;
    }
    Ok(())
}

fn scanned<'a>(text: &'a [u8], found: &mut Found<'a>) -> Result<(), Fault> {
    let mut rest = text;
    let mut separators = text.contains(&GS);
    if let [b']', a, b, after @ ..] = rest {
        // Symbology identifiers of carriers that hold FNC1 (section 5.1.3).
        if !matches!(
            (a, b),
            (b'C', b'1') | (b'e', b'0') | (b'd', b'2') | (b'Q', b'3') | (b'J', b'1')
        ) {
            return Err(fault!(Reason::Epc, FORM));
        }
        (rest, separators) = (after, true);
    }
    rest = rest.strip_prefix(&[GS]).unwrap_or(rest);
    while !rest.is_empty() {
        let (length, form) = gs1_ais::begin(rest).ok_or(fault!(Reason::Epc, FORM))?;
        let (ai, after) = rest.split_at_checked(length).ok_or(fault!(Reason::Epc, FORM))?;
        let to_separator = || after.iter().position(|b| *b == GS).unwrap_or(after.len());
        let end = form.fixed().unwrap_or_else(to_separator);
        let (value, after) = after.split_at_checked(end).ok_or(fault!(Reason::Epc, FORM))?;
        if !separators && form.fixed().is_none() && ai != b"21" {
            return Err(fault!(Reason::Epc, END));
        }
        if !form.fits(value) {
            return Err(fault!(Reason::Epc, FORM));
        }
        found.take(Element { ai, value })?;
        rest = after.strip_prefix(&[GS]).unwrap_or(after);
    }
    Ok(())
}
