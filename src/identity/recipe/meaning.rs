//! The fingerprint of a recipe: SHA-256 over what it means.
//!
//! Every fact that can change a key, a digest or a rejection is written in a fixed form, each
//! text with its length, and hashed. A new fact must be added here, or two recipes that differ
//! in it would pass for one.

use super::{Content, Encoding, Field, FieldRef, Granularity, Pointer, PrefixPart, Recipe};
use crate::identity::normalize::Normalizer;
use sha2::{Digest, Sha256};

/// Grows whenever the same recipe would give other keys or digests than before.
const ENGINE_VERSION: u8 = 1;

pub(super) fn fingerprint(recipe: &Recipe) -> [u8; 32] {
    let mut meaning = Meaning(Vec::new());
    meaning.text("oncegate recipe");
    meaning.byte(ENGINE_VERSION);
    meaning.text(&recipe.name);
    meaning.number(recipe.version.into());
    meaning.byte(match recipe.granularity {
        Granularity::Record => 0,
        Granularity::Items => 1,
    });
    meaning.byte(match recipe.encoding {
        Encoding::Tuple => 0,
        Encoding::Json => 1,
    });
    meaning.list(&recipe.prefix, |m, part| match part {
        PrefixPart::Literal(text) => {
            m.byte(0);
            m.text(text);
        }
        PrefixPart::Field(field) => m.field_ref(*field),
    });
    meaning.list(&recipe.event_time, |m, field| m.field_ref(*field));
    meaning.list(&recipe.fields, Meaning::field);
    meaning.content(&recipe.content);
    if let Some(items) = &recipe.items {
        meaning.text(&items.name);
        meaning.pointer(&items.pointer);
        meaning.list(&items.fields, Meaning::field);
        meaning.list(&items.sort, |m, index| m.number(*index as u64));
        meaning.text(items.occurrence.as_deref().unwrap_or(""));
        meaning.content(&items.content);
    }
    Sha256::digest(&meaning.0).into()
}

struct Meaning(Vec<u8>);

impl Meaning {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_be_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn list<T>(&mut self, list: &[T], mut each: impl FnMut(&mut Meaning, &T)) {
        self.number(list.len() as u64);
        for entry in list {
            each(self, entry);
        }
    }

    fn field_ref(&mut self, field: FieldRef) {
        let (kind, index) = match field {
            FieldRef::Record(index) => (1, index),
            FieldRef::Item(index) => (2, index),
        };
        self.byte(kind);
        self.number(index as u64);
    }

    fn pointer(&mut self, pointer: &Pointer) {
        self.list(&pointer.segments, |m, segment| m.text(segment));
    }

    /// The order in which pointers are listed means nothing.
    fn content(&mut self, content: &Content) {
        for pointers in [&content.ignore, &content.unordered] {
            let mut sorted: Vec<&Pointer> = pointers.iter().collect();
            sorted.sort_by(|a, b| a.segments.cmp(&b.segments));
            self.list(&sorted, |m, pointer| m.pointer(pointer));
        }
    }

    fn field(&mut self, field: &Field) {
        self.text(&field.name);
        self.pointer(&field.pointer);
        self.byte(u8::from(field.optional));
        self.byte(u8::from(field.empty_is_absent));
        self.normalizer(&field.normalizer);
    }

    /// The derived `Debug` of options is a list of names and values, each text quoted, which
    /// makes it a complete and unambiguous form of them.
    fn normalizer(&mut self, normalizer: &Normalizer) {
        self.text(&format!("{normalizer:?}"));
    }
}
