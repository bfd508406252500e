//! Normalizes the fields of a record or an item, single values and lists alike.
//!
//! Every normalized text is appended to the normalizers' bytes; a field's value is a span of
//! them. Nothing is hashed here, and no fault carries a value of the document.

use super::json::{Kind, Tape};
use super::normalize::{Input, Normalizer, Output};
use super::preimage::{Form, Value, check_separator, push_json};
use super::recipe::{Encoding, Field, Group, Pick, Rule, Scope, Shape};
use super::reject::{Fault, Reason, fault};
use super::resolve::NONE;

/// A fault and where it lies, as a pointer from the record or item on.
pub(crate) struct Misfit {
    pub pointer: String,
    pub fault: Fault,
}

impl Misfit {
    #[cold]
    fn at(pointer: &str, fault: Fault) -> Box<Misfit> {
        Box::new(Misfit {
            pointer: pointer.to_owned(),
            fault,
        })
    }

    #[cold]
    fn below(field: &Field, index: usize, rest: &str, fault: Fault) -> Box<Misfit> {
        Box::new(Misfit {
            pointer: format!("{}/{index}{rest}", field.pointer.text),
            fault,
        })
    }
}

/// Room for composing lists.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    text: Vec<u8>,
    spans: Vec<(u32, u32)>,
}

/// Normalizes what the resolver has found.
pub(crate) struct Normalizing<'a> {
    pub tape: &'a mut Tape,
    pub payload: &'a [u8],
    pub encoding: Encoding,
    pub output: &'a mut Output,
    pub lists: &'a mut Lists,
}

impl Normalizing<'_> {
    /// Appends one value for each field of the scope, and checks its rules.
    pub fn scope(
        &mut self,
        root: u32,
        scope: &Scope,
        slots: &[u32],
        values: &mut Vec<Value>,
    ) -> Result<(), Box<Misfit>> {
        let first = values.len();
        for (field, slot) in scope.fields.iter().zip(slots) {
            let replaced = |earlier: usize| values[first + earlier].form != Form::Absent;
            if field.unless.is_some_and(replaced)
                || (field.optional && self.is_absent(root, field, *slot))
            {
                values.push(Value::ABSENT);
                continue;
            }
            let Shape::One(normalizer) = &field.shape else {
                values.push(self.compound(field, *slot)?);
                continue;
            };
            let start = self.output.bytes.len() as u32;
            let form = match self.one(normalizer, *slot) {
                Ok(form) => form,
                Err(fault) => return Err(Misfit::at(&field.pointer.text, fault)),
            };
            let end = self.output.bytes.len() as u32;
            values.push(Value {
                form,
                start,
                end,
                micros: self.output.micros,
            });
        }
        for rule in &scope.rules {
            self.rule(root, rule, &values[first..])?;
        }
        Ok(())
    }

    /// Normalizes members that are not fields, where they stand.
    pub fn in_place(&mut self, scope: &Scope, places: &[(u32, usize)]) -> Result<(), Box<Misfit>> {
        for (token, index) in places {
            let member = &scope.content.in_place[*index];
            self.replace(*token, &member.normalizer)
                .map_err(|fault| Misfit::at(&member.pointer.text, fault))?;
        }
        Ok(())
    }

    fn rule(&self, root: u32, rule: &Rule, values: &[Value]) -> Result<(), Box<Misfit>> {
        if let Some((field, is)) = &rule.when {
            let value = values[*field].bytes(&self.output.bytes);
            if !is.iter().any(|is| is.as_bytes() == value) {
                return Ok(());
            }
        }
        let there = |segments: &[String]| {
            let token = self.tape.at(self.payload, root, segments);
            token.is_some_and(|token| !self.tape.is_empty(token))
        };
        if let Some(missing) = rule.needs.iter().find(|pointer| !there(&pointer.segments)) {
            return Err(Misfit::at(
                &missing.text,
                fault!(Reason::Empty, "an event of this kind has this member"),
            ));
        }
        match rule.needs_any.first() {
            Some(first)
                if !rule
                    .needs_any
                    .iter()
                    .any(|pointer| there(&pointer.segments)) =>
            {
                const RULE: &str = "an event of this kind has this member or another of its kind";
                Err(Misfit::at(&first.text, fault!(Reason::Empty, RULE)))
            }
            _ => Ok(()),
        }
    }

    fn compound(&mut self, field: &Field, slot: u32) -> Result<Value, Box<Misfit>> {
        match &field.shape {
            Shape::One(normalizer) => self
                .one_value(normalizer, slot)
                .map_err(|fault| Misfit::at(&field.pointer.text, fault)),
            Shape::List {
                normalizer,
                unordered,
                or_single,
            } => self.list(field, normalizer, *unordered, *or_single, slot),
            Shape::Group(group) => self.group(field, group, slot),
            Shape::Pick(pick) => self.pick(field, pick, slot),
        }
    }

    /// An optional member is absent when the first member of its pointer is: an error
    /// declaration without its time is a fault, not an event without a declaration.
    fn is_absent(&self, root: u32, field: &Field, slot: u32) -> bool {
        match slot {
            NONE if field.absent_within => true,
            NONE => {
                let first = self
                    .tape
                    .at(self.payload, root, &field.pointer.segments[..1]);
                first.is_none_or(|first| field.empty_is_absent && self.tape.is_empty(first))
            }
            _ => field.empty_is_absent && self.tape.is_empty(slot),
        }
    }

    /// Appends one normalized value; its form.
    #[inline]
    fn one(&mut self, normalizer: &Normalizer, slot: u32) -> Result<Form, Fault> {
        let start = self.output.bytes.len();
        normalizer.apply(input(self.tape, self.payload, slot), self.output)?;
        if self.encoding == Encoding::Tuple {
            check_separator(&self.output.bytes[start..])?;
        }
        Ok(if self.output.plain {
            Form::Plain
        } else {
            Form::Text
        })
    }

    /// The same as a value.
    fn one_value(&mut self, normalizer: &Normalizer, slot: u32) -> Result<Value, Fault> {
        let start = self.output.bytes.len() as u32;
        let form = self.one(normalizer, slot)?;
        Ok(Value {
            form,
            start,
            end: self.output.bytes.len() as u32,
            micros: self.output.micros,
        })
    }

    /// Normalizes one value and puts the result in its place, for the content to show.
    fn replace(&mut self, token: u32, normalizer: &Normalizer) -> Result<Value, Fault> {
        let value = self.one_value(normalizer, token)?;
        self.tape
            .replace(token, value.start as usize, value.end as usize);
        Ok(value)
    }

    /// The number of elements; an absent or empty list is a fault.
    fn elements(&self, field: &Field, slot: u32) -> Result<usize, Box<Misfit>> {
        let fault = match (slot, field.normalizer()) {
            (NONE, _) => fault!(Reason::Empty, "the list is there"),
            _ => match self.tape.token(slot) {
                token if token.kind != Kind::Array => fault!(Reason::Json, "a list is due"),
                token if token.count == 0 => fault!(Reason::Empty, "the list is not empty"),
                token => return Ok(token.count as usize),
            },
        };
        Err(Misfit::at(&field.pointer.text, fault))
    }

    fn element(&self, slot: u32, index: usize) -> u32 {
        self.tape.elements_of(self.tape.token(slot))[index]
    }

    fn list(
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
            self.lists
                .push(|text| push_json(value.form, value.bytes(&self.output.bytes), text));
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
        Value {
            form: Form::Json,
            start,
            end: self.output.bytes.len() as u32,
            micros: 0,
        }
    }

    fn group(&mut self, field: &Field, group: &Group, slot: u32) -> Result<Value, Box<Misfit>> {
        self.lists.begin();
        for index in 0..self.elements(field, slot)? {
            let element = self.element(slot, index);
            let start = self.lists.text.len();
            let named = self
                .group_element(group, element)
                .map_err(|(member, fault)| {
                    let rest = member.map_or("", |member| member.pointer.text.as_str());
                    Misfit::below(field, index, rest, fault)
                })?;
            let all = self.tape.token(element).count;
            if !group.open && named < all {
                let fault = fault!(
                    Reason::Json,
                    "an element of this list has only the members that it can have",
                );
                return Err(Misfit::below(field, index, "", fault));
            }
            self.lists
                .spans
                .push((start as u32, self.lists.text.len() as u32));
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
            let found = self
                .tape
                .at(self.payload, element, &member.pointer.segments);
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
            push_json(
                value.form,
                value.bytes(&self.output.bytes),
                &mut self.lists.text,
            );
        }
        self.lists.text.push(b'}');
        Ok(named)
    }

    /// The value of the one element that has the given text in the given place; several are one
    /// where they agree.
    fn pick(&mut self, field: &Field, pick: &Pick, slot: u32) -> Result<Value, Box<Misfit>> {
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
                return Err(Misfit::at(
                    &field.pointer.text,
                    fault!(Reason::Coding, RULE),
                ));
            }
            picked = Some(value);
        }
        const RULE: &str = "the list holds an entry of the system that identifies";
        picked.ok_or_else(|| Misfit::at(&field.pointer.text, fault!(Reason::Coding, RULE)))
    }
}

fn input<'a>(tape: &'a Tape, payload: &'a [u8], slot: u32) -> Input<'a> {
    if slot == NONE {
        return Input::Other;
    }
    let token = tape.token(slot);
    match token.kind {
        Kind::Text | Kind::Decoded => Input::Text(tape.text(payload, token)),
        Kind::Number => Input::Number(tape.text(payload, token)),
        _ => Input::Other,
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
