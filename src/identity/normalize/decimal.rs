//! Decimal numbers at a fixed scale, read digit by digit from their own text.
//!
//! The grammar is that of a JSON number (RFC 8259, section 6) plus leading zeros; `1_000`, `+5`,
//! `.5`, `5.`, digits outside ASCII and blanks are refused (C07, P47). No float and no other
//! number type ever holds the value, so nothing is lost whatever its length (P31).

use super::{Answer, Input, Output};
use crate::identity::reject::{Reason, fault};

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
    /// Print no zeros at the end of the decimals; zeros beyond the scale are then no decimals.
    pub drop_zeros: bool,
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
            return Err(fault!(Reason::NotNumber, GRAMMAR));
        };
        let parts = parse(text).ok_or(fault!(Reason::NotNumber, GRAMMAR))?;
        let scale = i64::from(self.scale);
        let beyond =
            if self.drop_zeros { parts.decimals - parts.zeros_at_end() } else { parts.decimals };
        if beyond > scale && self.excess == Excess::Refuse {
            return Err(fault!(Reason::Scale, "more decimals than the scale keeps",));
        }
        if parts.point > i64::from(MAX_DIGITS) - scale {
            return Err(fault!(Reason::Range, RANGE));
        }
        let start = out.bytes.len();
        let sign = usize::from(parts.negative);
        if parts.negative {
            out.bytes.push(b'-');
        }
        if parts.is_plain() && parts.decimals <= scale {
            self.copy(&parts, out);
        } else {
            self.print(&parts, out);
        }
        if parts.decimals > scale && parts.digit(parts.point + scale) >= b'5' {
            self.round_up(start + sign, out)?;
        }
        if self.drop_zeros && self.scale > 0 {
            drop_zeros(start + sign, &mut out.bytes);
        }
        if parts.negative && !self.keep_zero_sign && is_zero(&out.bytes[start + 1..]) {
            out.bytes.remove(start);
        }
        Ok(())
    }

    /// The same as printing, for the common number that has no exponent and no decimals beyond
    /// the scale.
    fn copy(&self, parts: &Parts<'_>, out: &mut Output) {
        match parts.whole.get(parts.skip..) {
            Some(whole) if !whole.is_empty() => out.bytes.extend_from_slice(whole),
            _ => out.bytes.push(b'0'),
        }
        if self.scale > 0 {
            out.bytes.push(b'.');
            out.bytes.extend_from_slice(parts.fraction);
            const ZEROS: [u8; 32] = [b'0'; 32];
            let missing = usize::from(self.scale) - parts.fraction.len();
            out.bytes.extend_from_slice(&ZEROS[..missing]);
        }
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
            true => Err(fault!(Reason::Range, RANGE)),
            false => Ok(()),
        }
    }
}

fn is_zero(digits: &[u8]) -> bool {
    digits.iter().all(|b| matches!(b, b'0' | b'.'))
}

/// Takes the zeros off the end of decimals, and the point with the last of them.
fn drop_zeros(start: usize, bytes: &mut Vec<u8>) {
    while bytes.len() > start + 1 && bytes.ends_with(b"0") {
        bytes.pop();
    }
    if bytes.ends_with(b".") {
        bytes.pop();
    }
}

const GRAMMAR: &str = "a decimal number in the form of JSON is due";
const RANGE: &str = "a number has at most 28 digits in all";

impl Parts<'_> {
    /// It was written without an exponent.
    fn is_plain(&self) -> bool {
        self.decimals == self.fraction.len() as i64
    }

    /// Zeros at the end of all digits as written; for zero itself, all of its decimals.
    fn zeros_at_end(&self) -> i64 {
        let digits = self.whole.iter().chain(self.fraction);
        let zeros = digits.rev().take_while(|b| **b == b'0').count();
        match zeros == self.whole.len() + self.fraction.len() {
            true => self.decimals.max(0),
            false => zeros as i64,
        }
    }

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

/// Appends a JSON number so that equal values are equal texts: significant digits and, where it
/// is not zero, the power of ten of the last (`26.0` is `26`, `0.05` is `5e-2`). An exponent of
/// more digits than anyone means is left as it was sent.
pub(crate) fn push_number_by_value(text: &[u8], out: &mut Vec<u8>) {
    let exponent_digits = text.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let has_exponent = text.iter().any(|b| matches!(b, b'e' | b'E'));
    let Some(parts) = parse(text).filter(|_| !has_exponent || exponent_digits < 10) else {
        out.extend_from_slice(text);
        return;
    };
    let all = parts.whole.len() + parts.fraction.len();
    if parts.skip == all {
        out.push(b'0');
        return;
    }
    if parts.negative {
        out.push(b'-');
    }
    let zeros = parts.zeros_at_end();
    let digits = parts.whole.iter().chain(parts.fraction).skip(parts.skip);
    out.extend(digits.take(all - parts.skip - zeros as usize));
    let power = zeros - parts.decimals;
    if power != 0 {
        out.push(b'e');
        push_integer(power, out);
    }
}

/// Appends a whole number in decimal.
pub(crate) fn push_integer(number: i64, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    let (mut digits, mut at, mut rest) = ([0; 20], 20, number.unsigned_abs());
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
