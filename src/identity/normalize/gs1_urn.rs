//! EPC URNs (EPC Tag Data Standard 2.0, section 6.3): `urn:epc:id:…`, classes and patterns.
//!
//! The dots of a URN say where the company prefix ends, which the key itself does not tell;
//! dropping them and adding the check digit gives the key. A scheme that has no key of GS1 is
//! left to be kept as a URI; one that EPC does not know, or what a tag holds beside the identifier
//! (`urn:epc:tag:…`), is refused: its author meant one of the others.

use super::gs1::check_digit;
use super::gs1_keys::{Identifier, Key, digits};
use super::uri::{Short, decode};
use crate::identity::reject::{Fault, Reason, fault};

/// How a scheme's parts make a key.
struct Scheme {
    name: &'static [u8],
    key: Key,
    /// Parts that are digits of the key, the company prefix among them.
    digits: usize,
    /// How many digits they have in all.
    width: usize,
    /// The part behind them: a qualifier, or a serial within the key.
    rest: Rest,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Nothing,
    Qualifier(&'static str),
    Serial,
}

const fn scheme(name: &'static str, key: Key, digits: usize, width: usize, rest: Rest) -> Scheme {
    Scheme { name: name.as_bytes(), key, digits, width, rest }
}

const SCHEMES: [Scheme; 10] = [
    scheme("sgtin", Key::Gtin, 2, 13, Rest::Qualifier("21")),
    scheme("upui", Key::Gtin, 2, 13, Rest::Qualifier("235")),
    scheme("sgln", Key::Gln, 2, 12, Rest::Qualifier("254")),
    scheme("pgln", Key::PartyGln, 2, 12, Rest::Nothing),
    scheme("sscc", Key::Sscc, 2, 17, Rest::Nothing),
    scheme("gsrn", Key::Gsrn, 2, 17, Rest::Nothing),
    scheme("gsrnp", Key::Gsrnp, 2, 17, Rest::Nothing),
    scheme("gsin", Key::Gsin, 2, 16, Rest::Nothing),
    scheme("gdti", Key::Gdti, 2, 12, Rest::Serial),
    scheme("sgcn", Key::Gcn, 2, 12, Rest::Serial),
];

/// Schemes whose identifiers are no keys of GS1 (section 6.3.9 and on).
const FOREIGN: [&[u8]; 5] = [b"gid", b"usdod", b"adi", b"bic", b"imovn"];
/// Schemes of keys of GS1 that have a reader of their own.
const OWN: [&[u8]; 5] = [b"grai", b"giai", b"ginc", b"cpi", b"itip"];

const UNKNOWN: &str = "an EPC URN has a kind and a scheme that EPC knows, in lower case";
const FORM: &str = "an EPC URN has the parts and digits of its scheme";

const fn misshapen() -> Fault {
    fault!(Reason::Epc, FORM)
}

/// Reads what follows `urn:epc:`. `None`: a scheme without a key of GS1.
pub(super) fn read(urn: &[u8]) -> Result<Option<Identifier>, Fault> {
    let mut split = urn.splitn(3, |b| *b == b':');
    let (kind, name) = (split.next().unwrap_or_default(), split.next().unwrap_or_default());
    let Some(body) = split.next() else {
        return Err(misshapen());
    };
    let known = match kind {
        b"id" | b"idpat" => {
            SCHEMES.iter().any(|scheme| scheme.name == name)
                || OWN.contains(&name)
                || FOREIGN.contains(&name)
        }
        b"class" => name == b"lgtin",
        _ => false,
    };
    if !known {
        return Err(fault!(Reason::Epc, UNKNOWN));
    }
    if body.is_empty() {
        return Err(misshapen());
    }
    let pattern = kind == b"idpat";
    let body = match (kind, name) {
        (b"id", _) => body,
        (b"class", b"lgtin") => return lot_of_gtin(body).map(Some),
        // A pattern stands for a class only where nothing but its serial is open.
        (b"idpat", _) => match body.strip_suffix(b".*") {
            Some(class) if !class.contains(&b'*') => class,
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    match name {
        b"grai" => grai(body, pattern),
        b"giai" if !pattern => two_parts(body, Key::Giai),
        b"ginc" if !pattern => two_parts(body, Key::Ginc),
        b"cpi" => cpi(body, pattern),
        b"itip" => itip(body, pattern),
        _ => match SCHEMES.iter().find(|scheme| scheme.name == name) {
            Some(scheme) => by_scheme(scheme, body, pattern),
            None => Ok(None),
        },
    }
}

/// The digits of the first parts without their dots; the first is a company prefix.
fn key_digits<'b>(
    body: &'b [u8],
    parts: usize,
    width: usize,
) -> Result<(Short, Option<&'b [u8]>), Fault> {
    let mut split = body.splitn(parts + 1, |b| *b == b'.');
    let mut key = Short::default();
    for index in 0..parts {
        let part: &'b [u8] = split.next().ok_or(misshapen())?;
        let company = index == 0;
        if !part.iter().all(u8::is_ascii_digit) || (company && !(6..=12).contains(&part.len())) {
            return Err(misshapen());
        }
        key.extend(part).ok_or(misshapen())?;
    }
    match key.as_bytes().len() == width {
        true => Ok((key, split.next())),
        false => Err(misshapen()),
    }
}

/// A GTIN begins with the indicator, which the URN has at the head of the second part.
fn gtin_digits(key: &Short, company: usize) -> Result<Short, Fault> {
    let digits = key.as_bytes();
    let indicator = digits.get(company).ok_or(misshapen())?;
    let mut gtin = Short::of(&[*indicator]).ok_or(misshapen())?;
    gtin.extend(&digits[..company]).ok_or(misshapen())?;
    gtin.extend(&digits[company + 1..]).ok_or(misshapen())?;
    Ok(gtin)
}

fn company_length(body: &[u8]) -> usize {
    body.iter().position(|b| *b == b'.').unwrap_or(body.len())
}

fn checked(mut key: Short) -> Result<Short, Fault> {
    key.push(check_digit(key.as_bytes())).ok_or(misshapen())?;
    Ok(key)
}

fn by_scheme(scheme: &Scheme, body: &[u8], pattern: bool) -> Result<Option<Identifier>, Fault> {
    let (mut key, rest) = key_digits(body, scheme.digits, scheme.width)?;
    if matches!(scheme.key, Key::Gtin | Key::Sscc) {
        key = gtin_digits(&key, company_length(body))?;
    }
    let mut key = checked(key)?;
    let rest = match (scheme.rest, rest, pattern) {
        (Rest::Nothing, None, false) => {
            return Identifier::new(scheme.key, key.as_bytes()).map(Some);
        }
        (Rest::Qualifier(_) | Rest::Serial, None, true) => {
            return Identifier::new(scheme.key, key.as_bytes()).map(Some);
        }
        (Rest::Qualifier(_) | Rest::Serial, Some(rest), false) => decode(rest).ok_or(misshapen())?,
        _ => return Err(misshapen()),
    };
    if let Rest::Qualifier(ai) = scheme.rest {
        let mut identifier = Identifier::new(scheme.key, key.as_bytes())?;
        identifier.qualify(ai, rest.as_bytes())?;
        return Ok(Some(identifier));
    }
    if rest.as_bytes().is_empty() {
        return Err(misshapen());
    }
    key.extend(rest.as_bytes()).ok_or(misshapen())?;
    Identifier::new(scheme.key, key.as_bytes()).map(Some)
}

fn lot_of_gtin(body: &[u8]) -> Result<Identifier, Fault> {
    let (key, lot) = key_digits(body, 2, 13)?;
    let key = checked(gtin_digits(&key, company_length(body))?)?;
    let lot = lot.and_then(decode).ok_or(misshapen())?;
    let mut identifier = Identifier::new(Key::Gtin, key.as_bytes())?;
    identifier.qualify("10", lot.as_bytes())?;
    Ok(identifier)
}

/// A GRAI has a zero before its digits.
fn grai(body: &[u8], pattern: bool) -> Result<Option<Identifier>, Fault> {
    let (digits, serial) = key_digits(body, 2, 12)?;
    let digits = checked(digits)?;
    let mut key = Short::of(b"0").ok_or(misshapen())?;
    key.extend(digits.as_bytes()).ok_or(misshapen())?;
    match (serial, pattern) {
        (None, true) => {}
        (Some(serial), false) if !serial.is_empty() => {
            key.extend(decode(serial).ok_or(misshapen())?.as_bytes()).ok_or(misshapen())?;
        }
        _ => return Err(misshapen()),
    }
    Identifier::new(Key::Grai, key.as_bytes()).map(Some)
}

/// A company prefix and a reference of its own, joined.
fn two_parts(body: &[u8], key: Key) -> Result<Option<Identifier>, Fault> {
    let (company, reference) = split_company(body)?;
    let mut value = Short::of(company).ok_or(misshapen())?;
    let reference = decode(reference).filter(|r| !r.as_bytes().is_empty()).ok_or(misshapen())?;
    value.extend(reference.as_bytes()).ok_or(misshapen())?;
    Identifier::new(key, value.as_bytes()).map(Some)
}

fn split_company(body: &[u8]) -> Result<(&[u8], &[u8]), Fault> {
    let (company, rest) = body.split_at(company_length(body));
    match rest.split_first() {
        Some((_, rest)) if digits(company) && (6..=12).contains(&company.len()) => {
            Ok((company, rest))
        }
        _ => Err(misshapen()),
    }
}

fn cpi(body: &[u8], pattern: bool) -> Result<Option<Identifier>, Fault> {
    if pattern {
        return two_parts(body, Key::Cpi);
    }
    // The last dot parts the serial: a component reference has none.
    let dot = body.iter().rposition(|b| *b == b'.').ok_or(misshapen())?;
    let Some(mut identifier) = two_parts(&body[..dot], Key::Cpi)? else {
        return Err(misshapen());
    };
    identifier.qualify("8011", &body[dot + 1..])?;
    Ok(Some(identifier))
}

fn itip(body: &[u8], pattern: bool) -> Result<Option<Identifier>, Fault> {
    let (digits, serial) = key_digits(body, 4, 17)?;
    let (gtin, pieces) = digits.as_bytes().split_at(13);
    let gtin = Short::of(gtin).ok_or(misshapen())?;
    let mut key = checked(gtin_digits(&gtin, company_length(body))?)?;
    key.extend(pieces).ok_or(misshapen())?;
    let mut identifier = Identifier::new(Key::Itip, key.as_bytes())?;
    match (serial, pattern) {
        (None, true) => {}
        (Some(serial), false) => {
            identifier.qualify("21", decode(serial).ok_or(misshapen())?.as_bytes())?
        }
        _ => return Err(misshapen()),
    }
    Ok(Some(identifier))
}
