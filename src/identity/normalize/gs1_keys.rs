//! The identification keys of GS1 and what qualifies them.
//!
//! General Specifications, section 3 (application identifiers) and 7.9 (check digits). Whatever
//! form an identifier was read in, it is checked and written here.

use super::gs1::{check_digit_is_right, in_set_82};
use super::uri::{Short, push_encoded};
use crate::identity::reject::{Fault, Reason, fault};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Sscc,
    Gtin,
    Gdti,
    Gcn,
    Ginc,
    Gsin,
    Gln,
    PartyGln,
    Grai,
    Giai,
    Itip,
    Cpi,
    Gmn,
    Gsrnp,
    Gsrn,
}

/// Key, application identifier, and the short name that Digital Links once had.
pub(super) const KEYS: [(Key, &str, &str); 15] = [
    (Key::Sscc, "00", "sscc"),
    (Key::Gtin, "01", "gtin"),
    (Key::Gdti, "253", "gdti"),
    (Key::Gcn, "255", "gcn"),
    (Key::Ginc, "401", "ginc"),
    (Key::Gsin, "402", "gsin"),
    (Key::Gln, "414", "gln"),
    (Key::PartyGln, "417", "party"),
    (Key::Grai, "8003", "grai"),
    (Key::Giai, "8004", "giai"),
    (Key::Itip, "8006", "itip"),
    (Key::Cpi, "8010", "cpid"),
    (Key::Gmn, "8013", "gmn"),
    (Key::Gsrnp, "8017", "gsrnp"),
    (Key::Gsrn, "8018", "gsrn"),
];

/// Qualifiers by their application identifier and old short name.
pub(super) const QUALIFIERS: [(&str, &str); 7] = [
    ("21", "ser"),
    ("235", "tpx"),
    ("10", "lot"),
    ("22", "cpv"),
    ("254", "glnx"),
    ("8011", "cpsn"),
    ("8019", "srin"),
];

/// An identifier of GS1, checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identifier {
    pub key: Key,
    pub value: Short,
    /// The qualifier that tells the most, by its application identifier.
    qualifier: Option<(&'static str, Short)>,
}

const SHAPE: &str = "a GS1 key has the digits and characters of its kind";
const CHECK: &str = "the check digit of a GS1 key is right";
const QUALIFIER: &str =
    "a GS1 key has only qualifiers of its kind, each once and in its characters";

impl Identifier {
    /// Checks a key; a GTIN may have 8, 12, 13 or 14 digits.
    pub fn new(key: Key, value: &[u8]) -> Result<Identifier, Fault> {
        let gtin = matches!(key, Key::Gtin | Key::Itip);
        let shape =
            if key == Key::Gtin { fault!(Reason::Gtin, SHAPE) } else { fault!(Reason::Epc, SHAPE) };
        if !has_shape(key, value) {
            return Err(shape);
        }
        if !has_right_check_digit(key, value) {
            return Err(if gtin {
                fault!(Reason::Gtin, CHECK)
            } else {
                fault!(Reason::Epc, CHECK)
            });
        }
        let mut padded = Short::default();
        if key == Key::Gtin {
            padded.extend(&b"000000"[..14 - value.len()]).ok_or(shape)?;
        }
        padded.extend(value).ok_or(shape)?;
        Ok(Identifier { key, value: padded, qualifier: None })
    }

    /// Adds a qualifier. A serial makes the lot needless; a consumer variant never identifies.
    pub fn qualify(&mut self, ai: &'static str, value: &[u8]) -> Result<(), Fault> {
        let (fits, longest) = match (self.key, ai) {
            (Key::Gtin | Key::Itip, "10" | "21" | "22") => {
                (value.iter().copied().all(in_set_82), 20)
            }
            (Key::Gtin, "235") => (value.iter().copied().all(in_set_82), 28),
            (Key::Gln, "254") => (value.iter().copied().all(in_set_82), 20),
            (Key::Cpi, "8011") => (digits(value) && value != b"0", 12),
            (Key::Gsrn | Key::Gsrnp, "8019") => (digits(value), 10),
            _ => (false, 0),
        };
        if !fits || value.is_empty() || value.len() > longest {
            return Err(match ai {
                "21" => fault!(Reason::Serial, QUALIFIER),
                _ => fault!(Reason::Epc, QUALIFIER),
            });
        }
        let rank =
            |ai: &str| ["22", "10", "235", "21"].iter().position(|known| *known == ai).unwrap_or(4);
        let known = self.qualifier.map(|(known, _)| rank(known));
        if known == Some(rank(ai)) {
            return Err(fault!(Reason::Epc, QUALIFIER));
        }
        // The extension 0 of a place means that there is none (EPC Tag Data Standard, 6.3.3).
        if ai != "22" && known < Some(rank(ai)) && !(ai == "254" && value == b"0") {
            self.qualifier = Short::of(value).map(|value| (ai, value));
        }
        Ok(())
    }

    pub fn serial(&self) -> Option<&[u8]> {
        self.qualifier.as_ref().filter(|(ai, _)| *ai == "21").map(|(_, value)| value.as_bytes())
    }

    /// Appends the canonical Digital Link.
    pub fn push_uri(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"https://id.gs1.org/");
        let ai = KEYS.iter().find(|(key, ..)| *key == self.key).map_or("", |(_, ai, _)| ai);
        push_pair(ai, &self.value, out);
        if let Some((ai, value)) = &self.qualifier {
            out.push(b'/');
            push_pair(ai, value, out);
        }
    }
}

fn push_pair(ai: &str, value: &Short, out: &mut Vec<u8>) {
    out.extend_from_slice(ai.as_bytes());
    out.push(b'/');
    push_encoded(value.as_bytes(), out);
}

pub(super) fn digits(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// Digits with a further serial of a set of characters: how many digits, how long the serial.
fn compound(value: &[u8], fixed: usize, longest: usize, fits: impl Fn(u8) -> bool) -> bool {
    value.split_at_checked(fixed).is_some_and(|(key, serial)| {
        digits(key) && serial.len() <= longest && serial.iter().copied().all(fits)
    })
}

/// Whether a text has the form of a key, its check digit apart.
pub(super) fn has_shape(key: Key, value: &[u8]) -> bool {
    let set_82 =
        |longest| (1..=longest).contains(&value.len()) && value.iter().copied().all(in_set_82);
    let set_39 =
        |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || matches!(b, b'#' | b'-' | b'/');
    match key {
        Key::Gtin => digits(value) && matches!(value.len(), 8 | 12 | 13 | 14),
        Key::Sscc | Key::Itip | Key::Gsrn | Key::Gsrnp => digits(value) && value.len() == 18,
        Key::Gsin => digits(value) && value.len() == 17,
        Key::Gln | Key::PartyGln => digits(value) && value.len() == 13,
        Key::Gdti => compound(value, 13, 17, in_set_82),
        Key::Gcn => compound(value, 13, 12, |b| b.is_ascii_digit()),
        Key::Grai => compound(value, 14, 16, in_set_82),
        Key::Ginc | Key::Giai => set_82(30),
        Key::Gmn => set_82(25),
        Key::Cpi => (1..=30).contains(&value.len()) && value.iter().copied().all(set_39),
    }
}

/// The check digit of a GRAI is not judged: published EPCIS documents have wrong ones, and as it
/// stands it is part of one spelling only.
fn has_right_check_digit(key: Key, value: &[u8]) -> bool {
    match key {
        Key::Gdti | Key::Gcn => check_digit_is_right(&value[..13]),
        Key::Itip => check_digit_is_right(&value[..14]),
        Key::Grai | Key::Ginc | Key::Giai | Key::Gmn | Key::Cpi => true,
        Key::Gtin | Key::Sscc | Key::Gsrn | Key::Gsrnp | Key::Gsin | Key::Gln | Key::PartyGln => {
            check_digit_is_right(value)
        }
    }
}
