//! Units of a supply chain, by a closed table that stands in the recipe.
//!
//! The tokens are names of the recipe (`EA`, `ML`), never UCUM, where `EA` is the exaampere
//! (C11). The table is looked up by the spelling in ASCII lower case, or exactly; what it does
//! not hold is refused, or, for keys that exist already, put in upper case.

use super::text::{Text, push_upper};
use super::{Answer, Input, Output};
use crate::identity::reject::{Reason, fault};

/// What becomes of a unit that the table does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    Refuse,
    Upper,
}

/// A spelling and the token that it stands for.
pub(crate) type Entry = (Box<[u8]>, Box<[u8]>);

#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// A unit is read as a text first, by these rules.
    pub text: Text,
    /// Spelling and token, sorted by spelling; where `fold`, spellings are in lower case.
    pub table: Vec<Entry>,
    pub fold: bool,
    /// Exact spellings that are refused although the table would hold them: `Mg`, the megagram.
    pub refuse: Vec<Box<[u8]>>,
    pub unknown: Unknown,
}

/// No spelling in a table is longer than this.
pub(crate) const MAX_SPELLING: usize = 64;

impl Unit {
    pub fn apply(&self, input: Input<'_>, out: &mut Output) -> Answer {
        // What the table holds as it was sent is a text by the table's word.
        if let Input::Text(text) = input
            && let Some(token) = self.known(text)
            && !self.is_refused(text)
        {
            out.bytes.extend_from_slice(token);
            return Ok(());
        }
        let start = out.bytes.len();
        self.text.apply(input, out)?;
        let spelling = &out.bytes[start..];
        match (self.known(spelling), self.unknown) {
            _ if self.is_refused(spelling) => Err(fault!(Reason::Unit, RULE)),
            (Some(token), _) => {
                out.bytes.truncate(start);
                out.bytes.extend_from_slice(token);
                out.plain = true;
                Ok(())
            }
            (None, Unknown::Upper) => {
                upper(start, out);
                Ok(())
            }
            (None, Unknown::Refuse) => Err(fault!(Reason::Unit, RULE)),
        }
    }

    /// The token of a spelling.
    fn known(&self, spelling: &[u8]) -> Option<&[u8]> {
        let same = |known: &[u8]| match self.fold {
            true => known.eq_ignore_ascii_case(spelling),
            false => known == spelling,
        };
        self.table.iter().find(|(known, _)| same(known)).map(|(_, token)| token.as_ref())
    }

    fn is_refused(&self, spelling: &[u8]) -> bool {
        self.refuse.iter().any(|refused| refused.as_ref() == spelling)
    }
}

const RULE: &str = "the unit is not in the recipe's table";

fn upper(start: usize, out: &mut Output) {
    let mut scratch = std::mem::take(&mut out.scratch);
    scratch.clear();
    // Text normalizers write UTF-8 only, so nothing is lost here.
    scratch.push_str(&String::from_utf8_lossy(&out.bytes[start..]));
    out.bytes.truncate(start);
    push_upper(&scratch, &mut out.bytes);
    out.plain =
        out.bytes[start..].iter().all(|b| matches!(b, 0x20..=0x7E) && !matches!(b, b'"' | b'\\'));
    out.scratch = scratch;
}
