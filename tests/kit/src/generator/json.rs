//! JSON text in many spellings of one document: order of members, blanks, escapes.
//! Changes no value: an array keeps its order, a number its digits.

use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use std::fmt::Write;

/// A document. Members are few and names known, so a list does.
#[derive(Clone, Debug)]
pub(super) enum Json {
    Text(String),
    /// A number (or another bare word), exactly as it shall stand.
    Bare(String),
    Object(Vec<(&'static str, Json)>),
    Array(Vec<Json>),
}

impl Json {
    pub(super) fn text(text: impl Into<String>) -> Json {
        Json::Text(text.into())
    }

    /// The compact text, members as given.
    pub(super) fn plain(&self) -> String {
        let mut out = String::with_capacity(512);
        self.write_plain(&mut out);
        out
    }

    /// The same document spelled otherwise.
    pub(super) fn respelled(&self, rng: &mut Xoshiro256PlusPlus) -> String {
        let mut speller = Speller {
            reorder: rng.random_bool(0.6),
            blanks: rng.random_bool(0.4),
            escapes: rng.random_bool(0.4),
            rng,
            out: String::with_capacity(768),
        };
        speller.write(self);
        speller.out
    }

    fn write_plain(&self, out: &mut String) {
        match self {
            Json::Text(text) => {
                out.push('"');
                text.chars().for_each(|c| push_char(out, c));
                out.push('"');
            }
            Json::Bare(word) => out.push_str(word),
            Json::Object(members) => {
                for (place, (name, value)) in members.iter().enumerate() {
                    out.push(if place == 0 { '{' } else { ',' });
                    let _ = write!(out, "\"{name}\":");
                    value.write_plain(out);
                }
                out.push_str(if members.is_empty() { "{}" } else { "}" });
            }
            Json::Array(elements) => {
                for (place, value) in elements.iter().enumerate() {
                    out.push(if place == 0 { '[' } else { ',' });
                    value.write_plain(out);
                }
                out.push_str(if elements.is_empty() { "[]" } else { "]" });
            }
        }
    }
}

struct Speller<'a> {
    reorder: bool,
    blanks: bool,
    escapes: bool,
    rng: &'a mut Xoshiro256PlusPlus,
    out: String,
}

impl Speller<'_> {
    fn write(&mut self, json: &Json) {
        self.blank();
        match json {
            Json::Text(text) => self.write_text(text),
            Json::Bare(word) => self.out.push_str(word),
            Json::Object(members) => {
                let mut order: Vec<usize> = (0..members.len()).collect();
                if self.reorder {
                    order.shuffle(self.rng);
                }
                self.out.push('{');
                for (place, index) in order.into_iter().enumerate() {
                    if place > 0 {
                        self.out.push(',');
                    }
                    self.blank();
                    self.write_text(members[index].0);
                    self.blank();
                    self.out.push(':');
                    self.write(&members[index].1);
                }
                self.out.push('}');
            }
            Json::Array(elements) => {
                self.out.push('[');
                for (place, element) in elements.iter().enumerate() {
                    if place > 0 {
                        self.out.push(',');
                    }
                    self.write(element);
                }
                self.out.push(']');
            }
        }
        self.blank();
    }

    fn write_text(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            if self.escapes && self.rng.random_ratio(1, 12) {
                self.push_escaped(c);
            } else {
                push_char(&mut self.out, c);
            }
        }
        self.out.push('"');
    }

    fn push_escaped(&mut self, c: char) {
        if c == '/' && self.rng.random_bool(0.5) {
            self.out.push_str("\\/");
            return;
        }
        let upper = self.rng.random_bool(0.5);
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = if upper {
                write!(self.out, "\\u{unit:04X}")
            } else {
                write!(self.out, "\\u{unit:04x}")
            };
        }
    }

    fn blank(&mut self) {
        if self.blanks && self.rng.random_ratio(1, 4) {
            let blanks = [" ", "  ", "\n", "\t", "\r\n "];
            self.out.push_str(blanks[self.rng.next_u32() as usize % blanks.len()]);
        }
    }
}

fn push_char(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        c if c < ' ' => {
            let _ = write!(out, "\\u{:04x}", c as u32);
        }
        c => out.push(c),
    }
}
