//! Strict JSON: RFC 8259 and nothing beside it, in one pass over the bytes.
//!
//! What two readers could read in two ways is refused: repeated members, lone surrogates, bad
//! UTF-8, `NaN`, trailing text, nesting deeper than [`MAX_DEPTH`]. Numbers stay the text that
//! they are; nothing here ever makes a float of one. The result is a flat [`Tape`] whose vectors
//! are used again for the next document, so that reading allocates nothing once warm.
//!
//! Nothing here knows recipes, and nothing here may hash or normalize.

mod reader;
mod shapes;
mod strings;
mod tape;

pub(crate) use tape::{Kind, Mark, Member, Tape, Token, compare_names, index_of, prefix_of};

/// Whether a text is a JSON number and nothing else (RFC 8259, section 6).
pub(crate) fn is_number(text: &[u8]) -> bool {
    let mut tape = Tape::default();
    tape.read(text).is_ok() && {
        let root = tape.token(0);
        root.kind == Kind::Number && root.end as usize - root.start as usize == text.len()
    }
}

/// How many arrays and objects may stand inside each other.
pub const MAX_DEPTH: usize = 64;
