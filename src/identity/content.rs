//! The canonical content: what a document says beside its identity, in one fixed form.
//!
//! JSON with members sorted by name (bytes of UTF-8), no blanks, the fewest escapes, and numbers
//! as the text they were sent as. Left out is what the identity holds already in normalized form
//! and what the recipe ignores, with the objects of which nothing else is left; lists that the
//! recipe calls unordered are sorted. The digest is taken over the hash of the identity and this text, so a member that is normalized differs only
//! where its meaning does, and any other where a byte of its value does (`4.2` against `4.20`).
//!
//! Where all the rest of an event is part of its identity too, it is written by the same rules,
//! but for numbers, which stand by their value, and names, which stand with their namespace.
//! A namespace is written once for each name in it, so both its length and what all of them come
//! to are limited.
//!
//! Nothing here looks at a recipe: the plan's marks on the tape say all.

use super::json::{Kind, Mark, Member, Tape, Token};
use super::namespaces::Bindings;
use super::normalize::push_number_by_value;
use super::preimage::{push_span, push_unit};
use super::reject::{Fault, Reason, fault};

/// Writes canonical content; keeps its room between documents.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    spans: Vec<(usize, usize)>,
    sorted: Vec<u8>,
    /// Bytes of namespaces that the rest at hand may still take.
    room: usize,
    /// Why the rest at hand cannot be written.
    fault: Option<Fault>,
}

/// No namespace in use is longer: it is an address.
const MAX_NAMESPACE: usize = 512;
/// What the namespaces of all names of one event come to at most.
const MAX_NAMESPACES: usize = 1 << 24;

const LONG: &str = "a namespace that is used has at most 512 bytes";
const MANY: &str = "the names of one event have at most 16 MiB of namespaces";

/// A document that has been read and marked.
#[derive(Clone, Copy)]
pub(crate) struct Document<'a> {
    pub tape: &'a Tape,
    pub payload: &'a [u8],
    /// The normalizers' bytes.
    pub normalized: &'a [u8],
    /// Stands for the list of items of a record.
    pub items: &'a [u8],
    /// Members that say nothing are left out.
    pub empty_is_absent: bool,
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
    /// Appends the content of one value. Whether it says anything: `null`, `""`, and what holds
    /// nothing else do not.
    pub fn write(&mut self, doc: &Document<'_>, token: u32, out: &mut Vec<u8>) -> bool {
        self.value(doc, doc.tape.token(token), out)
    }

    /// Appends the rest within an identity.
    pub fn write_rest(
        &mut self,
        doc: &Document<'_>,
        token: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        (self.room, self.fault) = (MAX_NAMESPACES, None);
        self.write(doc, token, out);
        self.fault.map_or(Ok(()), Err)
    }

    fn value(&mut self, doc: &Document<'_>, token: Token, out: &mut Vec<u8>) -> bool {
        let (start, end) = (token.start as usize, token.end as usize);
        match token.kind {
            Kind::Object if doc.rest.is_some() => return self.sorted_object(doc, token, out),
            Kind::Object => return self.object(doc, token, out),
            Kind::Array if token.mark == Mark::Items => out.extend_from_slice(doc.items),
            Kind::Array if token.mark == Mark::Unordered => return self.unordered(doc, token, out),
            Kind::Array => return self.ordered(doc, token, out),
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
        }
        token.kind != Kind::Null && start < end
    }

    fn object(&mut self, doc: &Document<'_>, token: Token, out: &mut Vec<u8>) -> bool {
        let (begin, mut says) = (out.len(), false);
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
            let value_says = self.value(doc, value, out);
            match is_dropped(doc, value, value_says, out) {
                true => out.truncate(before),
                false => says |= value_says,
            }
        }
        open(begin, b'{', out);
        out.push(b'}');
        says
    }

    /// An element keeps its place whether it says anything or not.
    fn ordered(&mut self, doc: &Document<'_>, token: Token, out: &mut Vec<u8>) -> bool {
        let (begin, mut says) = (out.len(), false);
        for element in doc.tape.elements_of(token) {
            let element = doc.tape.token(*element);
            if !is_left_out(doc, element) {
                out.push(b',');
                says |= self.value(doc, element, out);
            }
        }
        open(begin, b'[', out);
        out.push(b']');
        says
    }

    fn unordered(&mut self, doc: &Document<'_>, token: Token, out: &mut Vec<u8>) -> bool {
        let (begin, mine, mut says) = (out.len(), self.spans.len(), false);
        for element in doc.tape.elements_of(token) {
            if is_left_out(doc, doc.tape.token(*element)) {
                continue;
            }
            let start = out.len();
            says |= self.write(doc, *element, out);
            self.spans.push((start, out.len()));
        }
        self.sort(begin, mine, [b'[', b']'], out);
        says
    }

    /// Expanded names stand in another order than those that were sent.
    fn sorted_object(&mut self, doc: &Document<'_>, token: Token, out: &mut Vec<u8>) -> bool {
        let (begin, mine, mut says) = (out.len(), self.spans.len(), false);
        for member in doc.tape.members_of(token) {
            let value = doc.tape.token(member.value);
            if is_left_out(doc, value) {
                continue;
            }
            let start = out.len();
            self.push_name(doc, member, out);
            out.push(b':');
            let value_says = self.value(doc, value, out);
            match is_dropped(doc, value, value_says, out) {
                true => out.truncate(start),
                false => {
                    says |= value_says;
                    self.spans.push((start, out.len()));
                }
            }
        }
        self.sort(begin, mine, [b'{', b'}'], out);
        says
    }

    /// Appends a name with its namespace, as long as there is room for it.
    fn push_name(&mut self, doc: &Document<'_>, member: &Member, out: &mut Vec<u8>) {
        let name = doc.tape.name(doc.payload, member);
        let expanded =
            doc.rest.and_then(|rest| rest.bindings.expand(doc.tape, doc.payload, rest.known, name));
        match (expanded, member.decoded) {
            (Some((namespace, local)), _) => {
                self.fault = match self.room.checked_sub(namespace.len()) {
                    _ if self.fault.is_some() => return,
                    _ if namespace.len() > MAX_NAMESPACE => Some(fault!(Reason::Json, LONG)),
                    None => Some(fault!(Reason::Json, MANY)),
                    Some(room) => {
                        self.room = room;
                        out.push(b'"');
                        push_inner(namespace, out);
                        push_inner(local, out);
                        out.push(b'"');
                        None
                    }
                };
            }
            (None, false) => {
                push_span(doc.payload, member.start as usize - 1, member.end as usize + 1, out)
            }
            (None, true) => push_escaped(name, out),
        }
    }

    /// Puts the texts written since `begin` in the order of their bytes, between brackets.
    fn sort(&mut self, begin: usize, mine: usize, brackets: [u8; 2], out: &mut Vec<u8>) {
        let text = |span: &(usize, usize)| span.0..span.1;
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

/// Whether a member makes no difference: it says nothing and the recipe takes that for absent; or
/// nothing is left of an object that was not empty, since all it said is in the identity or
/// ignored.
fn is_dropped(doc: &Document<'_>, value: Token, says: bool, out: &[u8]) -> bool {
    let spent = || value.kind == Kind::Object && value.count > 0 && out.ends_with(b":{}");
    (doc.empty_is_absent && !says) || spent()
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
