//! The reader: bytes to [`Tape`], by the grammar of RFC 8259.
//!
//! It goes over the bytes once and stops at the first fault, naming the rule and the position.
//! It must not know what any member means.

use super::MAX_DEPTH;
use super::tape::{Kind, Mark, Member, Tape, Token, name_in, prefix_of};
use crate::identity::reject::Rejection;

/// The reader stops; what was wrong is noted in it, which keeps the common answers small.
struct Stop;

type Step<T> = Result<T, Stop>;

impl Tape {
    /// Reads one document; the token of its root is number 0.
    pub fn read(&mut self, payload: &[u8]) -> Result<(), Rejection> {
        self.clear();
        if payload.len() > MAX_LEN {
            return Err(Rejection::syntax("a document is at most 1 GiB", MAX_LEN));
        }
        let mut reader = Reader { bytes: payload, at: 0, rule: "", tape: self };
        reader.document().map_err(|Stop| Rejection::syntax(reader.rule, reader.at))
    }
}

/// Keeps every span, decoded or not, within 32 bits.
const MAX_LEN: usize = 1 << 30;

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The rule that was broken, once the reader has stopped.
    rule: &'static str,
    tape: &'a mut Tape,
}

impl Reader<'_> {
    #[cold]
    fn fail<T>(&mut self, rule: &'static str) -> Step<T> {
        self.rule = rule;
        Err(Stop)
    }

    fn document(&mut self) -> Step<()> {
        self.skip_blanks();
        self.value(0)?;
        self.skip_blanks();
        match self.at == self.bytes.len() {
            true => Ok(()),
            false => self.fail("nothing may follow the document"),
        }
    }

    #[inline]
    fn peek(&self) -> u8 {
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
        self.tape.tokens.push(Token { kind, mark: Mark::Literal, start, end, first: 0, count: 0 });
        index
    }

    /// Reads a value; `depth` is the number of containers around it. Returns its token.
    fn value(&mut self, depth: usize) -> Step<u32> {
        match self.peek() {
            b'"' => {
                let (start, end, decoded) = self.string()?;
                Ok(self.push(if decoded { Kind::Decoded } else { Kind::Text }, start, end))
            }
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word(b"true", Kind::True),
            b'f' => self.word(b"false", Kind::False),
            b'n' => self.word(b"null", Kind::Null),
            _ => self.fail("a value is due"),
        }
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
        self.skip_blanks();
        if self.peek() == b'}' {
            self.at += 1;
        } else {
            loop {
                let member = self.member(depth + 1)?;
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
        self.sort_members(base)?;
        let first = self.tape.members.len() as u32;
        self.tape.members.extend_from_slice(&self.tape.open_members[base..]);
        self.tape.open_members.truncate(base);
        self.close(token, first, self.tape.members.len() as u32 - first);
        Ok(token)
    }

    #[inline]
    fn member(&mut self, depth: usize) -> Step<Member> {
        if self.peek() != b'"' {
            return self.fail("the name of a member is due");
        }
        let (start, end, decoded) = self.string()?;
        let from = if decoded { &self.tape.decoded } else { self.bytes };
        let prefix = prefix_of(&from[start..end]);
        self.skip_blanks();
        if self.peek() != b':' {
            return self.fail("a colon is due");
        }
        self.at += 1;
        self.skip_blanks();
        let value = self.value(depth)?;
        Ok(Member { prefix, start: start as u32, end: end as u32, decoded, value })
    }

    /// Sorts the members of the object that closes, which also finds a repeated name.
    fn sort_members(&mut self, base: usize) -> Step<()> {
        let Tape { open_members, decoded, .. } = &mut *self.tape;
        let members = &mut open_members[base..];
        let order = |a: &Member, b: &Member| {
            a.prefix
                .cmp(&b.prefix)
                .then_with(|| name_in(decoded, self.bytes, a).cmp(name_in(decoded, self.bytes, b)))
        };
        if members.len() <= 12 {
            for sorted in 1..members.len() {
                let mut hole = sorted;
                while hole > 0 && order(&members[hole], &members[hole - 1]).is_lt() {
                    members.swap(hole, hole - 1);
                    hole -= 1;
                }
            }
        } else {
            members.sort_unstable_by(order);
        }
        match members.windows(2).any(|pair| order(&pair[0], &pair[1]).is_eq()) {
            true => self.fail("a member is repeated in the object that ends here"),
            false => Ok(()),
        }
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

    /// Reads a string from its opening quote on. Returns its span and whether that lies in the
    /// decoded bytes.
    #[inline]
    fn string(&mut self) -> Step<(usize, usize, bool)> {
        self.at += 1;
        let start = self.at;
        let mut ascii = true;
        loop {
            self.at = next_special(self.bytes, self.at);
            match self.peek() {
                b'"' => break,
                b'\\' => return self.string_with_escapes(start),
                0x80.. => {
                    ascii = false;
                    self.at += 1;
                }
                _ => return self.fail(UNENDED),
            }
        }
        let end = self.at;
        if !ascii {
            self.check_utf8(start, end)?;
        }
        self.at += 1;
        Ok((start, end, false))
    }

    #[cold]
    fn check_utf8(&mut self, start: usize, end: usize) -> Step<()> {
        match std::str::from_utf8(&self.bytes[start..end]) {
            Ok(_) => Ok(()),
            Err(e) => {
                self.at = start + e.valid_up_to();
                self.fail("text is UTF-8")
            }
        }
    }

    /// The slow way: copies the string, with its escapes undone, to the decoded bytes.
    #[cold]
    fn string_with_escapes(&mut self, start: usize) -> Step<(usize, usize, bool)> {
        let out = self.tape.decoded.len();
        let mut from = start;
        loop {
            self.at = next_special(self.bytes, self.at);
            match self.peek() {
                byte @ (b'"' | b'\\') => {
                    self.check_utf8(from, self.at)?;
                    self.tape.decoded.extend_from_slice(&self.bytes[from..self.at]);
                    if byte == b'"' {
                        break;
                    }
                    self.escape()?;
                    from = self.at;
                }
                0x80.. => self.at += 1,
                _ => return self.fail(UNENDED),
            }
        }
        self.at += 1;
        Ok((out, self.tape.decoded.len(), true))
    }

    /// RFC 8259, section 7: one escape, from its backslash on.
    fn escape(&mut self) -> Step<()> {
        self.at += 1;
        let plain = match self.peek() {
            byte @ (b'"' | b'\\' | b'/') => byte,
            b'b' => 0x08,
            b'f' => 0x0C,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => return self.unicode_escape(),
            _ => return self.fail("no such escape"),
        };
        self.at += 1;
        self.tape.decoded.push(plain);
        Ok(())
    }

    fn unicode_escape(&mut self) -> Step<()> {
        let first = self.hex4()?;
        let code = match first {
            0xD800..=0xDBFF => {
                if !self.bytes[self.at..].starts_with(b"\\u") {
                    return self.fail(LONE);
                }
                self.at += 1;
                match self.hex4()? {
                    low @ 0xDC00..=0xDFFF => 0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00),
                    _ => return self.fail(LONE),
                }
            }
            code => code,
        };
        match char::from_u32(code) {
            Some(c) => {
                let mut utf8 = [0; 4];
                self.tape.decoded.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
                Ok(())
            }
            None => self.fail(LONE),
        }
    }

    /// Four hex digits after the `u` that stands here.
    fn hex4(&mut self) -> Step<u32> {
        self.at += 1;
        let mut code = 0;
        for _ in 0..4 {
            match char::from(self.peek()).to_digit(16) {
                Some(digit) => code = code << 4 | digit,
                None => return self.fail("four hex digits are due"),
            }
            self.at += 1;
        }
        Ok(code)
    }
}

const UNENDED: &str = "a string ends with a quote and holds no bare control character";
const LONE: &str = "a surrogate stands only in a pair";

/// Where the next byte is that a string cannot hold as it is, or that is not ASCII; eight bytes
/// are looked at in one step.
#[inline]
fn next_special(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let quote = zero(word ^ (ONES * b'"' as u64));
        let backslash = zero(word ^ (ONES * b'\\' as u64));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        // The lowest bit that is set is right; a borrow can only spoil the ones above it.
        let special = (quote | backslash | control | word) & HIGH;
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' || byte == b'\\' || !(0x20..0x80).contains(&byte) {
            break;
        }
        at += 1;
    }
    at
}
