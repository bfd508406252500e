//! The fingerprint of a recipe: SHA-256 over what it means.
//!
//! Every fact that can change a key, a digest or a rejection is written in a fixed form, each
//! text with its length, and hashed. Every structure is taken apart by name, so that a new fact
//! does not compile until it is added here; else two recipes that differ in it would pass for one.

use super::scope::{
    Content, Field, Group, InPlace, Items, Namespaces, Pick, Pointer, Rule, Scope, Shape,
};
use super::{Encoding, FieldRef, Granularity, PrefixPart, Recipe};
use crate::identity::normalize::{Fact, Normalizer};
use sha2::{Digest, Sha256};

/// Grows whenever the same recipe would give other keys or digests than before.
const ENGINE_VERSION: u8 = 2;

pub(super) fn fingerprint(recipe: &Recipe) -> [u8; 32] {
    let Recipe { name, version, granularity, encoding, prefix, event_time, record, items, .. } =
        recipe;
    let mut meaning = Meaning(Vec::new());
    meaning.text("oncegate recipe");
    meaning.byte(ENGINE_VERSION);
    meaning.text(name);
    meaning.number((*version).into());
    meaning.byte(match granularity {
        Granularity::Record => 0,
        Granularity::Items => 1,
    });
    meaning.byte(match encoding {
        Encoding::Tuple => 0,
        Encoding::Json => 1,
    });
    meaning.list(prefix, |m, part| match part {
        PrefixPart::Literal(text) => {
            m.byte(0);
            m.text(text);
        }
        PrefixPart::Field(field) => m.field_ref(*field),
    });
    meaning.list(event_time, |m, field| m.field_ref(*field));
    meaning.scope(record);
    meaning.option(items.as_ref(), Meaning::items);
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

    fn option<T>(&mut self, option: Option<T>, some: impl FnOnce(&mut Meaning, T)) {
        self.byte(u8::from(option.is_some()));
        if let Some(value) = option {
            some(self, value);
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
        let Pointer { text: _, segments, at: _ } = pointer;
        self.list(segments, |m, segment| m.text(segment));
    }

    /// For lists of pointers whose order means nothing.
    fn pointers(&mut self, pointers: &[Pointer]) {
        let mut sorted: Vec<&Pointer> = pointers.iter().collect();
        sorted.sort_by(|a, b| a.segments.cmp(&b.segments));
        self.list(&sorted, |m, pointer| m.pointer(pointer));
    }

    fn scope(&mut self, scope: &Scope) {
        let Scope { fields, content, rules, rest } = scope;
        self.list(fields, Meaning::field);
        self.content(content);
        self.list(rules, Meaning::rule);
        self.option(rest.as_deref(), Meaning::text);
    }

    fn items(&mut self, items: &Items) {
        let Items { name, pointers, scope, sort, occurrence, namespaces } = items;
        self.text(name);
        self.list(pointers, Meaning::pointer);
        self.scope(scope);
        self.list(sort, |m, index| m.number(*index as u64));
        self.option(occurrence.as_deref(), Meaning::text);
        self.option(namespaces.as_ref(), |m, namespaces| {
            let Namespaces { pointer, known } = namespaces;
            m.pointer(pointer);
            m.list(known, |m, (prefix, namespace)| {
                m.text(prefix);
                m.text(namespace);
            });
        });
    }

    fn content(&mut self, content: &Content) {
        let Content { ignore, unordered, aside, in_place, qualified, empty_is_absent } = content;
        self.pointers(ignore);
        self.pointers(unordered);
        self.list(aside, Meaning::pointer);
        self.list(in_place, |m, InPlace { pointer, normalizer }| {
            m.pointer(pointer);
            m.normalizer(normalizer);
        });
        self.pointers(qualified);
        self.byte(u8::from(*empty_is_absent));
    }

    fn rule(&mut self, rule: &Rule) {
        let Rule { when, needs, needs_any } = rule;
        self.option(when.as_ref(), |m, (field, values)| {
            m.number(*field as u64);
            m.list(values, |m, value| m.text(value));
        });
        self.list(needs, Meaning::pointer);
        self.list(needs_any, Meaning::pointer);
    }

    fn field(&mut self, field: &Field) {
        let Field { name, pointer, shape, optional, absent_within, empty_is_absent, unless } =
            field;
        self.text(name);
        self.pointer(pointer);
        self.byte(u8::from(*optional));
        self.byte(u8::from(*absent_within));
        self.byte(u8::from(*empty_is_absent));
        self.option(*unless, |m, index| m.number(index as u64));
        match shape {
            Shape::One(normalizer) => {
                self.byte(0);
                self.normalizer(normalizer);
            }
            Shape::List { normalizer, unordered, or_single } => {
                self.byte(1);
                self.normalizer(normalizer);
                self.byte(u8::from(*unordered));
                self.byte(u8::from(*or_single));
            }
            Shape::Group(Group { members, unordered, open }) => {
                self.byte(2);
                self.list(members, Meaning::field);
                self.byte(u8::from(*unordered));
                self.byte(u8::from(*open));
            }
            Shape::Pick(Pick { whose, is, take, normalizer }) => {
                self.byte(3);
                self.pointer(whose);
                self.text(is);
                self.pointer(take);
                self.normalizer(normalizer);
            }
        }
    }

    fn normalizer(&mut self, normalizer: &Normalizer) {
        normalizer.facts(&mut |fact| match fact {
            Fact::Number(number) => self.number(number),
            Fact::Bytes(bytes) => self.bytes(bytes),
        });
    }
}
