//! Short codes with a grammar of their own: NDC, LOINC, UUID, and closed lists.

use super::text::Text;
use super::{Answer, Input, Output, text_or};
use crate::identity::reject::{Reason, fault};

/// National Drug Code to its 11 digits (21 CFR 207.33; 91 FR 10749 for the 12-digit form).
///
/// Eleven digits bare, or with hyphens 4-4-2, 5-3-2, 5-4-1, 5-4-2, or 6-4-2 that begins with 0.
/// Ten bare digits are three products at once and are refused (NDC-4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ndc {
    pub text: Text,
    /// Read blanks, and the hyphens and dashes of print, for `-`, as labels have them (NDC-7).
    pub printed: bool,
}

/// LOINC code: one to seven digits without a leading zero, a hyphen, the right check digit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Loinc {
    pub text: Text,
}

/// UUID in its hyphenated form (RFC 9562, section 4), printed in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Uuid;

/// One of the values that the recipe lists, letter by letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Enumeration {
    /// Sorted.
    pub values: Vec<Box<[u8]>>,
}

impl Ndc {
    pub fn apply(&self, input: Input<'_>, out: &mut Output) -> Answer {
        // Digits and hyphens alone are a text by any rule, and most codes are nothing else.
        if let Input::Text(text) = input
            && let Some(digits) = ndc11(text)
        {
            out.bytes.extend_from_slice(&digits);
            return Ok(());
        }
        let start = out.bytes.len();
        self.text.apply(input, out)?;
        if self.printed {
            plain_hyphens(start, &mut out.bytes);
        }
        let digits = ndc11(&out.bytes[start..]).ok_or(fault!(
            Reason::Ndc,
            "an NDC has 11 digits, or hyphens at 4-4-2, 5-3-2, 5-4-1, 5-4-2 or 6-4-2 that begins with 0",
        ))?;
        out.bytes.truncate(start);
        out.bytes.extend_from_slice(&digits);
        out.plain = true;
        Ok(())
    }
}

/// Puts `-` for each single blank, U+2010 to U+2015 and U+2212.
fn plain_hyphens(start: usize, bytes: &mut Vec<u8>) {
    let (mut read, mut write) = (start, start);
    while read < bytes.len() {
        let (byte, step) = match &bytes[read..] {
            [b' ', ..] => (b'-', 1),
            [0xE2, 0x80, 0x90..=0x95, ..] | [0xE2, 0x88, 0x92, ..] => (b'-', 3),
            [byte, ..] => (*byte, 1),
            [] => return,
        };
        bytes[write] = byte;
        (read, write) = (read + step, write + 1);
    }
    bytes.truncate(write);
}

/// Pads each segment to its place: labeler 5, product 4, package 2.
fn ndc11(text: &[u8]) -> Option<[u8; 11]> {
    let mut digits = [b'0'; 11];
    if let Ok(bare) = <&[u8; 11]>::try_from(text)
        && all_digits(bare)
    {
        return Some(*bare);
    }
    let hyphen = |at: usize| text.get(at) == Some(&b'-');
    // Where the product begins, and where the package does.
    let (labeler, product, package) = match text.len() {
        12 if hyphen(4) && hyphen(9) => (0..4, 5..9, 10..12),
        12 if hyphen(5) && hyphen(9) => (0..5, 6..9, 10..12),
        12 if hyphen(5) && hyphen(10) => (0..5, 6..10, 11..12),
        13 if hyphen(5) && hyphen(10) => (0..5, 6..10, 11..13),
        14 if hyphen(6) && hyphen(11) && text[0] == b'0' => (1..6, 7..11, 12..14),
        _ => return None,
    };
    digits[5 - labeler.len()..5].copy_from_slice(&text[labeler]);
    digits[9 - product.len()..9].copy_from_slice(&text[product]);
    digits[11 - package.len()..].copy_from_slice(&text[package]);
    all_digits(&digits).then_some(digits)
}

/// Looks at every byte whatever it finds, which the machine does in one step.
fn all_digits(digits: &[u8; 11]) -> bool {
    digits.iter().fold(true, |all, digit| all & digit.is_ascii_digit())
}

/// The terms that were published with a wrong check digit (user's guide, same page); all are
/// deprecated, none can be renamed.
const LOINC_EXCEPTIONS: [&str; 14] = [
    "11491-6", "11501-6", "5895-7", "5896-5", "5897-3", "5928-1", "6028-3", "6415-5", "6580-7",
    "6645-7", "6646-5", "6647-3", "6648-1", "6649-9",
];

const LOINC: &str = "a LOINC code is digits without a leading zero, a hyphen and one digit";
const LOINC_CHECK: &str = "the check digit of a LOINC code is right";

impl Loinc {
    pub fn apply(&self, input: Input<'_>, out: &mut Output) -> Answer {
        let start = out.bytes.len();
        self.text.apply(input, out)?;
        let [number @ .., b'-', check] = &out.bytes[start..] else {
            return Err(fault!(Reason::Loinc, LOINC));
        };
        if !(1..=7).contains(&number.len())
            || number[0] == b'0'
            || !number.iter().all(u8::is_ascii_digit)
            || !check.is_ascii_digit()
        {
            return Err(fault!(Reason::Loinc, LOINC));
        }
        if mod10(number) != check - b'0' {
            let code = &out.bytes[start..];
            if !LOINC_EXCEPTIONS.iter().any(|known| known.as_bytes() == code) {
                return Err(fault!(Reason::Loinc, LOINC_CHECK));
            }
            out.flag =
                Some("one of the fourteen codes that LOINC published with a wrong check digit");
        }
        Ok(())
    }
}

/// The check digit of LOINC (user's guide, "Calculating mod 10 check digits"): every second
/// digit from the right, beginning with the last, is doubled; the digits of all are summed.
fn mod10(number: &[u8]) -> u8 {
    let sum: u32 = number
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let digit = u32::from(digit - b'0');
            if place % 2 == 0 { digit * 2 / 10 + digit * 2 % 10 } else { digit }
        })
        .sum();
    ((10 - sum % 10) % 10) as u8
}

impl Uuid {
    pub fn apply(&self, input: Input<'_>, out: &mut Output) -> Answer {
        const RULE: &str = "a UUID has 32 hex digits in groups of 8-4-4-4-12";
        let text = text_or(input, fault!(Reason::Uuid, RULE))?;
        let fits = |(place, byte): (usize, &u8)| match place {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        };
        if text.len() != 36 || !text.iter().enumerate().all(fits) {
            return Err(fault!(Reason::Uuid, RULE));
        }
        out.bytes.extend(text.iter().map(u8::to_ascii_lowercase));
        Ok(())
    }
}

impl Enumeration {
    pub fn apply(&self, input: Input<'_>, out: &mut Output) -> Answer {
        const RULE: &str = "the value is one of those that the recipe lists";
        let text = text_or(input, fault!(Reason::Enum, RULE))?;
        if !self.values.iter().any(|value| value.as_ref() == text) {
            return Err(fault!(Reason::Enum, RULE));
        }
        out.bytes.extend_from_slice(text);
        Ok(())
    }
}
