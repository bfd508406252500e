//! How times are written: the grammars of RFC 3339 and of HL7 version 2, byte by byte.
//!
//! What is read here is a time of the sender's clock with its zone; what becomes of it is the
//! timestamp normalizer's part. Nothing is filled up and nothing is assumed.

use super::calendar::days;
use crate::identity::reject::{Fault, Reason, fault};

/// A time as written: seconds of its own clock, a part of a second, and the zone.
pub(super) struct Written {
    pub seconds: i64,
    pub fraction: Fraction,
    pub offset_seconds: i64,
}

/// What stands behind the point of the seconds.
#[derive(Clone, Copy, Default)]
pub(super) struct Fraction {
    pub micros: i64,
    /// Digits beyond the sixth decimal were not all zero.
    pub finer: bool,
    /// The seventh decimal is 5 or more.
    pub upper_half: bool,
}

pub(super) const FORM: &str = "a time in the form of RFC 3339 with seconds and zone is due";
pub(super) const HL7: &str = "a time in the form of HL7 version 2 (YYYYMMDDHHMMSS) is due";
const HL7_ZONE: &str =
    "a time of HL7 version 2 has a zone, or the recipe states that of its source";
const HL7_COARSE: &str = "a time of HL7 version 2 is given to the second";
/// RFC 3339, section 5.6, with `t`, `z` and a blank for the `T` (section 5.6, note).
pub(super) fn rfc3339(text: &[u8]) -> Option<Written> {
    let (date_time, rest) = text.split_first_chunk::<19>()?;
    let [_, _, _, _, b'-', _, _, b'-', _, _, b'T' | b't' | b' ', _, _, b':', _, _, b':', _, _] =
        date_time
    else {
        return None;
    };
    let day = days(number(&text[0..4])?, number(&text[5..7])?, number(&text[8..10])?)?;
    let second = clock(number(&text[11..13])?, number(&text[14..16])?, number(&text[17..19])?)?;
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => decimals(rest)?,
        _ => (Fraction::default(), rest),
    };
    let offset_seconds = match rest {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => offset(*sign, &[*h1, *h2], &[*m1, *m2])?,
        _ => return None,
    };
    Some(Written { seconds: day * 86_400 + second, fraction, offset_seconds })
}

/// HL7 version 2.9, chapter 2A, DTM; the component behind `^` is the precision of the old TS.
pub(super) fn hl7(text: &[u8], zone_seconds: Option<i32>) -> Result<Written, Fault> {
    let fault = fault!(Reason::Timestamp, HL7);
    let coarse = fault!(Reason::Precision, HL7_COARSE);
    let text = match text {
        [text @ .., b'^', b'S'] => text,
        [_, .., b'^', b'Y' | b'L' | b'D' | b'H' | b'M'] => return Err(coarse),
        _ => text,
    };
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let (date_time, rest) = text.split_at(digits);
    match digits {
        14 => {}
        4 | 6 | 8 | 10 | 12 if rest.is_empty() || is_zone(rest) => return Err(coarse),
        _ => return Err(fault),
    }
    let part = |from: usize, to: usize| number(&date_time[from..to]).ok_or(fault);
    let day = days(part(0, 4)?, part(4, 6)?, part(6, 8)?).ok_or(fault)?;
    let second = clock(part(8, 10)?, part(10, 12)?, part(12, 14)?).ok_or(fault)?;
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => decimals(rest).ok_or(fault)?,
        _ => (Fraction::default(), rest),
    };
    let behind = text.len() - rest.len() - digits;
    let offset_seconds = match (rest, zone_seconds) {
        _ if behind > 5 => return Err(fault),
        ([], Some(zone)) => i64::from(zone),
        ([], None) => return Err(fault!(Reason::Timestamp, HL7_ZONE)),
        ([sign @ (b'+' | b'-'), h1, h2, m1, m2], _) => {
            offset(*sign, &[*h1, *h2], &[*m1, *m2]).ok_or(fault)?
        }
        _ => return Err(fault),
    };
    Ok(Written { seconds: day * 86_400 + second, fraction, offset_seconds })
}

fn is_zone(text: &[u8]) -> bool {
    matches!(text, [b'+' | b'-', rest @ ..] if rest.len() == 4 && rest.iter().all(u8::is_ascii_digit))
}

/// Reads the zone of a source, such as `-05:00`, as seconds ahead of UTC.
pub(crate) fn zone_seconds(text: &str) -> Option<i32> {
    match text.as_bytes() {
        b"Z" => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            i32::try_from(offset(*sign, &[*h1, *h2], &[*m1, *m2])?).ok()
        }
        _ => None,
    }
}

/// A number of ASCII digits only.
fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |n, d| d.is_ascii_digit().then(|| n * 10 + i64::from(d - b'0')))
}

fn clock(hour: i64, minute: i64, second: i64) -> Option<i64> {
    (hour < 24 && minute < 60 && second < 60).then_some(hour * 3600 + minute * 60 + second)
}

/// Offsets reach 14:00 on either side, as FHIR and EPCIS have it.
fn offset(sign: u8, hours: &[u8], minutes: &[u8]) -> Option<i64> {
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let seconds = hours * 3600 + minutes * 60;
    if minutes > 59 || seconds > 14 * 3600 {
        return None;
    }
    Some(if sign == b'-' { -seconds } else { seconds })
}

/// One digit or more behind the point, and the rest.
fn decimals(text: &[u8]) -> Option<(Fraction, &[u8])> {
    let count = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(count);
    if digits.is_empty() {
        return None;
    }
    let digit = |place: usize| digits.get(place).map_or(0, |d| i64::from(d - b'0'));
    let fraction = Fraction {
        micros: (0..6).fold(0, |micros, place| micros * 10 + digit(place)),
        finer: digits.iter().skip(6).any(|d| *d != b'0'),
        upper_half: digit(6) >= 5,
    };
    Some((fraction, rest))
}
