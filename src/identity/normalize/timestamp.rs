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

use super::calendar::civil_from_days;
use super::written_time::{FORM, HL7, hl7, rfc3339};
use super::{Answer, Input, Output, text_or};
use crate::identity::reject::{Reason, fault};

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

const YEARS: &str = "a time lies within the years 1970 to 2200 of UTC";
const FINER: &str = "a time is not finer than the recipe's precision";

impl Timestamp {
    pub fn apply(&self, input: Input<'_>, out: &mut Output) -> Answer {
        let written = match self.format {
            Format::Rfc3339 => {
                let text = text_or(input, fault!(Reason::Timestamp, FORM))?;
                rfc3339(text).ok_or(fault!(Reason::Timestamp, FORM))?
            }
            Format::Hl7 { zone_seconds } => {
                hl7(text_or(input, fault!(Reason::Timestamp, HL7))?, zone_seconds)?
            }
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
