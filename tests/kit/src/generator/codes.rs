//! Codes with right check digits and lengths: LOINC, GTIN, NDC, UUID, and other spellings of
//! them that mean the same. Knows no document.

use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

/// An analyte: LOINC, unit, and the range that its values are drawn from, in tenths.
pub(super) struct Analyte {
    pub loinc: &'static str,
    pub unit: &'static str,
    pub tenths: std::ops::Range<u32>,
}

const fn analyte(loinc: &'static str, unit: &'static str, from: u32, to: u32) -> Analyte {
    Analyte { loinc, unit, tenths: from..to }
}

/// Common analytes; their check digits are proven by a test.
pub(super) const ANALYTES: [Analyte; 12] = [
    analyte("2823-3", "mmol/L", 28, 68),
    analyte("2951-2", "mmol/L", 1250, 1550),
    analyte("2160-0", "mg/dL", 4, 90),
    analyte("2345-7", "mg/dL", 500, 4000),
    analyte("718-7", "g/dL", 60, 190),
    analyte("4548-4", "%", 40, 140),
    analyte("6690-2", "10*3/uL", 10, 300),
    analyte("777-3", "10*3/uL", 200, 6000),
    analyte("1742-6", "U/L", 50, 4000),
    analyte("17861-6", "mg/dL", 60, 130),
    analyte("2075-0", "mmol/L", 850, 1200),
    analyte("3094-0", "mg/dL", 30, 900),
];

/// Business steps of the Core Business Vocabulary.
pub(super) const BUSINESS_STEPS: [&str; 10] = [
    "commissioning",
    "packing",
    "shipping",
    "receiving",
    "storing",
    "dispensing",
    "inspecting",
    "decommissioning",
    "destroying",
    "unpacking",
];

/// The GS1 check digit of the digits before it.
pub(super) fn gs1_check_digit(digits: &str) -> u8 {
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, digit)| u32::from(digit - b'0') * if place % 2 == 0 { 3 } else { 1 })
        .sum();
    b'0' + ((10 - sum % 10) % 10) as u8
}

/// A GTIN-14: a unit with an NDC inside (it begins with 003), or a case (indicator 1 to 8).
pub(super) fn gtin(rng: &mut Xoshiro256PlusPlus) -> String {
    let ndc10 = rng.random_range(0..10_000_000_000u64);
    let indicator = if rng.random_bool(0.7) { 0 } else { rng.random_range(1..=8) };
    let mut gtin = format!("{indicator}03{ndc10:010}");
    gtin.push(gs1_check_digit(&gtin) as char);
    gtin
}

/// The same GTIN in a shorter form where it has one.
pub(super) fn respelled_gtin(gtin: &str, rng: &mut Xoshiro256PlusPlus) -> String {
    let zeros = gtin.bytes().take_while(|b| *b == b'0').count();
    let forms: &[usize] = match zeros {
        0 => &[0],
        1 => &[0, 1],
        _ => &[0, 1, 2],
    };
    gtin[forms[rng.random_range(0..forms.len())]..].to_owned()
}

/// The same business step as bare word, URN, web URI or CURIE.
pub(super) fn respelled_step(step: &str, rng: &mut Xoshiro256PlusPlus) -> String {
    match rng.random_range(0..4) {
        0 => step.to_owned(),
        1 => step_urn(step),
        2 => format!("https://ref.gs1.org/cbv/BizStep-{step}"),
        _ => format!("cbv:BizStep-{step}"),
    }
}

/// The business step as a URN.
pub(super) fn step_urn(step: &str) -> String {
    format!("urn:epcglobal:cbv:bizstep:{step}")
}

/// An NDC of 11 digits; every second one begins with 0, as most labelers do.
pub(super) fn ndc11(rng: &mut Xoshiro256PlusPlus) -> String {
    let labelers = if rng.random_bool(0.5) { 10_000 } else { 100_000u32 };
    let labeler = rng.random_range(0..labelers);
    let product = rng.random_range(0..10_000u32);
    let package = rng.random_range(0..100u32);
    format!("{labeler:05}{product:04}{package:02}")
}

/// The same NDC with hyphens, in any segment lengths that lead back to it.
pub(super) fn respelled_ndc(ndc: &str, rng: &mut Xoshiro256PlusPlus) -> String {
    let (labeler, product, package) = (&ndc[..5], &ndc[5..9], &ndc[9..]);
    let mut forms = vec![ndc.to_owned(), format!("{labeler}-{product}-{package}")];
    if let Some(short) = labeler.strip_prefix('0') {
        forms.push(format!("{short}-{product}-{package}"));
    }
    if let Some(short) = product.strip_prefix('0') {
        forms.push(format!("{labeler}-{short}-{package}"));
    }
    if let Some(short) = package.strip_prefix('0') {
        forms.push(format!("{labeler}-{product}-{short}"));
    }
    forms.push(format!("0{labeler}-{product}-{package}"));
    forms.swap_remove(rng.random_range(0..forms.len()))
}

/// The UUID of a source, in lower case.
pub(super) fn uuid(seed: u64, source: u64) -> String {
    let mixed =
        (seed ^ source.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{source:012x}",
        mixed >> 32,
        mixed >> 16 & 0xffff,
        mixed >> 4 & 0xfff,
        mixed & 0xfff
    )
}

/// Groups of spellings of one unit, the one that is printed first.
pub(super) const UNITS: [&[&str]; 7] = [
    &["EA", "ea", "each", "EACH", "Each"],
    &["ML", "mL", "ml"],
    &["TAB", "tab", "tabs", "tablet", "TABLET"],
    &["CAP", "cap", "caps", "capsule"],
    &["G", "g", "gm"],
    &["MG", "mg"],
    &["MCG", "mcg", "\u{b5}g", "\u{3bc}g"],
];

/// The text with blanks around it, and with accents as separate characters: what a text member
/// that a recipe normalizes may look like.
pub(super) fn respelled_text(text: &str, rng: &mut Xoshiro256PlusPlus) -> String {
    const BLANKS: [&str; 7] = ["", "", " ", "  ", "\t", "\u{a0}", "\u{3000}"];
    let before = BLANKS[rng.random_range(0..BLANKS.len())];
    let after = BLANKS[rng.random_range(0..BLANKS.len())];
    let text = if rng.random_bool(0.5) {
        text.replace('é', "e\u{301}").replace('Ö', "O\u{308}")
    } else {
        text.to_owned()
    };
    format!("{before}{text}{after}")
}
