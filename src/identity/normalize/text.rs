//! Text: Unicode NFC, trimmed, without characters that no one sees.
//!
//! The strict rule (vectors/README, "Text"): NFC, Unicode white space trimmed at both ends, then
//! no character of category Cc, Cf or Cs, not empty. Each part is an option, so that recipes for
//! keys that exist already can take a text as it was sent. Meaning of the text is not judged here.

use super::{Answer, Input, Output, text_or};
use crate::identity::reject::{Fault, Reason, fault};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// What is taken off both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trim {
    None,
    /// The property `White_Space` of Unicode.
    Unicode,
    /// What Python's `str.strip` takes off: Unicode white space and U+001C to U+001F (C10).
    Python,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Keep,
    /// The full upper-case mapping of Unicode.
    Upper,
}

/// Options of a text; the default is the strict rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub trim: Trim,
    /// Compose to Unicode Normalization Form C (UAX #15).
    pub compose: bool,
    /// Take control and format characters too.
    pub any_character: bool,
    pub allow_empty: bool,
    pub case: Case,
}

impl Default for Text {
    fn default() -> Self {
        Text {
            trim: Trim::Unicode,
            compose: true,
            any_character: false,
            allow_empty: false,
            case: Case::Keep,
        }
    }
}

const NOT_TEXT: &str = "a text is due";
const EMPTY: &str = "a text must not be blank";
const INVISIBLE: &str = "a text holds no control or format character";

impl Text {
    pub fn apply(&self, input: Input<'_>, out: &mut Output) -> Answer {
        let text = text_or(input, fault!(Reason::NotText, NOT_TEXT))?;
        if self.case == Case::Keep && self.visible_ascii(text, out)? {
            return Ok(());
        }
        self.compose_slowly(text, out)
    }

    /// Appends the text trimmed, if it is nothing but visible ASCII and blanks: no other rule can
    /// then apply to it. Whether it was.
    fn visible_ascii(&self, text: &[u8], out: &mut Output) -> Result<bool, Fault> {
        let trimmed = match self.trim {
            Trim::None => text,
            Trim::Unicode | Trim::Python => trim_ascii(text),
        };
        let (mut visible, mut plain) = (true, true);
        for byte in trimmed {
            visible &= matches!(byte, 0x20..=0x7E);
            plain &= !matches!(byte, b'"' | b'\\');
        }
        if !visible {
            return Ok(false);
        }
        if trimmed.is_empty() && !self.allow_empty {
            return Err(fault!(Reason::Empty, EMPTY));
        }
        out.plain = plain;
        out.bytes.extend_from_slice(trimmed);
        Ok(true)
    }

    #[cold]
    fn compose_slowly(&self, text: &[u8], out: &mut Output) -> Answer {
        // The reader has checked this already; a fault is still better than a panic.
        let text =
            std::str::from_utf8(text).map_err(|_| fault!(Reason::Json, "text must be UTF-8"))?;
        let mut scratch = std::mem::take(&mut out.scratch);
        scratch.clear();
        if self.compose && is_nfc_quick(text.chars()) != IsNormalized::Yes {
            scratch.extend(text.nfc());
        } else {
            scratch.push_str(text);
        }
        let answer = self.finish(self.trimmed(&scratch), out);
        out.scratch = scratch;
        answer
    }

    fn finish(&self, text: &str, out: &mut Output) -> Answer {
        if text.is_empty() && !self.allow_empty {
            return Err(fault!(Reason::Empty, EMPTY));
        }
        if !self.any_character && text.chars().any(invisible) {
            return Err(fault!(Reason::Character, INVISIBLE));
        }
        let start = out.bytes.len();
        match self.case {
            Case::Keep => out.bytes.extend_from_slice(text.as_bytes()),
            Case::Upper => push_upper(text, &mut out.bytes),
        }
        out.plain = out.bytes[start..]
            .iter()
            .all(|b| matches!(b, 0x20..=0x7E) && !matches!(b, b'"' | b'\\'));
        Ok(())
    }

    fn trimmed<'a>(&self, text: &'a str) -> &'a str {
        match self.trim {
            Trim::None => text,
            Trim::Unicode => text.trim(),
            Trim::Python => {
                text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\u{1C}'..='\u{1F}'))
            }
        }
    }
}

/// The white space of ASCII in the sense of Unicode: tab to carriage return, and the blank.
fn trim_ascii(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t'..=b'\r', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t'..=b'\r'] = text {
        text = rest;
    }
    text
}

/// Appends the text in upper case by the full mapping of Unicode, as Python's `str.upper` does.
pub(super) fn push_upper(text: &str, out: &mut Vec<u8>) {
    let mut utf8 = [0; 4];
    for c in text.chars().flat_map(char::to_uppercase) {
        out.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
    }
}

/// General category Cc or Cf (Unicode 16); Cs cannot stand in UTF-8.
fn invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{AD}' | '\u{600}'..='\u{605}' | '\u{61C}' | '\u{6DD}' | '\u{70F}'
            | '\u{890}'..='\u{891}' | '\u{8E2}' | '\u{180E}' | '\u{200B}'..='\u{200F}'
            | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206F}'
            | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{110BD}' | '\u{110CD}'
            | '\u{13430}'..='\u{1343F}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0001}' | '\u{E0020}'..='\u{E007F}')
}
