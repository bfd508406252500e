//! Times: one instant, one text, in UTC.
//!
//! Two formats. RFC 3339 section 5.6 with zone and seconds; `t`, `z` and a blank for the `T` are taken too.
//! A time without a zone, without seconds, a leap second, 24:00 and every other form of ISO 8601
//! are refused: readers disagree about them (C26, C27, ISO-3 to ISO-5). The text is parsed here,
//! byte by byte; no clock and no zone of the host has a part in it.
//!
//! HL7 version 2 DTM (and TS with its degree of precision): fourteen digits to the second, up to
//! four decimals, and a zone in the text or in the recipe. Coarser times are refused, since
//! filling them up would merge the results of a minute (HL7-1 to HL7-6).

use super::{Answer, Input, Output, text_or};
use crate::identity::reject::{Fault, Reason, fault};

/// The finest part of a second that a recipe keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Second,
    Millisecond,
    Microsecond,
}

/// What becomes of digits beyond the precision that are not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finer {
    /// The time is refused (`precision`).
    Refuse,
    /// The digits are cut, as the reference does (C04, C21, C25).
    Truncate,
    /// Half is rounded up, as the event hash of CBV 2.0 has it (section 8.9.2; ISO-7).
    RoundHalfUp,
}

/// How UTC is written at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// `2026-07-16T14:30:00Z`
    Z,
    /// `2026-07-16T14:30:00+00:00`
    Offset,
}

/// How a time is written by the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Rfc3339,
    /// The seconds that the sender's clock is ahead of UTC, for times without a zone.
    Hl7 {
        zone_seconds: Option<i32>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timestamp {
    pub format: Format,
    pub style: Style,
    pub precision: Precision,
    pub finer: Finer,
    /// Print as many decimals as the precision has; else none where they are zero, and six
    /// where they are not.
    pub all_decimals: bool,
}

/// A time as written: seconds of its own clock, a part of a second, and the zone.
struct Written {
    seconds: i64,
    fraction: Fraction,
    offset_seconds: i64,
}

/// What stands behind the point of the seconds.
#[derive(Clone, Copy, Default)]
struct Fraction {
    micros: i64,
    /// Digits beyond the sixth decimal were not all zero.
    finer: bool,
    /// The seventh decimal is 5 or more.
    upper_half: bool,
}

const FORM: &str = "a time in the form of RFC 3339 with seconds and zone is due";
const HL7: &str = "a time in the form of HL7 version 2 (YYYYMMDDHHMMSS) is due";
const HL7_ZONE: &str =
    "a time of HL7 version 2 has a zone, or the recipe states that of its source";
const HL7_COARSE: &str = "a time of HL7 version 2 is given to the second";
const YEARS: &str = "a time lies within the years 1970 to 2200 of UTC";
const FINER: &str = "a time is not finer than the recipe's precision";

impl Timestamp {
    pub fn apply(&self, input: Input<'_>, out: &mut Output) -> Answer {
        let written = match self.format {
            Format::Rfc3339 => {
                let text = text_or(input, fault!(Reason::Timestamp, FORM))?;
                rfc3339(text).ok_or(fault!(Reason::Timestamp, FORM))?
            }
            Format::Hl7 { zone_seconds } => hl7(
                text_or(input, fault!(Reason::Timestamp, HL7))?,
                zone_seconds,
            )?,
        };
        let unit = self.unit_micros();
        let beyond = written.fraction.micros % unit;
        let carry = match self.finer {
            Finer::Refuse if beyond != 0 || written.fraction.finer => {
                return Err(fault!(Reason::Precision, FINER));
            }
            Finer::Refuse | Finer::Truncate => 0,
            Finer::RoundHalfUp if unit == 1 => i64::from(written.fraction.upper_half),
            Finer::RoundHalfUp => i64::from(beyond * 2 >= unit) * unit,
        };
        let seconds = written.seconds - written.offset_seconds;
        out.micros = seconds * 1_000_000 + written.fraction.micros - beyond + carry;
        if !(0..=LAST_MICRO).contains(&out.micros) {
            return Err(fault!(Reason::Range, YEARS));
        }
        self.print(out.micros, &mut out.bytes);
        Ok(())
    }

    /// The precision in microseconds.
    fn unit_micros(&self) -> i64 {
        match self.precision {
            Precision::Second => 1_000_000,
            Precision::Millisecond => 1_000,
            Precision::Microsecond => 1,
        }
    }

    /// Prints an instant.
    fn print(&self, micros: i64, out: &mut Vec<u8>) {
        let (seconds, fraction) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
        let (year, month, day) = civil_from_days(seconds.div_euclid(86_400));
        let second = seconds.rem_euclid(86_400);
        let mut text = *b"0000-00-00T00:00:00";
        put(&mut text[0..4], year);
        put(&mut text[5..7], month);
        put(&mut text[8..10], day);
        put(&mut text[11..13], second / 3600);
        put(&mut text[14..16], second / 60 % 60);
        put(&mut text[17..19], second % 60);
        out.extend_from_slice(&text);
        let decimals = match (self.all_decimals, self.precision) {
            (true, Precision::Second) => 0,
            (true, Precision::Millisecond) => 3,
            (true, Precision::Microsecond) => 6,
            (false, _) if fraction == 0 => 0,
            (false, _) => 6,
        };
        if decimals > 0 {
            let mut text = *b".000000";
            put(&mut text[1..], fraction);
            out.extend_from_slice(&text[..=decimals]);
        }
        out.extend_from_slice(match self.style {
            Style::Z => b"Z",
            Style::Offset => b"+00:00",
        });
    }
}

/// Fills the digits from the right.
fn put(digits: &mut [u8], mut number: i64) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// The last microsecond of the year 2200.
const LAST_MICRO: i64 = 7_289_654_399_999_999;

fn rfc3339(text: &[u8]) -> Option<Written> {
    let (date_time, rest) = text.split_first_chunk::<19>()?;
    let [
        _,
        _,
        _,
        _,
        b'-',
        _,
        _,
        b'-',
        _,
        _,
        b'T' | b't' | b' ',
        _,
        _,
        b':',
        _,
        _,
        b':',
        _,
        _,
    ] = date_time
    else {
        return None;
    };
    let day = days(
        number(&text[0..4])?,
        number(&text[5..7])?,
        number(&text[8..10])?,
    )?;
    let second = clock(
        number(&text[11..13])?,
        number(&text[14..16])?,
        number(&text[17..19])?,
    )?;
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => decimals(rest)?,
        _ => (Fraction::default(), rest),
    };
    let offset_seconds = match rest {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => offset(*sign, &[*h1, *h2], &[*m1, *m2])?,
        _ => return None,
    };
    Some(Written {
        seconds: day * 86_400 + second,
        fraction,
        offset_seconds,
    })
}

/// HL7 version 2.9, chapter 2A, DTM; the component behind `^` is the precision of the old TS.
fn hl7(text: &[u8], zone_seconds: Option<i32>) -> Result<Written, Fault> {
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
    Ok(Written {
        seconds: day * 86_400 + second,
        fraction,
        offset_seconds,
    })
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
    digits.iter().try_fold(0, |n, d| {
        d.is_ascii_digit().then(|| n * 10 + i64::from(d - b'0'))
    })
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

/// Days since 1970-01-01 in the Gregorian calendar; `None` for a day that does not exist.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    // The year begins in March here, so that the leap day is its last.
    let (y, m) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let (era, year_of_era) = (y.div_euclid(400), y.rem_euclid(400));
    let day_of_year = (153 * m + 2) / 5 + day - 1;
    Some(
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year
            - 719_468,
    )
}

/// The inverse of [`days`]: year, month, day.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let m = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * m + 2) / 5 + 1;
    let month = if m < 10 { m + 3 } else { m - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}
