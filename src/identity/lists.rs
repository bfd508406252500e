//! Fields that are lists: of values, of objects, or of objects of which one is picked.
//!
//! Each element is normalized by itself and written as JSON; where the order means nothing the
//! texts are sorted. Duplicates stay: two equal entries are two.

use super::fields::{Misfit, Normalizing, input};
use super::json::Kind;
use super::normalize::{Input, Normalizer};
use super::preimage::{Form, Value, push_json};
use super::recipe::{Field, Group, Pick, Shape};
use super::reject::{Fault, Reason, fault};
use super::resolve::NONE;

/// Room for composing lists.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    text: Vec<u8>,
    spans: Vec<(u32, u32)>,
}

impl Normalizing<'_> {
    /// The number of elements; an absent or empty list is a fault.
    fn elements(&self, field: &Field, slot: u32) -> Result<usize, Box<Misfit>> {
        let fault = match (slot, field.normalizer()) {
            (NONE, _) => fault!(Reason::Empty, "a list is due"),
            _ => match self.tape.token(slot) {
                token if token.kind != Kind::Array => fault!(Reason::Json, "a list is due"),
                token if token.count == 0 => {
                    fault!(Reason::Empty, "a list that is not empty is due")
                }
                token => return Ok(token.count as usize),
            },
        };
        Err(Misfit::at(&field.pointer.text, fault))
    }

    fn element(&self, slot: u32, index: usize) -> u32 {
        self.tape.elements_of(self.tape.token(slot))[index]
    }

    pub(super) fn list(
        &mut self,
        field: &Field,
        normalizer: &Normalizer,
        unordered: bool,
        or_single: bool,
        slot: u32,
    ) -> Result<Value, Box<Misfit>> {
        self.lists.begin();
        if or_single && slot != NONE && self.tape.token(slot).kind != Kind::Array {
            let value = self
                .one_value(normalizer, slot)
                .map_err(|fault| Misfit::at(&field.pointer.text, fault))?;
            self.lists.push(|text| push_json(value.form, value.bytes(&self.output.bytes), text));
        } else {
            for index in 0..self.elements(field, slot)? {
                let element = self.element(slot, index);
                let value = self
                    .one_value(normalizer, element)
                    .map_err(|fault| Misfit::below(field, index, "", fault))?;
                self.lists
                    .push(|text| push_json(value.form, value.bytes(&self.output.bytes), text));
            }
        }
        Ok(self.finish_list(unordered))
    }

    fn finish_list(&mut self, unordered: bool) -> Value {
        let start = self.output.bytes.len() as u32;
        self.lists.finish(unordered, &mut self.output.bytes);
        Value { form: Form::Json, start, end: self.output.bytes.len() as u32, micros: 0 }
    }

    pub(super) fn group(
        &mut self,
        field: &Field,
        group: &Group,
        slot: u32,
    ) -> Result<Value, Box<Misfit>> {
        self.lists.begin();
        for index in 0..self.elements(field, slot)? {
            let element = self.element(slot, index);
            let start = self.lists.text.len();
            let named = self.group_element(group, element).map_err(|(member, fault)| {
                let rest = member.map_or("", |member| member.pointer.text.as_str());
                Misfit::below(field, index, rest, fault)
            })?;
            let all = self.tape.token(element).count;
            if !group.open && named < all {
                let fault = fault!(
                    Reason::Json,
                    "an element of this list may have only the members that it can have",
                );
                return Err(Misfit::below(field, index, "", fault));
            }
            self.lists.spans.push((start as u32, self.lists.text.len() as u32));
        }
        Ok(self.finish_list(group.unordered))
    }

    /// Writes one element as JSON; how many of its members the group names.
    fn group_element<'g>(
        &mut self,
        group: &'g Group,
        element: u32,
    ) -> Result<u32, (Option<&'g Field>, Fault)> {
        if self.tape.token(element).kind != Kind::Object {
            return Err((None, fault!(Reason::Json, "an object is due")));
        }
        let mut named = 0;
        self.lists.text.push(b'{');
        for member in &group.members {
            let found = self.tape.at(self.payload, element, &member.pointer.segments);
            named += u32::from(found.is_some());
            let token = found.unwrap_or(NONE);
            if member.optional && self.is_absent(element, member, token) {
                continue;
            }
            // A group's member is always one value; that is checked when the recipe is read.
            let Shape::One(normalizer) = &member.shape else {
                continue;
            };
            let value = match (found, group.open) {
                (Some(token), true) => self.replace(token, normalizer),
                _ => self.one_value(normalizer, token),
            };
            let value = value.map_err(|fault| (Some(member), fault))?;
            if self.lists.text.last() != Some(&b'{') {
                self.lists.text.push(b',');
            }
            push_json(Form::Text, member.name.as_bytes(), &mut self.lists.text);
            self.lists.text.push(b':');
            push_json(value.form, value.bytes(&self.output.bytes), &mut self.lists.text);
        }
        self.lists.text.push(b'}');
        Ok(named)
    }

    /// The value of the one element that has the given text in the given place; several are one
    /// where they agree.
    pub(super) fn pick(
        &mut self,
        field: &Field,
        pick: &Pick,
        slot: u32,
    ) -> Result<Value, Box<Misfit>> {
        let mut picked: Option<Value> = None;
        for index in 0..self.elements(field, slot)? {
            let element = self.element(slot, index);
            let whose = self.tape.at(self.payload, element, &pick.whose.segments);
            let whose = whose.map(|token| input(self.tape, self.payload, token));
            if !matches!(whose, Some(Input::Text(text)) if text == pick.is.as_bytes()) {
                continue;
            }
            let taken = self.tape.at(self.payload, element, &pick.take.segments);
            let value = match taken {
                Some(token) => self.replace(token, &pick.normalizer),
                None => self.one_value(&pick.normalizer, NONE),
            };
            let value =
                value.map_err(|fault| Misfit::below(field, index, &pick.take.text, fault))?;
            let bytes = &self.output.bytes;
            if picked.is_some_and(|before| before.bytes(bytes) != value.bytes(bytes)) {
                const RULE: &str = "entries of the system that identifies agree";
                return Err(Misfit::at(&field.pointer.text, fault!(Reason::Coding, RULE)));
            }
            picked = Some(value);
        }
        const RULE: &str = "the list holds an entry of the system that identifies";
        picked.ok_or_else(|| Misfit::at(&field.pointer.text, fault!(Reason::Coding, RULE)))
    }
}

impl Lists {
    fn begin(&mut self) {
        self.text.clear();
        self.spans.clear();
    }

    fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.text.len() as u32;
        write(&mut self.text);
        self.spans.push((start, self.text.len() as u32));
    }

    /// Appends the elements as a JSON array, sorted by their bytes if their order means nothing.
    fn finish(&mut self, unordered: bool, out: &mut Vec<u8>) {
        let text = |span: &(u32, u32)| &self.text[span.0 as usize..span.1 as usize];
        if unordered {
            self.spans.sort_unstable_by(|a, b| text(a).cmp(text(b)));
        }
        for (place, span) in self.spans.iter().enumerate() {
            out.push(if place == 0 { b'[' } else { b',' });
            out.extend_from_slice(text(span));
        }
        out.push(b']');
    }
}
