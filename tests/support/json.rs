//! JSON for tests: it keeps the text of numbers and the order of members, and it can be written
//! in as many ways as RFC 8259 allows.

use super::Random;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// A number, `true`, `false` or `null`, as it stands.
    Raw(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a document that is known to be good.
    pub fn parse(text: &str) -> Json {
        let mut parser = Parser { text: text.as_bytes(), at: 0 };
        parser.value()
    }

    pub fn text(text: impl Into<String>) -> Json {
        Json::Text(text.into())
    }

    /// The value at a pointer's segments.
    pub fn at(&mut self, segments: &[&str]) -> &mut Json {
        segments.iter().fold(self, |json, segment| match json {
            Json::Object(members) => {
                let member = members.iter_mut().find(|(name, _)| name == segment);
                &mut member.unwrap_or_else(|| panic!("no member {segment}")).1
            }
            Json::List(list) => &mut list[segment.parse::<usize>().unwrap()],
            _ => panic!("nothing lies below {segment}"),
        })
    }

    pub fn as_text(&mut self) -> &mut String {
        match self {
            Json::Text(text) | Json::Raw(text) => text,
            _ => panic!("a text is due"),
        }
    }

    pub fn as_list(&mut self) -> &mut Vec<Json> {
        match self {
            Json::List(list) => list,
            _ => panic!("a list is due"),
        }
    }

    pub fn as_object(&mut self) -> &mut Vec<(String, Json)> {
        match self {
            Json::Object(members) => members,
            _ => panic!("an object is due"),
        }
    }

    /// Writes it plainly.
    pub fn plain(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, &mut |_, _| {});
        out
    }

    /// Writes it with its members in any order, blanks anywhere, and any character escaped.
    pub fn spelled(&self, random: &mut Random) -> String {
        let mut json = self.clone();
        json.shuffle(random);
        let mut out = String::new();
        let mut blanks = Random(random.next());
        json.write(&mut out, &mut |out, inside| match inside {
            Some(c) => escape(c, out, &mut blanks),
            None => {
                (0..blanks.below(3)).for_each(|_| out.push(*blanks.pick(&[' ', '\n', '\t', '\r'])))
            }
        });
        out
    }

    fn shuffle(&mut self, random: &mut Random) {
        match self {
            Json::Object(members) => {
                random.shuffle(members);
                members.iter_mut().for_each(|(_, value)| value.shuffle(random));
            }
            Json::List(list) => list.iter_mut().for_each(|value| value.shuffle(random)),
            _ => {}
        }
    }

    /// `style` writes a character of a string, or, without one, what may stand between tokens.
    fn write(&self, out: &mut String, style: &mut dyn FnMut(&mut String, Option<char>)) {
        style(out, None);
        match self {
            Json::Raw(raw) => out.push_str(raw),
            Json::Text(text) => write_text(text, out, style),
            Json::List(list) => {
                out.push('[');
                for (place, value) in list.iter().enumerate() {
                    if place > 0 {
                        out.push(',');
                    }
                    value.write(out, style);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (place, (name, value)) in members.iter().enumerate() {
                    if place > 0 {
                        out.push(',');
                    }
                    style(out, None);
                    write_text(name, out, style);
                    style(out, None);
                    out.push(':');
                    value.write(out, style);
                }
                out.push('}');
            }
        }
        style(out, None);
    }
}

fn write_text(text: &str, out: &mut String, style: &mut dyn FnMut(&mut String, Option<char>)) {
    out.push('"');
    for c in text.chars() {
        let before = out.len();
        style(out, Some(c));
        if out.len() == before {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
                c => out.push(c),
            }
        }
    }
    out.push('"');
}

/// Escapes a character in one of its ways, or leaves it to be written as it is.
fn escape(c: char, out: &mut String, random: &mut Random) {
    let short = match c {
        '"' | '\\' | '/' => Some(c),
        '\u{8}' => Some('b'),
        '\u{C}' => Some('f'),
        '\n' => Some('n'),
        '\r' => Some('r'),
        '\t' => Some('t'),
        _ => None,
    };
    match (random.below(8), short) {
        (0, _) => {
            let upper = random.one_in(2);
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&if upper {
                    format!("\\u{unit:04X}")
                } else {
                    format!("\\u{unit:04x}")
                });
            }
        }
        (1..=3, Some(short)) => out.extend(['\\', short]),
        _ => {}
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&mut self) -> u8 {
        while self.text[self.at].is_ascii_whitespace() {
            self.at += 1;
        }
        self.text[self.at]
    }

    fn take(&mut self, byte: u8) -> bool {
        let here = self.peek() == byte;
        self.at += usize::from(here);
        here
    }

    fn value(&mut self) -> Json {
        match self.peek() {
            b'{' => {
                self.at += 1;
                let mut members = Vec::new();
                while !self.take(b'}') {
                    let name = self.string();
                    assert!(self.take(b':'));
                    members.push((name, self.value()));
                    self.take(b',');
                }
                Json::Object(members)
            }
            b'[' => {
                self.at += 1;
                let mut list = Vec::new();
                while !self.take(b']') {
                    list.push(self.value());
                    self.take(b',');
                }
                Json::List(list)
            }
            b'"' => Json::Text(self.string()),
            _ => {
                let raw = |b: &u8| !matches!(b, b',' | b'}' | b']') && !b.is_ascii_whitespace();
                let length = self.text[self.at..].iter().take_while(|b| raw(b)).count();
                let start = self.at;
                self.at += length;
                Json::Raw(String::from_utf8(self.text[start..self.at].to_vec()).unwrap())
            }
        }
    }

    /// The escapes of a string are left to serde_json, which is a second opinion on them.
    fn string(&mut self) -> String {
        assert_eq!(self.peek(), b'"');
        let start = self.at;
        self.at += 1;
        while self.text[self.at] != b'"' {
            self.at += if self.text[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        serde_json::from_slice(&self.text[start..self.at]).unwrap()
    }
}
