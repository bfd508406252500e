//! What the parts of a recipe have to do with each other: names, prefix, event time, content.

use super::scope::{Field, Items, Scope, Shape};
use super::source::Section;
use super::{FieldRef, Granularity, PrefixPart, RecipeError};
use crate::identity::normalize::Normalizer;

type Built<T> = Result<T, RecipeError>;

/// All that has a name in the identity.
pub(super) struct Names<'r> {
    pub record: &'r Scope,
    pub items: Option<&'r Items>,
    pub granularity: Granularity,
}

impl Names<'_> {
    /// No two parts of one object may have one name.
    pub fn check(&self, top: &Section<'_, '_>) -> Built<()> {
        let mut record = named(self.record);
        let mut item = Vec::new();
        if let Some(items) = self.items {
            let in_items = self.granularity == Granularity::Items;
            let target = if in_items { &mut record } else { &mut item };
            target.extend(named(&items.scope));
            target.extend(items.occurrence.as_deref().map(|name| (name, 0)));
            if !in_items {
                record.push((&items.name, 0));
            }
        }
        for names in [&mut record, &mut item] {
            names.sort_unstable();
            if let Some(pair) = names.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return top.error(pair[1].1, "two parts of the identity have the name of this one");
            }
        }
        Ok(())
    }

    /// Finds a field by name where one event has exactly one of it.
    fn single(&self, name: &str) -> Option<(FieldRef, &Field)> {
        let find = |scope: &Scope| scope.fields.iter().position(|field| field.name == name);
        if let Some(index) = find(self.record) {
            return Some((FieldRef::Record(index), &self.record.fields[index]));
        }
        let items = self.items.filter(|_| self.granularity == Granularity::Items)?;
        let index = find(&items.scope)?;
        Some((FieldRef::Item(index), &items.scope.fields[index]))
    }

    /// `literal{field}literal…`
    pub fn prefix(&self, top: &mut Section<'_, '_>) -> Built<Vec<PrefixPart>> {
        let Some((template, at)) = top.text("prefix")? else {
            return Ok(Vec::new());
        };
        if template.chars().any(char::is_control) {
            return top.error(at, "`prefix` must hold no control character");
        }
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some((literal, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                return top.error(at, "`prefix` has a `{` without its `}`");
            };
            let fits = |(_, field): &(FieldRef, &Field)| {
                !field.optional && matches!(field.shape, Shape::One(_))
            };
            let Some((field, _)) = self.single(name).filter(fits) else {
                let rule = "`prefix` must name fields of one value that every event has";
                return top.error(at, rule);
            };
            push_literal(top, at, literal, &mut parts)?;
            parts.push(PrefixPart::Field(field));
            rest = after;
        }
        push_literal(top, at, rest, &mut parts)?;
        Ok(parts)
    }

    /// The window bounds the store by event time; if that were not part of the identity, two
    /// deliveries of one event could differ in it.
    pub fn event_time(&self, top: &mut Section<'_, '_>) -> Built<Vec<FieldRef>> {
        let names = top.text_or_texts("event_time")?;
        let mut chain = Vec::new();
        for (place, (name, at)) in names.iter().enumerate() {
            let Some((at_field, field)) = self.single(name) else {
                return top.error(
                    *at,
                    "`event_time` must name a field of the identity that every event has once",
                );
            };
            if !matches!(field.shape, Shape::One(Normalizer::Timestamp(_))) {
                return top
                    .error(*at, "`event_time` must name fields with `normalize = \"timestamp\"`");
            }
            if field.optional == (place + 1 == names.len()) {
                let rule = "in `event_time`, all fields but the last must be optional, and the last must not be";
                return top.error(*at, rule);
            }
            chain.push(at_field);
        }
        Ok(chain)
    }
}

/// The names of a scope's parts, and where each stands in the recipe.
fn named(scope: &Scope) -> Vec<(&str, usize)> {
    let fields = scope.fields.iter().map(|field| (field.name.as_str(), field.pointer.at));
    fields.chain(scope.rest.as_deref().map(|name| (name, 0))).collect()
}

fn push_literal(
    top: &Section<'_, '_>,
    at: usize,
    literal: &str,
    parts: &mut Vec<PrefixPart>,
) -> Built<()> {
    if literal.contains('}') {
        return top.error(at, "`prefix` has a `}` without its `{`");
    }
    if !literal.is_empty() {
        parts.push(PrefixPart::Literal(literal.to_owned()));
    }
    Ok(())
}

/// What is set aside differs from the rest only where there is one.
pub(super) fn content(section: &Section<'_, '_>, scope: &Scope) -> Built<()> {
    match (scope.content.aside.first(), &scope.rest) {
        (Some(pointer), None) => {
            section.error(pointer.at, "`aside` has a meaning with `rest` only")
        }
        _ => Ok(()),
    }
}
