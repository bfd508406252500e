//! The canonical content: what a document says beside its identity, in one fixed form.
//!
//! JSON with members sorted by name (bytes of UTF-8), no blanks, the fewest escapes, and numbers
//! as the text they were sent as. Left out is what the identity holds already in normalized form
//! and what the recipe ignores; lists that the recipe calls unordered are sorted. The digest is
//! taken over the hash of the identity and this text, so a member that is normalized differs only
//! where its meaning does, and any other where a byte of its value does (`4.2` against `4.20`).
//!
//! Nothing here looks at a recipe: the plan's marks on the tape say all.

use super::json::{Kind, Mark, Tape, Token};
use super::preimage::push_unit;

/// Writes canonical content; keeps its room between documents.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    spans: Vec<(u32, u32)>,
    sorted: Vec<u8>,
}

/// A document that has been read and marked.
#[derive(Clone, Copy)]
pub(crate) struct Document<'a> {
    pub tape: &'a Tape,
    pub payload: &'a [u8],
}

impl Writer {
    /// Appends the content of one value. `items` stands for the list that is marked so.
    pub fn write(&mut self, doc: Document<'_>, token: u32, items: &[u8], out: &mut Vec<u8>) {
        let token = doc.tape.token(token);
        match (token.kind, token.mark) {
            (Kind::Array, Mark::Items) => out.extend_from_slice(items),
            (Kind::Array, Mark::Unordered) => self.unordered(doc, token, items, out),
            (Kind::Array, _) => self.ordered(doc, token, items, out),
            (Kind::Object, _) => self.object(doc, token, items, out),
            (Kind::Null, _) => out.extend_from_slice(b"null"),
            (Kind::False, _) => out.extend_from_slice(b"false"),
            (Kind::True, _) => out.extend_from_slice(b"true"),
            (Kind::Number, _) => out.extend_from_slice(doc.tape.text(doc.payload, token)),
            (Kind::Text, _) => push_quoted(doc.tape.text(doc.payload, token), out),
            (Kind::Decoded, _) => push_escaped(doc.tape.text(doc.payload, token), out),
        }
    }

    fn object(&mut self, doc: Document<'_>, token: Token, items: &[u8], out: &mut Vec<u8>) {
        out.push(b'{');
        let mut first = true;
        for member in doc.tape.members_of(token) {
            if doc.tape.token(member.value).mark == Mark::LeftOut {
                continue;
            }
            if !first {
                out.push(b',');
            }
            first = false;
            let name = doc.tape.name(doc.payload, member);
            match member.decoded {
                false => push_quoted(name, out),
                true => push_escaped(name, out),
            }
            out.push(b':');
            self.write(doc, member.value, items, out);
        }
        out.push(b'}');
    }

    fn ordered(&mut self, doc: Document<'_>, token: Token, items: &[u8], out: &mut Vec<u8>) {
        out.push(b'[');
        let mut first = true;
        for element in doc.tape.elements_of(token) {
            if doc.tape.token(*element).mark == Mark::LeftOut {
                continue;
            }
            if !first {
                out.push(b',');
            }
            first = false;
            self.write(doc, *element, items, out);
        }
        out.push(b']');
    }

    fn unordered(&mut self, doc: Document<'_>, token: Token, items: &[u8], out: &mut Vec<u8>) {
        let (begin, mine) = (out.len(), self.spans.len());
        for element in doc.tape.elements_of(token) {
            if doc.tape.token(*element).mark == Mark::LeftOut {
                continue;
            }
            let start = out.len();
            self.write(doc, *element, items, out);
            self.spans.push((start as u32, out.len() as u32));
        }
        let text = |span: &(u32, u32)| span.0 as usize..span.1 as usize;
        self.spans[mine..].sort_unstable_by(|a, b| out[text(a)].cmp(&out[text(b)]));
        self.sorted.clear();
        for (place, span) in self.spans[mine..].iter().enumerate() {
            self.sorted.push(if place == 0 { b'[' } else { b',' });
            self.sorted.extend_from_slice(&out[text(span)]);
        }
        if self.spans.len() == mine {
            self.sorted.push(b'[');
        }
        self.sorted.push(b']');
        out.truncate(begin);
        out.extend_from_slice(&self.sorted);
        self.spans.truncate(mine);
    }
}

/// A string that was sent without escapes needs none.
fn push_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(text);
    out.push(b'"');
}

fn push_escaped(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            0..0x20 => push_unit(u16::from(*byte), out),
            _ => out.push(*byte),
        }
    }
    out.push(b'"');
}
