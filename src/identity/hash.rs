//! The two fingerprints of an event: its key and its content digest.
//!
//! Only the values and their text form live here; how they are derived is in
//! [`derive`](super::derive). Nothing here reads a record.

use std::fmt;

/// The identity of an event: SHA-256 over the bytes of its canonical identity.
///
/// Two deliveries of one event have one key however they are spelled; the text of a key is the
/// recipe's prefix and then these 32 bytes as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventKey([u8; 32]);

/// What else an event says: the first 16 bytes of SHA-256 over its canonical content.
///
/// Same key and same digest: the same event again. Same key and another digest: a conflict.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentDigest([u8; 16]);

macro_rules! fingerprint {
    ($name:ident, $width:literal) => {
        impl $name {
            /// Takes the bytes as they are.
            pub const fn new(bytes: [u8; $width]) -> Self {
                Self(bytes)
            }

            /// Reads stored bytes; `None` when their number is not the right one.
            pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self)
            }

            /// The bytes, for a store or a journal.
            pub const fn as_bytes(&self) -> &[u8; $width] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut text = [0; $width * 2];
                for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
                    pair[0] = HEX[usize::from(byte >> 4)];
                    pair[1] = HEX[usize::from(byte & 15)];
                }
                // Hex digits are ASCII, so this never takes the fallback.
                f.write_str(std::str::from_utf8(&text).unwrap_or_default())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }
    };
}

const HEX: &[u8; 16] = b"0123456789abcdef";

fingerprint!(EventKey, 32);
fingerprint!(ContentDigest, 16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_is_lower_case_hex() {
        let mut bytes = [0; 32];
        bytes[0] = 0xAB;
        bytes[31] = 0x0F;
        let text = EventKey::new(bytes).to_string();
        assert_eq!(text.len(), 64);
        assert!(text.starts_with("ab00") && text.ends_with("000f"));
        assert_eq!(ContentDigest::new([0xFF; 16]).to_string(), "f".repeat(32));
    }

    #[test]
    fn from_bytes_refuses_another_width() {
        assert!(EventKey::from_bytes(&[0; 31]).is_none());
        assert_eq!(EventKey::from_bytes(&[7; 32]), Some(EventKey::new([7; 32])));
        assert!(ContentDigest::from_bytes(&[0; 32]).is_none());
    }
}
