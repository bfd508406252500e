//! The canonical content: what a document says beside its identity, in one fixed form.
//!
//! JSON with members sorted by name (bytes of UTF-8), no blanks, the fewest escapes, and numbers
//! as the text they were sent as. Left out is what the identity holds already in normalized form
//! and what the recipe ignores, with the objects of which nothing else is left; lists that the
//! recipe calls unordered are sorted. The digest is
//! taken over the hash of the identity and this text, so a member that is normalized differs only
//! where its meaning does, and any other where a byte of its value does (`4.2` against `4.20`).
//!
//! Where all the rest of an event is part of its identity too, it is written by the same rules,
//! but for numbers, which stand by their value, and names, which stand with their namespace.
//!
//! Nothing here looks at a recipe: the plan's marks on the tape say all.

use super::json::{Kind, Mark, Member, Tape, Token};
use super::namespaces::Bindings;
use super::normalize::push_number_by_value;
use super::preimage::{push_span, push_unit};

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
    /// The normalizers' bytes.
    pub normalized: &'a [u8],
    /// Stands for the list of items of a record.
    pub items: &'a [u8],
    /// The rest within an identity is written, not the content.
    pub rest: Option<Rest<'a>>,
}

/// How names are read within an identity.
#[derive(Clone, Copy)]
pub(crate) struct Rest<'a> {
    pub bindings: &'a Bindings,
    pub known: &'a [(String, String)],
}

impl Writer {
    /// Appends the content of one value.
    pub fn write(&mut self, doc: &Document<'_>, token: u32, out: &mut Vec<u8>) {
        self.value(doc, doc.tape.token(token), out);
    }

    fn value(&mut self, doc: &Document<'_>, token: Token, out: &mut Vec<u8>) {
        let (start, end) = (token.start as usize, token.end as usize);
        match token.kind {
            // A string that was sent without escapes needs none, and has its quotes beside it.
            Kind::Text => push_span(doc.payload, start - 1, end + 1, out),
            Kind::Number if doc.rest.is_some() => {
                push_number_by_value(&doc.payload[start..end], out)
            }
            Kind::Number | Kind::Null | Kind::False | Kind::True => {
                push_span(doc.payload, start, end, out)
            }
            Kind::Decoded => push_escaped(&doc.tape.decoded[start..end], out),
            Kind::Normalized => push_escaped(&doc.normalized[start..end], out),
            Kind::Object if doc.rest.is_some() => self.sorted_object(doc, token, out),
            Kind::Object => self.object(doc, token, out),
            Kind::Array if token.mark == Mark::Items => out.extend_from_slice(doc.items),
            Kind::Array if token.mark == Mark::Unordered => self.unordered(doc, token, out),
            Kind::Array => self.ordered(doc, token, out),
        }
    }

    fn object(&mut self, doc: &Document<'_>, token: Token, out: &mut Vec<u8>) {
        let begin = out.len();
        for member in doc.tape.members_of(token) {
            let value = doc.tape.token(member.value);
            if is_left_out(doc, value) {
                continue;
            }
            let before = out.len();
            out.push(b',');
            match member.decoded {
                false => {
                    push_span(doc.payload, member.start as usize - 1, member.end as usize + 1, out)
                }
                true => push_escaped(doc.tape.name(doc.payload, member), out),
            }
            out.push(b':');
            self.value(doc, value, out);
            if is_spent(value, out) {
                out.truncate(before);
            }
        }
        open(begin, b'{', out);
        out.push(b'}');
    }

    fn ordered(&mut self, doc: &Document<'_>, token: Token, out: &mut Vec<u8>) {
        let begin = out.len();
        for element in doc.tape.elements_of(token) {
            let element = doc.tape.token(*element);
            if !is_left_out(doc, element) {
                out.push(b',');
                self.value(doc, element, out);
            }
        }
        open(begin, b'[', out);
        out.push(b']');
    }

    fn unordered(&mut self, doc: &Document<'_>, token: Token, out: &mut Vec<u8>) {
        let (begin, mine) = (out.len(), self.spans.len());
        for element in doc.tape.elements_of(token) {
            if is_left_out(doc, doc.tape.token(*element)) {
                continue;
            }
            let start = out.len();
            self.write(doc, *element, out);
            self.spans.push((start as u32, out.len() as u32));
        }
        self.sort(begin, mine, [b'[', b']'], out);
    }

    /// Expanded names stand in another order than those that were sent.
    fn sorted_object(&mut self, doc: &Document<'_>, token: Token, out: &mut Vec<u8>) {
        let (begin, mine) = (out.len(), self.spans.len());
        for member in doc.tape.members_of(token) {
            let value = doc.tape.token(member.value);
            if is_left_out(doc, value) {
                continue;
            }
            let start = out.len();
            push_name(doc, member, out);
            out.push(b':');
            self.value(doc, value, out);
            match is_spent(value, out) {
                true => out.truncate(start),
                false => self.spans.push((start as u32, out.len() as u32)),
            }
        }
        self.sort(begin, mine, [b'{', b'}'], out);
    }

    /// Puts the texts written since `begin` in the order of their bytes, between brackets.
    fn sort(&mut self, begin: usize, mine: usize, brackets: [u8; 2], out: &mut Vec<u8>) {
        let text = |span: &(u32, u32)| span.0 as usize..span.1 as usize;
        self.spans[mine..].sort_unstable_by(|a, b| out[text(a)].cmp(&out[text(b)]));
        self.sorted.clear();
        self.sorted.push(brackets[0]);
        for (place, span) in self.spans[mine..].iter().enumerate() {
            if place > 0 {
                self.sorted.push(b',');
            }
            self.sorted.extend_from_slice(&out[text(span)]);
        }
        self.sorted.push(brackets[1]);
        out.truncate(begin);
        out.extend_from_slice(&self.sorted);
        self.spans.truncate(mine);
    }
}

/// Whether nothing is left of an object that was not empty: all it said is in the identity, or
/// ignored, so that whether it stands there makes no difference.
fn is_spent(value: Token, out: &[u8]) -> bool {
    value.kind == Kind::Object && value.count > 0 && out.ends_with(b":{}")
}

/// Puts the bracket in the place of the first comma, or at the end where nothing was written.
fn open(begin: usize, bracket: u8, out: &mut Vec<u8>) {
    match out.get_mut(begin) {
        Some(comma) => *comma = bracket,
        None => out.push(bracket),
    }
}

fn is_left_out(doc: &Document<'_>, token: Token) -> bool {
    match token.mark {
        Mark::LeftOut => true,
        Mark::Aside => doc.rest.is_some(),
        Mark::Literal | Mark::Unordered | Mark::Items => false,
    }
}

fn push_name(doc: &Document<'_>, member: &Member, out: &mut Vec<u8>) {
    let name = doc.tape.name(doc.payload, member);
    let expanded =
        doc.rest.and_then(|rest| rest.bindings.expand(doc.tape, doc.payload, rest.known, name));
    match (expanded, member.decoded) {
        (Some((namespace, local)), _) => {
            out.push(b'"');
            push_inner(namespace, out);
            push_inner(local, out);
            out.push(b'"');
        }
        (None, false) => {
            push_span(doc.payload, member.start as usize - 1, member.end as usize + 1, out)
        }
        (None, true) => push_escaped(name, out),
    }
}

fn push_escaped(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    push_inner(text, out);
    out.push(b'"');
}

fn push_inner(text: &[u8], out: &mut Vec<u8>) {
    for byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            0..0x20 => push_unit(u16::from(*byte), out),
            _ => out.push(*byte),
        }
    }
}
