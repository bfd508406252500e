//! Element strings: what is printed under a bar code, `(01)…(21)…`, and what a scanner sends.
//!
//! General Specifications, section 7.8. In a scanned string a value of variable length ends at
//! FNC1, which is transmitted as GS (U+001D), or at the end. Without any separator nothing tells
//! where a lot ends, so such a string is read only where its one variable value is the serial at
//! its end (P27).

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
            if let Some(value) = value {
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
        let (length, shape) = shape_of(ai).ok_or(fault!(Reason::Epc, FORM))?;
        if length != ai.len() || value.contains(&b')') || !shape.fits(value) {
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
        let (length, shape) = shape_of(rest).ok_or(fault!(Reason::Epc, FORM))?;
        let (ai, after) = rest.split_at_checked(length).ok_or(fault!(Reason::Epc, FORM))?;
        let end = match shape {
            Shape::Fixed(width) => width,
            Shape::UpTo(_) => after.iter().position(|b| *b == GS).unwrap_or(after.len()),
        };
        let (value, after) = after.split_at_checked(end).ok_or(fault!(Reason::Epc, FORM))?;
        if !separators && matches!(shape, Shape::UpTo(_)) && ai != b"21" {
            return Err(fault!(Reason::Epc, END));
        }
        if !shape.fits(value) {
            return Err(fault!(Reason::Epc, FORM));
        }
        found.take(Element { ai, value })?;
        rest = after.strip_prefix(&[GS]).unwrap_or(after);
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Shape {
    /// Digits, exactly so many.
    Fixed(usize),
    /// At least one character and at most so many.
    UpTo(usize),
}

impl Shape {
    fn fits(self, value: &[u8]) -> bool {
        match self {
            Shape::Fixed(width) => value.len() == width && value.iter().all(u8::is_ascii_digit),
            Shape::UpTo(longest) => {
                (1..=longest).contains(&value.len())
                    && value.iter().all(|b| matches!(b, b'!'..=b'~'))
            }
        }
    }
}

/// The application identifier that a text begins with: its length, and the shape of its value.
fn shape_of(text: &[u8]) -> Option<(usize, Shape)> {
    let two = text.first_chunk::<2>()?;
    let third = text.get(2).copied().unwrap_or(0);
    let four = text.get(..4).filter(|ai| ai.iter().all(u8::is_ascii_digit));
    Some(match two {
        b"00" => (2, Shape::Fixed(18)),
        b"01" | b"02" => (2, Shape::Fixed(14)),
        b"10" | b"21" | b"22" => (2, Shape::UpTo(20)),
        b"11" | b"12" | b"13" | b"15" | b"16" | b"17" => (2, Shape::Fixed(6)),
        b"20" => (2, Shape::Fixed(2)),
        b"30" | b"37" => (2, Shape::UpTo(8)),
        b"23" if third == b'5' => (3, Shape::UpTo(28)),
        b"24" if matches!(third, b'0' | b'1') => (3, Shape::UpTo(30)),
        b"25" => match third {
            b'0' | b'1' | b'3' => (3, Shape::UpTo(30)),
            b'4' => (3, Shape::UpTo(20)),
            b'5' => (3, Shape::UpTo(25)),
            _ => return None,
        },
        b"31" | b"32" | b"33" | b"34" | b"35" | b"36" => four.map(|_| (4, Shape::Fixed(6)))?,
        b"40" if matches!(third, b'0' | b'1' | b'3') => (3, Shape::UpTo(30)),
        b"40" if third == b'2' => (3, Shape::UpTo(17)),
        b"41" if matches!(third, b'0'..=b'7') => (3, Shape::Fixed(13)),
        b"42" if third == b'0' => (3, Shape::UpTo(20)),
        b"80" => match four? {
            b"8003" | b"8004" | b"8010" => (4, Shape::UpTo(30)),
            b"8006" | b"8017" | b"8018" => (4, Shape::UpTo(18)),
            b"8011" => (4, Shape::UpTo(12)),
            b"8013" => (4, Shape::UpTo(25)),
            b"8019" => (4, Shape::UpTo(10)),
            _ => return None,
        },
        [b'9', b'0'..=b'9'] => (2, Shape::UpTo(90)),
        _ => return None,
    })
}
