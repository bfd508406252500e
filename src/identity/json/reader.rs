//! The reader: bytes to [`Tape`], by the grammar of RFC 8259.
//!
//! It goes over the bytes once and stops at the first fault, naming the rule and the position.
//! Strings are read in `strings`, the order of members is found in `order`. It must not know
//! what any member means.

use super::MAX_DEPTH;
use super::shapes::{Expected, Repeated};
use super::tape::{Kind, Mark, Member, Tape, Token, prefix_at};
use crate::identity::reject::Rejection;

/// The reader stops; what was wrong is noted in it, which keeps the common answers small.
pub(super) struct Stop;

pub(super) type Step<T> = Result<T, Stop>;

impl Tape {
    /// Reads one document; the token of its root is number 0.
    pub fn read(&mut self, payload: &[u8]) -> Result<(), Rejection> {
        self.clear();
        if payload.len() > MAX_LEN {
            return Err(Rejection::syntax("a document is at most 128 MiB", MAX_LEN));
        }
        let mut reader = Reader { bytes: payload, at: 0, rule: "", tape: self };
        reader.document().map_err(|Stop| Rejection::syntax(reader.rule, reader.at))
    }
}

/// Keeps every span of the document within 32 bits, and its tokens, members and elements too,
/// since each has a byte of its own at least.
const MAX_LEN: usize = 1 << 27;

pub(super) struct Reader<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
    /// The rule that was broken, once the reader has stopped.
    rule: &'static str,
    pub tape: &'a mut Tape,
}

impl Reader<'_> {
    #[cold]
    pub fn fail<T>(&mut self, rule: &'static str) -> Step<T> {
        self.rule = rule;
        Err(Stop)
    }

    fn document(&mut self) -> Step<()> {
        self.skip_blanks();
        if self.peek() == b'<' {
            return self.fail("this is XML; a JSON document is due");
        }
        self.value(0)?;
        self.skip_blanks();
        match self.at == self.bytes.len() {
            true => Ok(()),
            false => self.fail("nothing may follow the document"),
        }
    }

    #[inline]
    pub fn peek(&self) -> u8 {
        // A zero byte is no part of the grammar, so it serves for "nothing left".
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    #[inline]
    fn push(&mut self, kind: Kind, start: usize, end: usize) -> u32 {
        let index = self.tape.tokens.len() as u32;
        let (start, end) = (start as u32, end as u32);
        self.tape.tokens.push(Token {
            kind,
            mark: Mark::Literal,
            start,
            end,
            first: 0,
            count: 0,
            shape: 0,
        });
        index
    }

    /// Reads a value; `depth` is the number of containers around it. Returns its token.
    fn value(&mut self, depth: usize) -> Step<u32> {
        match self.peek() {
            b'"' => self.text(),
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word(b"true", Kind::True),
            b'f' => self.word(b"false", Kind::False),
            b'n' => self.word(b"null", Kind::Null),
            _ => self.fail("a value is due"),
        }
    }

    #[inline(always)]
    fn text(&mut self) -> Step<u32> {
        let text = self.string()?;
        let kind = if text.decoded() { Kind::Decoded } else { Kind::Text };
        Ok(self.push(kind, text.start(), text.end()))
    }

    fn word(&mut self, word: &[u8], kind: Kind) -> Step<u32> {
        if !self.bytes[self.at..].starts_with(word) {
            return self.fail("a value is due");
        }
        let start = self.at;
        self.at += word.len();
        Ok(self.push(kind, start, self.at))
    }

    fn digits(&mut self) -> Step<()> {
        if !self.peek().is_ascii_digit() {
            return self.fail("a digit is due");
        }
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        Ok(())
    }

    /// RFC 8259, section 6. What follows the number is judged by whoever reads on.
    fn number(&mut self) -> Step<u32> {
        let start = self.at;
        if self.peek() == b'-' {
            self.at += 1;
        }
        if self.peek() == b'0' {
            self.at += 1;
            if self.peek().is_ascii_digit() {
                return self.fail("a number has no leading zeros");
            }
        } else {
            self.digits()?;
        }
        if self.peek() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(self.push(Kind::Number, start, self.at))
    }

    fn object(&mut self, depth: usize) -> Step<u32> {
        let token = self.open(depth, Kind::Object)?;
        let base = self.tape.open_members.len();
        let mut expected = self.tape.shapes.object();
        self.skip_blanks();
        if self.peek() == b'}' {
            self.at += 1;
        } else {
            loop {
                let place = self.tape.open_members.len() - base;
                let member = self.member(depth + 1, &mut expected, place)?;
                self.tape.open_members.push(member);
                self.skip_blanks();
                let byte = self.peek();
                if byte != b',' && byte != b'}' {
                    return self.fail("a comma or a closing brace is due");
                }
                self.at += 1;
                if byte == b'}' {
                    break;
                }
                self.skip_blanks();
            }
        }
        let first = self.tape.members.len() as u32;
        let Tape { open_members, members, decoded, shapes, .. } = &mut *self.tape;
        let texts = (self.bytes, decoded.as_slice());
        let sorted = shapes.append_sorted(expected, texts, &mut open_members[base..], members);
        open_members.truncate(base);
        match sorted {
            Ok(shape) => self.tape.tokens[token as usize].shape = shape,
            Err(Repeated) => return self.fail("a member is repeated in the object that ends here"),
        }
        self.close(token, first, self.tape.members.len() as u32 - first);
        Ok(token)
    }

    #[inline]
    fn member(&mut self, depth: usize, expected: &mut Expected, place: usize) -> Step<Member> {
        let known = self.tape.shapes.name_here(expected, place, self.bytes, self.at);
        let mut member = match known {
            Some((length, prefix)) => {
                let start = self.at as u32 + 1;
                self.at += length;
                Member {
                    prefix,
                    start,
                    end: self.at as u32 - 1,
                    decoded: false,
                    place: 0,
                    value: 0,
                }
            }
            None => self.name()?,
        };
        self.skip_blanks();
        if self.peek() != b':' {
            return self.fail("a colon is due");
        }
        self.at += 1;
        self.skip_blanks();
        // Most values are strings, which need no look at what else there is.
        member.value = if self.peek() == b'"' { self.text()? } else { self.value(depth)? };
        Ok(member)
    }

    /// Reads the name of a member.
    fn name(&mut self) -> Step<Member> {
        if self.peek() != b'"' {
            return self.fail("the name of a member is due");
        }
        let name = self.string()?;
        let from = if name.decoded() { &self.tape.decoded } else { self.bytes };
        Ok(Member {
            prefix: prefix_at(from, name.start(), name.end()),
            start: name.start() as u32,
            end: name.end() as u32,
            decoded: name.decoded(),
            place: 0,
            value: 0,
        })
    }

    fn array(&mut self, depth: usize) -> Step<u32> {
        let token = self.open(depth, Kind::Array)?;
        let base = self.tape.open_elements.len();
        self.skip_blanks();
        if self.peek() == b']' {
            self.at += 1;
        } else {
            loop {
                let element = self.value(depth + 1)?;
                self.tape.open_elements.push(element);
                self.skip_blanks();
                let byte = self.peek();
                if byte != b',' && byte != b']' {
                    return self.fail("a comma or a closing bracket is due");
                }
                self.at += 1;
                if byte == b']' {
                    break;
                }
                self.skip_blanks();
            }
        }
        let first = self.tape.elements.len() as u32;
        self.tape.elements.extend_from_slice(&self.tape.open_elements[base..]);
        self.tape.open_elements.truncate(base);
        self.close(token, first, self.tape.elements.len() as u32 - first);
        Ok(token)
    }

    fn open(&mut self, depth: usize, kind: Kind) -> Step<u32> {
        if depth >= MAX_DEPTH {
            return self.fail("arrays and objects stand at most 64 deep");
        }
        let token = self.push(kind, self.at, self.at);
        self.at += 1;
        Ok(token)
    }

    fn close(&mut self, token: u32, first: u32, count: u32) {
        let token = &mut self.tape.tokens[token as usize];
        token.end = self.at as u32;
        token.first = first;
        token.count = count;
    }
}
