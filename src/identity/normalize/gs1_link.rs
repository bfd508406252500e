//! GS1 Digital Links: pairs of application identifier and value in the path of a web address.
//!
//! GS1 Digital Link URI Syntax 1.4, section 4. At `id.gs1.org` an address is a link or a fault.
//! Any other domain may carry links too, and just as well addresses of its own (`/ward/401/12`),
//! so there one is read only where it is certain: a key with a check digit that is right, and
//! nothing behind it but its qualifiers. What is not certain is another URI, which costs at worst
//! a second key.
//!
//! A query is dropped (CBV 2.0, section 8.9.2) only as far as it does not identify: a serial or a
//! lot in it is read, and what contradicts the path is refused.

use super::gs1::check_digit_is_right;
use super::gs1_keys::{Identifier, KEYS, Key, QUALIFIERS, has_shape};
use super::uri::{Short, decode, host, without_scheme};
use crate::identity::reject::{Fault, Reason, fault};

const PATH: &str = "a GS1 Digital Link has a key, its value, and pairs of qualifiers in its path";
const ORDER: &str = "in a GS1 Digital Link the key comes before its qualifiers";
const QUERY: &str = "the query of a GS1 Digital Link says nothing else than its path";

/// Other names of qualifiers in queries, and their places among the qualifiers.
const QUERY_NAMES: [(&[u8], usize); 2] = [(b"serial", 0), (b"batch", 2)];

/// `None`: no web address, or one that is no Digital Link.
pub(super) fn read(text: &[u8]) -> Result<Option<Identifier>, Fault> {
    let Some(rest) = without_scheme(text) else {
        return Ok(None);
    };
    let end_of =
        |stop: fn(&u8) -> bool, text: &[u8]| text.iter().position(stop).unwrap_or(text.len());
    let (domain, rest) = rest.split_at(end_of(|b| matches!(b, b'/' | b'?' | b'#'), rest));
    let (path, query) = rest.split_at(end_of(|b| matches!(b, b'?' | b'#'), rest));
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let path = path.strip_prefix(b"/").unwrap_or(path);
    let link = match host(domain).eq_ignore_ascii_case(b"id.gs1.org") {
        true => Some(at_gs1(path)?),
        false => elsewhere(path)?,
    };
    let Some(mut link) = link else {
        return Ok(None);
    };
    let (query, fragment) = query.split_at(end_of(|b| *b == b'#', query));
    link.add_query(query)?;
    link.add_query(fragment)?;
    Ok(Some(link.identifier))
}

/// A key and what qualifies it.
struct Link {
    identifier: Identifier,
    qualifiers: [Option<Short>; QUALIFIERS.len()],
}

/// A place in a path where a key may stand: its name, a value of its form, and the rest.
struct Place<'a> {
    key: Key,
    by_number: bool,
    value: Short,
    tail: Option<&'a [u8]>,
}

/// The first segment and what follows its slash.
fn segment(path: &[u8]) -> (&[u8], Option<&[u8]>) {
    match path.iter().position(|b| *b == b'/') {
        Some(slash) => (&path[..slash], Some(&path[slash + 1..])),
        None => (path, None),
    }
}

/// Reads the beginning of a path as a key and its value.
fn place(path: &[u8]) -> Option<Place<'_>> {
    let (name, rest) = segment(path);
    let (key, by_number) = key_named(name)?;
    let (value, tail) = segment(rest?);
    let value = decode(value).filter(|value| has_shape(key, value.as_bytes()))?;
    Some(Place { key, by_number, value, tail })
}

impl Place<'_> {
    /// Whether the check digit tells that this is a key and not a number of somebody's own. A
    /// GTIN-8 may be a date, behind a year `01` is a month, and `party` is a word like any other.
    fn is_certain(&self, before: [Option<&[u8]>; 2]) -> bool {
        let value = self.value.as_bytes();
        let named = match self.key {
            Key::Gtin => !(self.by_number && is_year(before)),
            Key::PartyGln => self.by_number,
            _ => true,
        };
        named && self.is_checked() && Identifier::new(self.key, value).is_ok()
    }

    fn is_checked(&self) -> bool {
        let value = self.value.as_bytes();
        match self.key {
            Key::Gtin => value.len() >= 12,
            Key::Grai => check_digit_is_right(&value[..14]),
            Key::Ginc | Key::Giai | Key::Cpi | Key::Gmn => false,
            _ => true,
        }
    }

    fn link(&self) -> Result<Link, Fault> {
        let identifier = Identifier::new(self.key, self.value.as_bytes())?;
        let mut link = Link { identifier, qualifiers: [None; QUALIFIERS.len()] };
        let mut rest = self.tail;
        while let Some(path) = rest {
            let (name, after) = segment(path);
            let (value, after) = segment(after.ok_or(fault!(Reason::Epc, PATH))?);
            let at = qualifier_named(name).ok_or(fault!(Reason::Epc, PATH))?;
            let value = decode(value).ok_or(fault!(Reason::Epc, PATH))?;
            if link.qualifiers[at].is_some() {
                return Err(fault!(Reason::Epc, PATH));
            }
            link.qualify(at, value)?;
            rest = after;
        }
        Ok(link)
    }

    /// Whether what follows has the form of qualifiers, whatever their values.
    fn has_pairs(&self) -> bool {
        let mut rest = self.tail;
        while let Some(path) = rest {
            let (name, value) = segment(path);
            let Some(value) = value.filter(|_| qualifier_named(name).is_some()) else {
                return false;
            };
            rest = segment(value).1;
        }
        true
    }
}

/// The parts of a path from each of its segments on, with the two segments before it, the nearer
/// one last.
fn suffixes(path: &[u8]) -> impl Iterator<Item = (&[u8], [Option<&[u8]>; 2])> {
    let (mut rest, mut before) = (Some(path), [None; 2]);
    std::iter::from_fn(move || {
        let here = rest?;
        let (name, after) = segment(here);
        let were = before;
        (rest, before) = (after, [before[1], Some(name)]);
        Some((here, were))
    })
}

/// Whether the segment before is a year, and not the value of a qualifier.
fn is_year(before: [Option<&[u8]>; 2]) -> bool {
    let year = |segment: &[u8]| {
        matches!(segment, [b'1', b'9', _, _] | [b'2', b'0' | b'1', _, _])
            && segment.iter().all(u8::is_ascii_digit)
    };
    before[1].is_some_and(year) && !is_qualifier_number(before[0])
}

fn is_qualifier_number(segment: Option<&[u8]>) -> bool {
    segment.is_some_and(|segment| QUALIFIERS.iter().any(|(ai, _)| ai.as_bytes() == segment))
}

/// The first place that reads as a link; a key with a fault in its check digit or behind it is a
/// fault, unless it has no check digit and may be part of the path before the link.
fn at_gs1(path: &[u8]) -> Result<Link, Fault> {
    let mut first_fault = None;
    for (here, before) in suffixes(path) {
        let Some(place) = place(here) else { continue };
        match place.link() {
            Ok(_) if is_qualifier_number(before[0]) => return Err(fault!(Reason::Epc, ORDER)),
            Ok(link) => return Ok(link),
            Err(fault) if place.is_checked() => return Err(fault),
            Err(fault) => first_fault = first_fault.or(Some(fault)),
        }
    }
    Err(first_fault.unwrap_or(fault!(Reason::Epc, PATH)))
}

/// The first place that certainly is a link. Two keys in one path are none.
fn elsewhere(path: &[u8]) -> Result<Option<Link>, Fault> {
    let mut key_before = None;
    for (at, (here, before)) in suffixes(path).enumerate() {
        let Some(place) = place(here) else { continue };
        if !place.is_certain(before) {
            // A path that begins with a key's number and a value of its form is meant as a link.
            let meant = at == 0 && place.by_number && place.is_checked() && place.has_pairs();
            match Identifier::new(place.key, place.value.as_bytes()) {
                Err(fault) if meant => return Err(fault),
                _ => continue,
            }
        }
        match place.link() {
            Ok(_) if key_before.is_some_and(|key| key + 2 <= at) => return Ok(None),
            Ok(_) if is_qualifier_number(before[0]) => return Err(fault!(Reason::Epc, ORDER)),
            Ok(link) => return Ok(Some(link)),
            Err(_) => key_before = key_before.or(Some(at)),
        }
    }
    Ok(None)
}

impl Link {
    fn qualify(&mut self, at: usize, value: Short) -> Result<(), Fault> {
        self.identifier.qualify(QUALIFIERS[at].0, value.as_bytes())?;
        self.qualifiers[at] = Some(value);
        Ok(())
    }

    /// Reads what of a query, or of a fragment, identifies.
    fn add_query(&mut self, query: &[u8]) -> Result<(), Fault> {
        for part in query.get(1..).unwrap_or_default().split(|b| *b == b'&') {
            // A semicolon may part two parameters or belong to a serial.
            if !part.contains(&b';') {
                self.add_parameter(part)?;
            } else if part.split(|b| *b == b';').any(|part| identifies(parameter(part).0)) {
                return Err(fault!(Reason::Epc, QUERY));
            }
        }
        Ok(())
    }

    fn add_parameter(&mut self, part: &[u8]) -> Result<(), Fault> {
        let fault = fault!(Reason::Epc, QUERY);
        let (name, value) = parameter(part);
        let Some(name) = name.filter(|name| identifies(Some(*name))) else {
            return Ok(());
        };
        let value = decode(value).ok_or(fault)?;
        if let Some((key, by_number)) = key_named(name.as_bytes()) {
            if !by_number && !has_shape(key, value.as_bytes()) {
                return Ok(());
            }
            let same = key == self.identifier.key
                && Identifier::new(key, value.as_bytes())?.value.as_bytes()
                    == self.identifier.value.as_bytes();
            return if same { Ok(()) } else { Err(fault) };
        }
        let at = query_qualifier(name.as_bytes()).ok_or(fault)?;
        match &self.qualifiers[at] {
            Some(known) if known.as_bytes() == value.as_bytes() => Ok(()),
            Some(_) => Err(fault),
            // The lot of what a logistic unit holds.
            None if self.identifier.key == Key::Sscc && QUALIFIERS[at].0 == "10" => Ok(()),
            None => self.qualify(at, value),
        }
    }
}

/// A parameter's name, its escapes undone, and its value; no name of GS1 has broken ones.
fn parameter(part: &[u8]) -> (Option<Short>, &[u8]) {
    let equals = part.iter().position(|b| *b == b'=').unwrap_or(part.len());
    (decode(&part[..equals]), part.get(equals + 1..).unwrap_or_default())
}

fn identifies(name: Option<Short>) -> bool {
    name.is_some_and(|name| {
        key_named(name.as_bytes()).is_some() || query_qualifier(name.as_bytes()).is_some()
    })
}

/// A key by its application identifier (then `true`) or its old short name.
fn key_named(segment: &[u8]) -> Option<(Key, bool)> {
    KEYS.iter().find_map(|(key, ai, short)| {
        let by_number = ai.as_bytes() == segment;
        (by_number || short.as_bytes() == segment).then_some((*key, by_number))
    })
}

/// The place of a qualifier in the table.
fn qualifier_named(segment: &[u8]) -> Option<usize> {
    QUALIFIERS
        .iter()
        .position(|(ai, short)| ai.as_bytes() == segment || short.as_bytes() == segment)
}

fn query_qualifier(name: &[u8]) -> Option<usize> {
    let other = || QUERY_NAMES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
    qualifier_named(name).or_else(|| other().map(|(_, at)| *at))
}
