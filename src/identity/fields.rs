//! Normalizes the fields of a record or an item; lists are in `lists`.
//!
//! Every normalized text is appended to the normalizers' bytes; a field's value is a span of
//! them. Nothing is hashed here, and no fault carries a value of the document.

use super::json::{Kind, Tape};
use super::lists::Lists;
use super::normalize::{Input, Normalizer, Output};
use super::preimage::{Form, Value, check_separator};
use super::recipe::{Encoding, Field, Rule, Scope, Shape};
use super::reject::{Fault, Reason, fault};
use super::resolve::NONE;

/// A fault and where it lies, as a pointer from the record or item on.
pub(crate) struct Misfit {
    pub pointer: String,
    pub fault: Fault,
}

impl Misfit {
    #[cold]
    pub fn at(pointer: &str, fault: Fault) -> Box<Misfit> {
        Box::new(Misfit { pointer: pointer.to_owned(), fault })
    }

    #[cold]
    pub fn below(field: &Field, index: usize, rest: &str, fault: Fault) -> Box<Misfit> {
        Box::new(Misfit { pointer: format!("{}/{index}{rest}", field.pointer.text), fault })
    }
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
            values.push(Value { form, start, end, micros: self.output.micros });
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
                fault!(Reason::Empty, "an event of this kind must have this member"),
            ));
        }
        match rule.needs_any.first() {
            Some(first) if !rule.needs_any.iter().any(|pointer| there(&pointer.segments)) => {
                const RULE: &str =
                    "an event of this kind must have this member or another of its kind";
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
            Shape::List { normalizer, unordered, or_single } => {
                self.list(field, normalizer, *unordered, *or_single, slot)
            }
            Shape::Group(group) => self.group(field, group, slot),
            Shape::Pick(pick) => self.pick(field, pick, slot),
        }
    }

    /// An optional member is absent when the first member of its pointer is: an error
    /// declaration without its time is a fault, not an event without a declaration.
    pub(super) fn is_absent(&self, root: u32, field: &Field, slot: u32) -> bool {
        match slot {
            NONE if field.absent_within => true,
            NONE => {
                let first = self.tape.at(self.payload, root, &field.pointer.segments[..1]);
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
        Ok(if self.output.plain { Form::Plain } else { Form::Text })
    }

    /// The same as a value.
    pub(super) fn one_value(&mut self, normalizer: &Normalizer, slot: u32) -> Result<Value, Fault> {
        let start = self.output.bytes.len() as u32;
        let form = self.one(normalizer, slot)?;
        Ok(Value { form, start, end: self.output.bytes.len() as u32, micros: self.output.micros })
    }

    /// Normalizes one value and puts the result in its place, for the content to show.
    pub(super) fn replace(&mut self, token: u32, normalizer: &Normalizer) -> Result<Value, Fault> {
        let value = self.one_value(normalizer, token)?;
        self.tape.replace(token, value.start as usize, value.end as usize);
        Ok(value)
    }
}

pub(super) fn input<'a>(tape: &'a Tape, payload: &'a [u8], slot: u32) -> Input<'a> {
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
