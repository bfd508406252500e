//! Units of the Unified Code for Units of Measure, by their spelling; never converted.
//!
//! The grammar of UCUM 2.1 (section 2) with its case-sensitive symbols. Case is meaning: `S` is
//! the siemens and `s` the second (P39), so nothing is folded. What is no UCUM is refused unless
//! the recipe's table maps that exact spelling. Of two symbols for one unit (`l` and `L`) one is
//! printed, and an exponent without needless signs and zeros. Some expressions are valid and still
//! nearly always a mistake: `K/uL` is kelvin per microlitre, and is refused, however it is written,
//! unless the table says what is meant (UCUM-4).

use super::text::Text;
use super::ucum_symbols::{METRIC, NON_METRIC, PREFIXES};
use super::{Answer, Entry, Input, Output};
use crate::identity::reject::{Reason, fault};

#[derive(Clone, Debug)]
pub(crate) struct Ucum {
    pub text: Text,
    /// Exact spelling and what it stands for, sorted by spelling; it goes before the grammar.
    pub table: Vec<Entry>,
}

const RULE: &str = "a unit of UCUM, or one of the recipe's spellings, is due";
const FRIEND: &str =
    "this unit of UCUM is nearly always meant otherwise; the recipe's table can say how";
/// No expression is longer, and none is nested deeper.
const MAX_LENGTH: usize = 128;
const MAX_DEPTH: usize = 8;

/// Symbols of UCUM (kelvin, gauss, tesla) that stand for thousands, thousand millions and million
/// millions where they are divided by a volume.
const COUNTS: [&[u8]; 3] = [b"K", b"G", b"T"];

impl Ucum {
    pub fn apply(&self, input: Input<'_>, out: &mut Output) -> Answer {
        let start = out.bytes.len();
        self.text.apply(input, out)?;
        let spelling = &out.bytes[start..];
        if let Ok(at) = self.table.binary_search_by(|(known, _)| known.as_ref().cmp(spelling)) {
            out.bytes.truncate(start);
            out.bytes.extend_from_slice(&self.table[at].1);
            out.plain = true;
            return Ok(());
        }
        if spelling.len() > MAX_LENGTH {
            return Err(fault!(Reason::Unit, RULE));
        }
        let mut copy = [0; MAX_LENGTH];
        let copy = &mut copy[..spelling.len()];
        copy.copy_from_slice(spelling);
        out.bytes.truncate(start);
        let mut parser = Parser { text: copy, at: 0, out: &mut out.bytes, seen: Seen::default() };
        let read = parser.main_term().is_some() && parser.at == parser.text.len();
        if read && parser.seen.is_count_per_volume() {
            return Err(fault!(Reason::Unit, FRIEND));
        }
        out.plain = !out.bytes[start..].iter().any(|b| matches!(b, b'"' | b'\\'));
        read.then_some(()).ok_or(fault!(Reason::Unit, RULE))
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    out: &'a mut Vec<u8>,
    seen: Seen,
}

/// What units an expression is a product of, as far as a false friend is told by it.
#[derive(Default)]
struct Seen {
    counts: u32,
    per_volume: u32,
    others: u32,
}

impl Seen {
    fn add(&mut self, prefix: &[u8], atom: &[u8], power: i32) {
        match (atom, power) {
            (_, 1) if prefix.is_empty() && COUNTS.contains(&atom) => self.counts += 1,
            (b"l" | b"L", -1) | (b"m", -3) => self.per_volume += 1,
            _ => self.others += 1,
        }
    }

    fn is_count_per_volume(&self) -> bool {
        (self.counts, self.per_volume, self.others) == (1, 1, 0)
    }
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Copies the byte that stands here.
    fn copy(&mut self) -> Option<()> {
        self.out.push(self.peek()?);
        self.at += 1;
        Some(())
    }

    fn main_term(&mut self) -> Option<()> {
        if self.peek() == Some(b'/') {
            self.copy()?;
            return self.term(0, -1, 1);
        }
        self.term(0, 1, 1)
    }

    /// `first` is the sign of the first component's power, `sign` that of the others.
    fn term(&mut self, depth: usize, first: i32, sign: i32) -> Option<()> {
        self.component(depth, first)?;
        while let Some(operator @ (b'.' | b'/')) = self.peek() {
            self.copy()?;
            self.component(depth, if operator == b'/' { -sign } else { sign })?;
        }
        Some(())
    }

    fn component(&mut self, depth: usize, sign: i32) -> Option<()> {
        match self.peek()? {
            b'(' if depth < MAX_DEPTH => {
                self.copy()?;
                self.term(depth + 1, sign, sign)?;
                (self.peek() == Some(b')')).then_some(())?;
                self.copy()
            }
            b'{' => self.annotation(),
            b'1'..=b'9' if !self.is_power_of_ten() => self.factor(),
            _ => {
                self.symbol(sign)?;
                if self.peek() == Some(b'{') { self.annotation() } else { Some(()) }
            }
        }
    }

    /// `10*` and `10^` are symbols of their own, not the factor 10.
    fn is_power_of_ten(&self) -> bool {
        matches!(self.text.get(self.at..), Some([b'1', b'0', b'*' | b'^', ..]))
    }

    fn factor(&mut self) -> Option<()> {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.copy()?;
        }
        if self.peek() == Some(b'{') { self.annotation() } else { Some(()) }
    }

    /// Curly braces hold what UCUM gives no meaning; kept, since people do.
    fn annotation(&mut self) -> Option<()> {
        self.copy()?;
        while self.peek()? != b'}' {
            matches!(self.peek(), Some(b'!'..=b'z' | b'|' | b'~')).then_some(())?;
            self.copy()?;
        }
        self.copy()
    }

    /// The power of a symbol, written without `+`, leading zeros, or where it is 1.
    fn exponent(&mut self) -> Option<i32> {
        let sign = self.peek().filter(|b| matches!(b, b'+' | b'-'));
        self.at += usize::from(sign.is_some());
        let rest = self.text.get(self.at..)?;
        let count = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        if count == 0 {
            return sign.is_none().then_some(1);
        }
        let zeros = rest[..count].iter().take_while(|b| **b == b'0').count();
        let digits = &rest[zeros.min(count - 1)..count];
        self.at += count;
        let negative = sign == Some(b'-') && digits != b"0";
        if negative {
            self.out.push(b'-');
        }
        if negative || digits != b"1" {
            self.out.extend_from_slice(digits);
        }
        let size = digits
            .iter()
            .fold(0, |n: i32, d| n.saturating_mul(10).saturating_add(i32::from(d - b'0')));
        Some(if negative { -size } else { size })
    }

    /// A symbol, with a prefix where it is metric, and its exponent.
    fn symbol(&mut self, sign: i32) -> Option<()> {
        let text = self.text;
        let rest = &text[self.at..];
        let end = symbol_length(rest);
        // The exponent's digits may belong to the symbol, as in `m[H2O]` or `10*3`.
        let (prefix, atom) = split_prefix(&rest[..end])?;
        self.out.extend_from_slice(prefix);
        self.out.extend_from_slice(preferred(atom));
        self.at += end;
        let power = sign.saturating_mul(self.exponent()?);
        self.seen.add(prefix, atom, power);
        Some(())
    }
}

/// Where the symbol ends: letters, and whole brackets; `%`, `'` and `"` are letters too.
fn symbol_length(text: &[u8]) -> usize {
    if let [b'1', b'0', b'*' | b'^', ..] = text {
        return 3;
    }
    let mut bracket = false;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'[' if !bracket => bracket = true,
            b']' if bracket => bracket = false,
            _ if bracket => {}
            b'a'..=b'z' | b'A'..=b'Z' | b'%' | b'\'' | b'"' | b'_' => {}
            _ => return at,
        }
    }
    text.len()
}

/// A symbol as it is, or a prefix and a metric symbol.
fn split_prefix(symbol: &[u8]) -> Option<(&[u8], &[u8])> {
    let is = |list: &[&str], text: &[u8]| list.iter().any(|known| known.as_bytes() == text);
    if is(METRIC, symbol) || is(NON_METRIC, symbol) {
        return Some((b"", symbol));
    }
    let prefix = |p: &&str| symbol.strip_prefix(p.as_bytes()).is_some_and(|atom| is(METRIC, atom));
    // No symbol can be split in two ways: section 2.5 of UCUM was made so.
    let prefix = PREFIXES.iter().find(|p| prefix(p))?;
    Some(symbol.split_at(prefix.len()))
}

/// One of two symbols that are the same unit to the letter of the standard.
fn preferred(atom: &[u8]) -> &[u8] {
    match atom {
        b"l" => b"L",
        b"10^" => b"10*",
        b"[iU]" => b"[IU]",
        _ => atom,
    }
}
