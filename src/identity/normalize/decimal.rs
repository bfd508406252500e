//! Decimal numbers at a fixed scale, read digit by digit from their own text.
//!
//! The grammar is that of a JSON number (RFC 8259, section 6) plus leading zeros; `1_000`, `+5`,
//! `.5`, `5.`, digits outside ASCII and blanks are refused (C07, P47). No float and no other
//! number type ever holds the value, so nothing is lost whatever its length (P31).

use super::{Answer, Input, Output};
use crate::identity::reject::{Fault, Reason};

/// What becomes of decimals beyond the scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    /// The number is refused (`scale`), even where the digits beyond are zeros.
    Refuse,
    /// Half is rounded away from zero, as Python's `ROUND_HALF_UP` does.
    RoundHalfUp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    /// Decimals printed, always exactly so many.
    pub scale: u8,
    pub excess: Excess,
    /// Print `-0.000` where the number was negative, as Python does (C06).
    pub keep_zero_sign: bool,
}

/// Digits of the printed number in all, before and behind the point.
pub(crate) const MAX_DIGITS: u8 = 28;

/// A number taken apart: its value is `0.d₀d₁d₂… × 10^point`, with `d₀` not zero.
struct Parts<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    /// Leading zeros of `whole` and `fraction` in one row.
    skip: usize,
    point: i64,
    decimals: i64,
}

impl Decimal {
    pub fn apply(&self, input: Input<'_>, out: &mut Output) -> Answer {
        let (Input::Text(text) | Input::Number(text)) = input else {
            return Err(Fault::new(Reason::NotNumber, GRAMMAR));
        };
        let parts = parse(text).ok_or(Fault::new(Reason::NotNumber, GRAMMAR))?;
        let scale = i64::from(self.scale);
        if parts.decimals > scale && self.excess == Excess::Refuse {
            return Err(Fault::new(Reason::Scale, "a number has no more decimals than the scale"));
        }
        if parts.point > i64::from(MAX_DIGITS) - scale {
            return Err(Fault::new(Reason::Range, RANGE));
        }
        let start = out.bytes.len();
        out.bytes.push(b'-');
        self.print(&parts, out);
        if parts.digit(parts.point + scale) >= b'5' {
            self.round_up(start + 1, out)?;
        }
        let zero = out.bytes[start + 1..].iter().all(|b| matches!(b, b'0' | b'.'));
        if !parts.negative || (zero && !self.keep_zero_sign) {
            out.bytes.remove(start);
        }
        Ok(())
    }

    /// Prints the digits down to the scale; what stands beyond is left for rounding.
    fn print(&self, parts: &Parts<'_>, out: &mut Output) {
        if parts.point <= 0 {
            out.bytes.push(b'0');
        }
        for index in 0..parts.point {
            out.bytes.push(parts.digit(index));
        }
        if self.scale > 0 {
            out.bytes.push(b'.');
        }
        for decimal in 0..i64::from(self.scale) {
            out.bytes.push(parts.digit(parts.point + decimal));
        }
    }

    fn round_up(&self, start: usize, out: &mut Output) -> Answer {
        for byte in out.bytes[start..].iter_mut().rev() {
            match byte {
                b'.' => {}
                b'9' => *byte = b'0',
                _ => {
                    *byte += 1;
                    return Ok(());
                }
            }
        }
        out.bytes.insert(start, b'1');
        let point = usize::from(self.scale > 0);
        match out.bytes.len() - start - point > usize::from(MAX_DIGITS) {
            true => Err(Fault::new(Reason::Range, RANGE)),
            false => Ok(()),
        }
    }
}

const GRAMMAR: &str = "a decimal number in the form of JSON is due";
const RANGE: &str = "a number has at most 28 digits in all";

impl Parts<'_> {
    /// The digit at a place counted from the first significant one; zero outside.
    fn digit(&self, index: i64) -> u8 {
        let Some(index) = usize::try_from(index).ok().and_then(|i| i.checked_add(self.skip)) else {
            return b'0';
        };
        let behind = index.wrapping_sub(self.whole.len());
        self.whole.get(index).or_else(|| self.fraction.get(behind)).copied().unwrap_or(b'0')
    }
}

fn parse(text: &[u8]) -> Option<Parts<'_>> {
    let (negative, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let (whole, rest) = take_digits(rest)?;
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => take_digits(rest)?,
        _ => (&rest[..0], rest),
    };
    let exponent = match rest {
        [] => 0,
        [b'e' | b'E', rest @ ..] => exponent(rest)?,
        _ => return None,
    };
    let zeros = |digits: &[u8]| digits.iter().take_while(|b| **b == b'0').count();
    let mut skip = zeros(whole);
    if skip == whole.len() {
        skip += zeros(fraction);
    }
    let digits = (whole.len() + fraction.len()) as i64;
    let decimals = fraction.len() as i64 - exponent;
    let significant = digits - skip as i64;
    // Zero has no first digit: its point is put where nothing is printed before it.
    let point = if significant == 0 { 0 } else { significant - decimals };
    Some(Parts { negative, whole, fraction, skip, point, decimals })
}

/// One digit or more, and what follows them.
fn take_digits(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let count = text.iter().take_while(|b| b.is_ascii_digit()).count();
    (count > 0).then(|| text.split_at(count))
}

/// The exponent, which stops growing where any number has left the range long since.
fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let (digits, []) = take_digits(digits)? else {
        return None;
    };
    let size = digits.iter().fold(0i64, |n, d| (n * 10 + i64::from(d - b'0')).min(1 << 40));
    Some(if negative { -size } else { size })
}
