//! What each normalizer's options are, in a fixed form, for the fingerprint of a recipe.
//!
//! Every structure is taken apart by name, so that a new option does not compile until it is
//! added here. Numbers that stand for a choice never change.

use super::{
    Case, Cbv, Decimal, Enumeration, Epc, EpcPart, Excess, Finer, Format, Gtin, Loinc, Ndc,
    Normalizer, Precision, Serial, Style, Text, Timestamp, Trim, Ucum, Unit, Unknown, Uuid,
    Vocabulary,
};

/// One fact about a normalizer.
pub(crate) enum Fact<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

type Tell<'t> = dyn FnMut(Fact<'_>) + 't;

fn number(tell: &mut Tell<'_>, number: impl Into<u64>) {
    tell(Fact::Number(number.into()));
}

impl Normalizer {
    /// Tells the kind of the normalizer and all its options.
    pub fn facts(&self, tell: &mut Tell<'_>) {
        match self {
            Normalizer::Text(n) => {
                number(tell, 0u8);
                text(n, tell);
            }
            Normalizer::Decimal(n) => decimal(n, tell),
            Normalizer::Timestamp(n) => timestamp(n, tell),
            Normalizer::Unit(n) => unit(n, tell),
            Normalizer::Ucum(Ucum { text: t, table: spellings }) => {
                number(tell, 4u8);
                text(t, tell);
                table(spellings, tell);
            }
            Normalizer::Gtin(Gtin { check_digit }) => {
                number(tell, 5u8);
                number(tell, *check_digit);
            }
            Normalizer::Serial(Serial) => number(tell, 6u8),
            Normalizer::Ndc(Ndc { text: t, printed }) => {
                number(tell, 7u8);
                text(t, tell);
                number(tell, *printed);
            }
            Normalizer::Cbv(n) => cbv(n, tell),
            Normalizer::Loinc(Loinc { text: t }) => {
                number(tell, 9u8);
                text(t, tell);
            }
            Normalizer::Uuid(Uuid) => number(tell, 10u8),
            Normalizer::Enum(Enumeration { values }) => {
                number(tell, 11u8);
                number(tell, values.len() as u64);
                values.iter().for_each(|value| tell(Fact::Bytes(value)));
            }
            Normalizer::Epc(Epc { part }) => {
                number(tell, 12u8);
                number(
                    tell,
                    match part {
                        EpcPart::Uri => 0u8,
                        EpcPart::Gtin => 1,
                        EpcPart::Serial => 2,
                    },
                );
            }
        }
    }
}

fn text(text: &Text, tell: &mut Tell<'_>) {
    let Text { trim, compose, any_character, allow_empty, case } = text;
    number(
        tell,
        match trim {
            Trim::None => 0u8,
            Trim::Unicode => 1,
            Trim::Python => 2,
        },
    );
    number(tell, *compose);
    number(tell, *any_character);
    number(tell, *allow_empty);
    number(
        tell,
        match case {
            Case::Keep => 0u8,
            Case::Upper => 1,
        },
    );
}

fn decimal(decimal: &Decimal, tell: &mut Tell<'_>) {
    let Decimal { scale, excess, keep_zero_sign, drop_zeros } = decimal;
    number(tell, 1u8);
    number(tell, *scale);
    number(
        tell,
        match excess {
            Excess::Refuse => 0u8,
            Excess::RoundHalfUp => 1,
        },
    );
    number(tell, *keep_zero_sign);
    number(tell, *drop_zeros);
}

fn timestamp(timestamp: &Timestamp, tell: &mut Tell<'_>) {
    let Timestamp { format, style, precision, finer, all_decimals } = timestamp;
    number(tell, 2u8);
    match format {
        Format::Rfc3339 => number(tell, 0u8),
        Format::Hl7 { zone_seconds: None } => number(tell, 1u8),
        Format::Hl7 { zone_seconds: Some(zone) } => {
            number(tell, 2u8);
            // Zones reach from -14 to +14 hours, so the sum is never negative.
            number(tell, zone.wrapping_add(1 << 20).cast_unsigned());
        }
    }
    number(
        tell,
        match style {
            Style::Z => 0u8,
            Style::Offset => 1,
        },
    );
    number(
        tell,
        match precision {
            Precision::Second => 0u8,
            Precision::Millisecond => 1,
            Precision::Microsecond => 2,
        },
    );
    number(
        tell,
        match finer {
            Finer::Refuse => 0u8,
            Finer::Truncate => 1,
            Finer::RoundHalfUp => 2,
        },
    );
    number(tell, *all_decimals);
}

fn unit(unit: &Unit, tell: &mut Tell<'_>) {
    let Unit { text: t, table: spellings, fold, refuse, unknown } = unit;
    number(tell, 3u8);
    text(t, tell);
    table(spellings, tell);
    number(tell, *fold);
    number(tell, refuse.len() as u64);
    refuse.iter().for_each(|spelling| tell(Fact::Bytes(spelling)));
    number(
        tell,
        match unknown {
            Unknown::Refuse => 0u8,
            Unknown::Upper => 1,
        },
    );
}

fn table(table: &[super::Entry], tell: &mut Tell<'_>) {
    number(tell, table.len() as u64);
    for (spelling, token) in table {
        tell(Fact::Bytes(spelling));
        tell(Fact::Bytes(token));
    }
}

fn cbv(cbv: &Cbv, tell: &mut Tell<'_>) {
    let Cbv { text: t, vocabulary, open } = cbv;
    number(tell, 8u8);
    text(t, tell);
    number(
        tell,
        match vocabulary {
            Vocabulary::BizStep => 0u8,
            Vocabulary::Disposition => 1,
            Vocabulary::BizTransactionType => 2,
            Vocabulary::SourceDestinationType => 3,
            Vocabulary::ErrorReason => 4,
        },
    );
    number(tell, *open);
}
