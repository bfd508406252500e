//! Identifiers of GS1: the GTIN and the serial number.
//!
//! GS1 General Specifications: section 7.9 (check digit), 7.11 (character set 82), application
//! identifiers (01) and (21). A GTIN is a text; a number has lost its zeros and is refused.

use super::{Answer, Input, Output, text_or};
use crate::identity::reject::{Reason, fault};

/// Text of 8, 12, 13 or 14 digits with a right check digit, padded to 14.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gtin {
    /// Verify the check digit; off only for keys that exist already.
    pub check_digit: bool,
}

/// Application identifier (21): 1 to 20 characters of set 82, case kept, never trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Serial;

const GTIN: &str = "a GTIN is a text of 8, 12, 13 or 14 digits";
const CHECK: &str = "the check digit of a GTIN is right";
const SERIAL: &str = "a serial has 1 to 20 characters of GS1 character set 82";

impl Gtin {
    pub fn apply(&self, input: Input<'_>, out: &mut Output) -> Answer {
        let text = text_or(input, fault!(Reason::Gtin, GTIN))?;
        if !matches!(text.len(), 8 | 12 | 13 | 14) || !text.iter().all(u8::is_ascii_digit) {
            return Err(fault!(Reason::Gtin, GTIN));
        }
        if self.check_digit && !check_digit_is_right(text) {
            return Err(fault!(Reason::Gtin, CHECK));
        }
        out.bytes.resize(out.bytes.len() + 14 - text.len(), b'0');
        out.bytes.extend_from_slice(text);
        Ok(())
    }
}

/// The digit that makes [`check_digit_is_right`] true of digits that lack it.
pub(super) fn check_digit(digits: &[u8]) -> u8 {
    let weighted = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| u32::from(digit - b'0') * if place % 2 == 0 { 3 } else { 1 });
    b'0' + ((10 - weighted.sum::<u32>() % 10) % 10) as u8
}

/// Weights 3 and 1 in turn, from the digit before the check digit leftwards; the sum of all
/// digits so weighted is a multiple of ten (General Specifications 7.9.1).
pub(super) fn check_digit_is_right(digits: &[u8]) -> bool {
    let weighted =
        |(place, digit): (usize, &u8)| u32::from(digit - b'0') * if place % 2 == 1 { 3 } else { 1 };
    digits.iter().rev().enumerate().map(weighted).sum::<u32>() % 10 == 0
}

impl Serial {
    pub fn apply(&self, input: Input<'_>, out: &mut Output) -> Answer {
        let text = text_or(input, fault!(Reason::Serial, SERIAL))?;
        if !(1..=20).contains(&text.len()) || !text.iter().copied().all(in_set_82) {
            return Err(fault!(Reason::Serial, SERIAL));
        }
        out.plain = !text.contains(&b'"');
        out.bytes.extend_from_slice(text);
        Ok(())
    }
}

/// GS1 AI encodable character set 82: letters, digits, and 20 signs.
pub(super) fn in_set_82(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'!' | b'"' | b'%'..=b'/' | b':'..=b'?' | b'_')
}
