//! Strings: finding their ends, undoing escapes, checking their text.
//!
//! RFC 8259, section 7, and RFC 3629 for UTF-8. Eight bytes are looked at in one step; only what
//! has escapes is copied. Nothing here knows where a string stands.

use super::reader::{Reader, Step};

/// Where a string lies, in one word so that it travels in a register.
#[derive(Clone, Copy)]
pub(super) struct Span(u64);

const HALF: u32 = 31;
const MASK: u64 = (1 << HALF) - 1;

impl Span {
    /// Both ends fit 31 bits, since a document is at most 128 MiB.
    #[inline]
    fn new(start: usize, end: usize, decoded: bool) -> Span {
        Span(start as u64 | (end as u64) << HALF | u64::from(decoded) << (2 * HALF))
    }

    #[inline]
    pub fn start(self) -> usize {
        (self.0 & MASK) as usize
    }

    #[inline]
    pub fn end(self) -> usize {
        (self.0 >> HALF & MASK) as usize
    }

    /// It lies in the decoded bytes.
    #[inline]
    pub fn decoded(self) -> bool {
        self.0 >> (2 * HALF) != 0
    }
}

impl Reader<'_> {
    /// Reads a string from its opening quote on; the span is without the quotes.
    #[inline(always)]
    pub fn string(&mut self) -> Step<Span> {
        self.at += 1;
        let start = self.at;
        self.at = next_special::<true>(self.bytes, start);
        if self.peek() != b'"' {
            return self.unusual_string(start);
        }
        let span = Span::new(start, self.at, false);
        self.at += 1;
        Ok(span)
    }

    /// Anything but ASCII, or an escape, or a fault.
    #[cold]
    fn unusual_string(&mut self, start: usize) -> Step<Span> {
        self.at = next_special::<false>(self.bytes, self.at);
        match self.peek() {
            b'"' => {
                self.check_utf8(start, self.at)?;
                let span = Span::new(start, self.at, false);
                self.at += 1;
                Ok(span)
            }
            b'\\' => self.string_with_escapes(start),
            _ => self.fail(UNENDED),
        }
    }

    fn check_utf8(&mut self, start: usize, end: usize) -> Step<()> {
        match std::str::from_utf8(&self.bytes[start..end]) {
            Ok(_) => Ok(()),
            Err(e) => {
                self.at = start + e.valid_up_to();
                self.fail("text must be UTF-8")
            }
        }
    }

    /// The slow way: copies the string, with its escapes undone, to the decoded bytes.
    fn string_with_escapes(&mut self, start: usize) -> Step<Span> {
        let out = self.tape.decoded.len();
        let mut from = start;
        loop {
            self.at = next_special::<false>(self.bytes, self.at);
            let byte = self.peek();
            if byte != b'"' && byte != b'\\' {
                return self.fail(UNENDED);
            }
            self.check_utf8(from, self.at)?;
            self.tape.decoded.extend_from_slice(&self.bytes[from..self.at]);
            if byte == b'"' {
                break;
            }
            self.escape()?;
            from = self.at;
        }
        self.at += 1;
        Ok(Span::new(out, self.tape.decoded.len(), true))
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

/// Where the next byte is that a string cannot hold as it is; with `ASCII`, or that is not ASCII.
#[inline(always)]
fn next_special<const ASCII: bool>(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let quote = zero(word ^ (ONES * b'"' as u64));
        let backslash = zero(word ^ (ONES * b'\\' as u64));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let beyond = if ASCII { word } else { 0 };
        // The lowest bit that is set is right; a borrow can only spoil the ones above it.
        let special = (quote | backslash | control | beyond) & HIGH;
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 || (ASCII && byte >= 0x80) {
            break;
        }
        at += 1;
    }
    at
}
