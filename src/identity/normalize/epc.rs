//! Identifiers of things, places and documents: one identifier, one URI.
//!
//! An EPC URN (EPC Tag Data Standard 2.0, section 6), a GS1 Digital Link of any domain (GS1
//! Digital Link URI Syntax 1.4) and an element string as a scanner reads it (General
//! Specifications, section 7.8) become the canonical Digital Link of `https://id.gs1.org`. What
//! hangs on a link beside the identifier (domain, query, consumer variant, and the lot below a
//! serial) is dropped, as CBV 2.0 section 8.9.2 has it. Any other URI is kept letter by letter.
//!
//! Nothing is guessed: where a lot would have to end somewhere is a refusal (P27).

use super::gs1_keys::{Identifier, Key};
use super::text::Text;
use super::uri::is_uri;
use super::{Answer, Input, Output, gs1_link, gs1_scan, gs1_urn};
use crate::identity::reject::{Fault, Reason, fault};

/// What of an identifier is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EpcPart {
    /// The canonical URI; a URI that is not of GS1 is kept.
    Uri,
    /// The GTIN of 14 digits.
    Gtin,
    /// The serial of a GTIN.
    Serial,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epc {
    pub part: EpcPart,
}

const RULE: &str = "an EPC URN, a GS1 Digital Link, an element string or another URI is due";
const NO_GTIN: &str = "the identifier holds a GTIN";
const NO_SERIAL: &str = "the identifier holds a GTIN and a serial";

impl Epc {
    pub fn apply(&self, input: Input<'_>, out: &mut Output) -> Answer {
        let start = out.bytes.len();
        let identifier = match input {
            // The separator of scanned element strings is a control character, which a text
            // could not hold.
            Input::Text(text) if gs1_scan::is_element_string(text) => gs1_scan::read(text)?,
            _ => {
                Text::default().apply(input, out)?;
                match read_uri(&out.bytes[start..])? {
                    Some(identifier) => identifier,
                    None => return self.other(&out.bytes[start..]),
                }
            }
        };
        out.bytes.truncate(start);
        match self.part {
            EpcPart::Uri => identifier.push_uri(&mut out.bytes),
            EpcPart::Gtin => out.bytes.extend_from_slice(gtin(&identifier)?),
            EpcPart::Serial => {
                gtin(&identifier)?;
                let serial = identifier.serial().ok_or(fault!(Reason::Epc, NO_SERIAL))?;
                out.bytes.extend_from_slice(serial);
            }
        }
        out.plain = !out.bytes[start..].contains(&b'"');
        Ok(())
    }

    /// A text that is no identifier of GS1: a URI is kept, anything else refused.
    fn other(&self, text: &[u8]) -> Answer {
        match self.part == EpcPart::Uri && is_uri(text) {
            true => Ok(()),
            false => Err(fault!(Reason::Epc, RULE)),
        }
    }
}

fn gtin(identifier: &Identifier) -> Result<&[u8], Fault> {
    match identifier.key {
        Key::Gtin => Ok(identifier.value.as_bytes()),
        _ => Err(fault!(Reason::Epc, NO_GTIN)),
    }
}

/// `None`: the text is no identifier of GS1.
fn read_uri(text: &[u8]) -> Result<Option<Identifier>, Fault> {
    match text.split_at_checked(8) {
        Some((b"urn:epc:", rest)) => gs1_urn::read(rest),
        Some((scheme, _)) if scheme.eq_ignore_ascii_case(b"urn:epc:") => {
            Err(fault!(Reason::Epc, "the scheme of an EPC URN is written in lower case",))
        }
        _ => gs1_link::read(text),
    }
}
