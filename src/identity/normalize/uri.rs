//! URIs as far as identity needs them: is it one, and percent-encoding (RFC 3986).
//!
//! Nothing is resolved, and nothing of a URI's own meaning is judged here.

/// RFC 3986, section 3: a scheme, a colon, and characters that a URI (or IRI) can hold.
pub(super) fn is_uri(text: &[u8]) -> bool {
    let Some(colon) = text.iter().position(|b| *b == b':') else {
        return false;
    };
    let (scheme, rest) = (&text[..colon], &text[colon + 1..]);
    scheme.first().is_some_and(u8::is_ascii_alphabetic)
        && scheme.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
        && !rest.is_empty()
        && !rest.iter().any(|b| {
            matches!(
                b,
                0..=b' ' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | 0x7F
            )
        })
}

/// What follows `http://` or `https://`, in any case (section 3.1).
pub(super) fn without_scheme(text: &[u8]) -> Option<&[u8]> {
    [&b"https://"[..], b"http://"].iter().find_map(|scheme| {
        let (head, rest) = text.split_at_checked(scheme.len())?;
        head.eq_ignore_ascii_case(scheme).then_some(rest)
    })
}

/// The host of an address, from behind `//` on, without user and port (section 3.2).
pub(super) fn host(address: &[u8]) -> &[u8] {
    let end = address.iter().position(|b| matches!(b, b'/' | b'?' | b'#')).unwrap_or(address.len());
    let authority = &address[..end];
    let user = authority.iter().rposition(|b| *b == b'@').map_or(0, |at| at + 1);
    let host = &authority[user..];
    host.iter().position(|b| *b == b':').map_or(host, |port| &host[..port])
}

/// Undoes percent-encoding (section 2.1) into a short text; `None` where it is broken or what it
/// holds does not fit.
pub(super) fn decode(text: &[u8]) -> Option<Short> {
    let mut short = Short::default();
    let mut rest = text;
    while let [first, after @ ..] = rest {
        let (byte, after) = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |d: &u8| char::from(*d).to_digit(16);
                ((digit(high)? << 4 | digit(low)?) as u8, after)
            }
            (b'%', _) => return None,
            _ => (*first, after),
        };
        short.push(byte)?;
        rest = after;
    }
    Some(short)
}

/// Appends a text with everything percent-encoded but the unreserved characters (section 2.3).
pub(super) fn push_encoded(text: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(*byte),
            _ => out.extend_from_slice(&[
                b'%',
                HEX[usize::from(byte >> 4)],
                HEX[usize::from(byte & 15)],
            ]),
        }
    }
}

/// A short text on the stack: no key of GS1 with its qualifier is longer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Short {
    bytes: [u8; 48],
    len: usize,
}

impl Default for Short {
    fn default() -> Self {
        Short { bytes: [0; 48], len: 0 }
    }
}

impl Short {
    pub fn push(&mut self, byte: u8) -> Option<()> {
        *self.bytes.get_mut(self.len)? = byte;
        self.len += 1;
        Some(())
    }

    pub fn extend(&mut self, bytes: &[u8]) -> Option<()> {
        bytes.iter().try_for_each(|byte| self.push(*byte))
    }

    pub fn of(bytes: &[u8]) -> Option<Short> {
        let mut short = Short::default();
        short.extend(bytes)?;
        Some(short)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
