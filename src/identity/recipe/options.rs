//! The options of each normalizer, from the keys of a field's table.
//!
//! Only names and defaults live here; what an option does stands with its normalizer.

use super::RecipeError;
use super::source::Section;
use crate::identity::normalize::{
    Case, Cbv, Decimal, Entry, Enumeration, Excess, Finer, Gtin, Loinc, MAX_SPELLING, Ndc,
    Normalizer, Precision, Serial, Style, Text, Timestamp, Trim, Unit, Unknown, Uuid, Vocabulary,
};

type Built<T> = Result<T, RecipeError>;

type Builder = fn(&mut Section<'_, '_>) -> Built<Normalizer>;

/// Every normalizer by its name in a recipe.
const NORMALIZERS: &[(&str, Builder)] = &[
    ("text", |s| Ok(Normalizer::Text(text(s)?))),
    ("decimal", |s| Ok(Normalizer::Decimal(decimal(s)?))),
    ("timestamp", |s| Ok(Normalizer::Timestamp(timestamp(s)?))),
    ("unit", |s| Ok(Normalizer::Unit(unit(s)?))),
    ("gtin", |s| {
        Ok(Normalizer::Gtin(Gtin { check_digit: s.flag("check_digit")?.unwrap_or(true) }))
    }),
    ("serial", |_| Ok(Normalizer::Serial(Serial))),
    ("ndc", |_| Ok(Normalizer::Ndc(Ndc::default()))),
    ("cbv", |s| Ok(Normalizer::Cbv(cbv(s)?))),
    ("loinc", |_| Ok(Normalizer::Loinc(Loinc::default()))),
    ("uuid", |_| Ok(Normalizer::Uuid(Uuid))),
    ("enum", |s| Ok(Normalizer::Enum(enumeration(s)?))),
];

/// Reads the normalizer that a field's table names, with its options.
pub(super) fn normalizer(section: &mut Section<'_, '_>) -> Built<Normalizer> {
    if section.text("normalize")?.is_none() {
        return section.missing("normalize");
    }
    let first = NORMALIZERS[0].1;
    section.choice("normalize", NORMALIZERS, first)?(section)
}

fn text(section: &mut Section<'_, '_>) -> Built<Text> {
    let trims = [("unicode", Trim::Unicode), ("python", Trim::Python), ("none", Trim::None)];
    Ok(Text {
        trim: section.choice("trim", &trims, Trim::Unicode)?,
        compose: section.choice("form", &[("nfc", true), ("as-sent", false)], true)?,
        any_character: section.choice("characters", &[("visible", false), ("any", true)], false)?,
        allow_empty: section.choice("empty", &[("refuse", false), ("allow", true)], false)?,
        case: section.choice(
            "case",
            &[("keep", Case::Keep), ("upper", Case::Upper)],
            Case::Keep,
        )?,
    })
}

fn decimal(section: &mut Section<'_, '_>) -> Built<Decimal> {
    let excesses = [("refuse", Excess::Refuse), ("round-half-up", Excess::RoundHalfUp)];
    Ok(Decimal {
        scale: match section.number("scale", 0, 18)? {
            Some(scale) => scale as u8,
            None => return section.missing("scale"),
        },
        excess: section.choice("excess", &excesses, Excess::Refuse)?,
        keep_zero_sign: section.choice("zero_sign", &[("drop", false), ("keep", true)], false)?,
    })
}

fn timestamp(section: &mut Section<'_, '_>) -> Built<Timestamp> {
    let precisions = [
        ("second", Precision::Second),
        ("millisecond", Precision::Millisecond),
        ("microsecond", Precision::Microsecond),
    ];
    Ok(Timestamp {
        style: section.choice("style", &[("z", Style::Z), ("offset", Style::Offset)], Style::Z)?,
        precision: section.choice("precision", &precisions, Precision::Microsecond)?,
        finer: section.choice(
            "finer",
            &[("refuse", Finer::Refuse), ("truncate", Finer::Truncate)],
            Finer::Refuse,
        )?,
    })
}

fn unit(section: &mut Section<'_, '_>) -> Built<Unit> {
    let text = text(section)?;
    let fold = section.choice("spelling", &[("any-case", true), ("exact", false)], true)?;
    let refuse = section.texts("refuse")?.unwrap_or_default();
    let unknown = section.choice(
        "unknown",
        &[("refuse", Unknown::Refuse), ("upper", Unknown::Upper)],
        Unknown::Refuse,
    )?;
    let Some(mut tokens) = section.table("table", "the table of units")? else {
        return section.missing("table");
    };
    let mut table: Vec<Entry> = Vec::new();
    for ((token, at), spellings) in tokens.lists()? {
        if token.is_empty()
            || !token.bytes().all(|b| matches!(b, b'!'..=b'~') && !matches!(b, b'"' | b'\\' | b'|'))
        {
            return tokens.error(
                at,
                "the token of a unit must be visible ASCII without blanks, quotes, `\\` and `|`",
            );
        }
        for (spelling, at) in spellings {
            let folded = if fold { spelling.to_ascii_lowercase() } else { spelling.to_owned() };
            if folded.is_empty() || folded.len() > MAX_SPELLING {
                return tokens.error(at, "a spelling must have 1 to 64 bytes");
            }
            if table.iter().any(|(known, of)| {
                known.as_ref() == folded.as_bytes() && of.as_ref() != token.as_bytes()
            }) {
                return tokens.error(at, "this spelling belongs to two units");
            }
            table.push((folded.into_bytes().into(), token.as_bytes().into()));
        }
    }
    table.sort();
    table.dedup();
    let mut refuse: Vec<Box<[u8]>> = refuse.iter().map(|(r, _)| r.as_bytes().into()).collect();
    refuse.sort();
    refuse.dedup();
    Ok(Unit { text, table, fold, refuse, unknown })
}

fn cbv(section: &mut Section<'_, '_>) -> Built<Cbv> {
    let vocabularies = [("bizstep", Vocabulary::BizStep), ("disposition", Vocabulary::Disposition)];
    if section.text("vocabulary")?.is_none() {
        return section.missing("vocabulary");
    }
    let vocabulary = section.choice("vocabulary", &vocabularies, Vocabulary::BizStep)?;
    Ok(Cbv { text: Text::default(), vocabulary })
}

fn enumeration(section: &mut Section<'_, '_>) -> Built<Enumeration> {
    let Some(values) = section.texts("values")? else {
        return section.missing("values");
    };
    let plain =
        |value: &str| value.bytes().all(|b| matches!(b, b' '..=b'~') && !matches!(b, b'"' | b'\\'));
    if let Some((_, at)) = values.iter().find(|(value, _)| value.is_empty() || !plain(value)) {
        return section.error(*at, "a value must be visible ASCII without quotes and `\\`");
    }
    let mut values: Vec<Box<[u8]>> =
        values.iter().map(|(value, _)| value.as_bytes().into()).collect();
    values.sort();
    values.dedup();
    match values.is_empty() {
        true => section.error(section.at, "`values` must list at least one value"),
        false => Ok(Enumeration { values }),
    }
}
