//! The options of each normalizer, from the keys of a field's table.
//!
//! Only names and defaults live here; what an option does stands with its normalizer.

use super::RecipeError;
use super::source::Section;
use crate::identity::normalize::{
    Case, Cbv, Decimal, Entry, Enumeration, Epc, EpcPart, Excess, Finer, Format, Gtin, Loinc,
    MAX_SPELLING, Ndc, Normalizer, Precision, Serial, Style, Text, Timestamp, Trim, Ucum, Unit,
    Unknown, Uuid, Vocabulary, zone_seconds,
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
    ("ucum", |s| Ok(Normalizer::Ucum(ucum(s)?))),
    ("epc", |s| Ok(Normalizer::Epc(epc(s)?))),
    ("serial", |_| Ok(Normalizer::Serial(Serial))),
    ("ndc", |s| Ok(Normalizer::Ndc(ndc(s)?))),
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

/// The names of all normalizers.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    NORMALIZERS.iter().map(|(name, _)| *name)
}

/// What the strict recipes have where the language has no default, for trying out.
const TRIED: [(&str, &str, &str); 4] = [
    ("decimal", "scale", "3"),
    ("cbv", "vocabulary", "\"bizstep\""),
    ("unit", "refuse", "[\"Mg\"]"),
    (
        "unit",
        "table",
        "{ EA = [\"ea\", \"each\"], ML = [\"ml\"], TAB = [\"tab\", \"tabs\", \"tablet\"], \
         CAP = [\"cap\", \"caps\", \"capsule\"], GM = [\"g\", \"gm\"], MG = [\"mg\"], \
         MCG = [\"mcg\", \"\u{B5}g\", \"\u{3BC}g\"] }",
    ),
];

/// One normalizer by its name and options written as TOML, for trying it out; where the language
/// has no default, that of the strict recipes is taken.
pub(crate) fn one(name: &str, options: &str) -> Built<Normalizer> {
    let given = super::source::Source { file: "options", text: options };
    let keys = given.parse()?;
    let mut text = format!("{options}\nnormalize = {name:?}\n");
    let given = |key: &str| keys.get_ref().iter().any(|(known, _)| known.get_ref() == key);
    for (_, key, value) in TRIED.iter().filter(|(of, key, _)| *of == name && !given(key)) {
        text.push_str(&format!("{key} = {value}\n"));
    }
    let source = super::source::Source { file: "options", text: &text };
    let document = source.parse()?;
    let mut section = Section::new(source, document.get_ref(), "this list of options", 0);
    let normalizer = normalizer(&mut section)?;
    section.finish()?;
    Ok(normalizer)
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
        drop_zeros: section.choice("zeros", &[("keep", false), ("drop", true)], false)?,
    })
}

fn timestamp(section: &mut Section<'_, '_>) -> Built<Timestamp> {
    let precisions = [
        ("second", Precision::Second),
        ("millisecond", Precision::Millisecond),
        ("microsecond", Precision::Microsecond),
    ];
    let finer = [
        ("refuse", Finer::Refuse),
        ("truncate", Finer::Truncate),
        ("round-half-up", Finer::RoundHalfUp),
    ];
    let hl7 = Format::Hl7 { zone_seconds: None };
    let mut format =
        section.choice("format", &[("rfc3339", Format::Rfc3339), ("hl7", hl7)], Format::Rfc3339)?;
    if let Some((zone, at)) = section.text("zone")? {
        match (format, zone_seconds(zone)) {
            (Format::Rfc3339, _) => {
                return section.error(at, "`zone` has a meaning with `format = \"hl7\"` only");
            }
            (_, None) => {
                return section.error(at, "`zone` must be an offset such as \"-05:00\", or \"Z\"");
            }
            (_, zone_seconds) => format = Format::Hl7 { zone_seconds },
        }
    }
    Ok(Timestamp {
        format,
        style: section.choice("style", &[("z", Style::Z), ("offset", Style::Offset)], Style::Z)?,
        precision: section.choice("precision", &precisions, Precision::Microsecond)?,
        finer: section.choice("finer", &finer, Finer::Refuse)?,
        all_decimals: section.choice(
            "decimals",
            &[("when-needed", false), ("all", true)],
            false,
        )?,
    })
}

fn unit(section: &mut Section<'_, '_>) -> Built<Unit> {
    let text = text(section)?;
    let fold = section.choice("spelling", &[("any-case", true), ("exact", false)], true)?;
    let refuse = section.texts("refuse")?.unwrap_or_default();
    let unknowns = [("refuse", Unknown::Refuse), ("upper", Unknown::Upper)];
    let unknown = section.choice("unknown", &unknowns, Unknown::Refuse)?;
    let Some(table) = table(section, fold)? else {
        return section.missing("table");
    };
    let mut refuse: Vec<Box<[u8]>> = refuse.iter().map(|(r, _)| r.as_bytes().into()).collect();
    refuse.sort();
    refuse.dedup();
    Ok(Unit { text, table, fold, refuse, unknown })
}

fn ucum(section: &mut Section<'_, '_>) -> Built<Ucum> {
    Ok(Ucum { text: Text::default(), table: table(section, false)?.unwrap_or_default() })
}

/// A table of tokens, each with its spellings, turned round and sorted for looking up.
fn table(section: &mut Section<'_, '_>, fold: bool) -> Built<Option<Vec<Entry>>> {
    let Some(mut tokens) = section.table("table", "the table of units")? else {
        return Ok(None);
    };
    let mut table: Vec<Entry> = Vec::new();
    for ((token, at), spellings) in tokens.lists()? {
        let fits = |b: u8| matches!(b, b'!'..=b'~') && !matches!(b, b'"' | b'\\' | b'|');
        if token.is_empty() || !token.bytes().all(fits) {
            let rule =
                "the token of a unit must be visible ASCII without blanks, quotes, `\\` and `|`";
            return tokens.error(at, rule);
        }
        for (spelling, at) in spellings {
            let folded = if fold { spelling.to_ascii_lowercase() } else { spelling.to_owned() };
            if folded.is_empty() || folded.len() > MAX_SPELLING {
                return tokens.error(at, "a spelling must have 1 to 64 bytes");
            }
            let other = |(known, of): &Entry| {
                known.as_ref() == folded.as_bytes() && of.as_ref() != token.as_bytes()
            };
            if table.iter().any(other) {
                return tokens.error(at, "this spelling belongs to two units");
            }
            table.push((folded.into_bytes().into(), token.as_bytes().into()));
        }
    }
    table.sort();
    table.dedup();
    Ok(Some(table))
}

fn ndc(section: &mut Section<'_, '_>) -> Built<Ndc> {
    let printed =
        section.choice("separators", &[("hyphen", false), ("as-printed", true)], false)?;
    Ok(Ndc { text: Text::default(), printed })
}

fn epc(section: &mut Section<'_, '_>) -> Built<Epc> {
    let parts = [("uri", EpcPart::Uri), ("gtin", EpcPart::Gtin), ("serial", EpcPart::Serial)];
    Ok(Epc { part: section.choice("part", &parts, EpcPart::Uri)? })
}

fn cbv(section: &mut Section<'_, '_>) -> Built<Cbv> {
    let vocabularies = [
        ("bizstep", Vocabulary::BizStep),
        ("disposition", Vocabulary::Disposition),
        ("biz-transaction-type", Vocabulary::BizTransactionType),
        ("source-destination-type", Vocabulary::SourceDestinationType),
        ("error-reason", Vocabulary::ErrorReason),
    ];
    if section.text("vocabulary")?.is_none() {
        return section.missing("vocabulary");
    }
    let vocabulary = section.choice("vocabulary", &vocabularies, Vocabulary::BizStep)?;
    let open = section.choice("namespace", &[("closed", false), ("open", true)], false)?;
    Ok(Cbv { text: Text::default(), vocabulary, open })
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
