//! GS1 Digital Links: pairs of application identifier and value in the path of a web address.
//!
//! GS1 Digital Link URI Syntax 1.4, section 4. Any domain may carry them, so an address of which
//! the path does not read as one is another URI, unless it stands at `id.gs1.org`.

use super::gs1_keys::{Identifier, KEYS, Key, QUALIFIERS, has_shape};
use super::uri::decode;
use crate::identity::reject::{Fault, Reason, fault};

const PATH: &str = "a GS1 Digital Link has a key, its value, and pairs of qualifiers in its path";

/// `None`: no web address, or one that is no Digital Link.
pub(super) fn read(text: &[u8]) -> Result<Option<Identifier>, Fault> {
    let Some(rest) = without_scheme(text) else {
        return Ok(None);
    };
    let slash = rest.iter().position(|b| matches!(b, b'/' | b'?' | b'#')).unwrap_or(rest.len());
    let (domain, path) = rest.split_at(slash);
    let path = path.split(|b| matches!(b, b'?' | b'#')).next().unwrap_or_default();
    let at_gs1 = domain.eq_ignore_ascii_case(b"id.gs1.org");
    match pairs(path) {
        Ok(None) if at_gs1 => Err(fault!(Reason::Epc, PATH)),
        answer => answer,
    }
}

fn without_scheme(text: &[u8]) -> Option<&[u8]> {
    [&b"https://"[..], b"http://"].iter().find_map(|scheme| {
        let (head, rest) = text.split_at_checked(scheme.len())?;
        head.eq_ignore_ascii_case(scheme).then_some(rest)
    })
}

fn pairs(path: &[u8]) -> Result<Option<Identifier>, Fault> {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let mut segments = path.split(|b| *b == b'/').skip(1);
    let mut qualifier_before = false;
    let key = loop {
        let Some(segment) = segments.next() else {
            return Ok(None);
        };
        if let Some(key) = key_named(segment) {
            break key;
        }
        qualifier_before |= QUALIFIERS.iter().any(|(ai, _)| ai.as_bytes() == segment);
    };
    let Some(value) = segments.next().and_then(decode) else {
        return Ok(None);
    };
    if !has_shape(key, value.as_bytes()) {
        return Ok(None);
    }
    if qualifier_before {
        return Err(fault!(
            Reason::Epc,
            "in a GS1 Digital Link the key comes before its qualifiers",
        ));
    }
    let mut identifier = Identifier::new(key, value.as_bytes())?;
    while let Some(segment) = segments.next() {
        let named =
            |(ai, short): &&(&str, &str)| ai.as_bytes() == segment || short.as_bytes() == segment;
        let Some((ai, _)) = QUALIFIERS.iter().find(named) else {
            return Err(fault!(Reason::Epc, PATH));
        };
        let value = segments.next().and_then(decode).ok_or(fault!(Reason::Epc, PATH))?;
        identifier.qualify(ai, value.as_bytes())?;
    }
    Ok(Some(identifier))
}

fn key_named(segment: &[u8]) -> Option<Key> {
    let named = |(_, ai, short): &&(Key, &str, &str)| {
        ai.as_bytes() == segment || short.as_bytes() == segment
    };
    KEYS.iter().find(named).map(|(key, ..)| *key)
}
