//! From the tables of a recipe file to a checked [`Recipe`].
//!
//! Every rule about what fits together is here, each refusal with the line and what was due.
//! What an option of a normalizer is called stands in `options`.

use super::source::{Section, Source};
use super::{
    Content, Encoding, Field, FieldRef, Granularity, Items, Layout, Plan, Pointer, PrefixPart,
    Recipe, RecipeError, meaning, options,
};
use crate::identity::normalize::Normalizer;

type Built<T> = Result<T, RecipeError>;

pub(super) fn recipe(file: &str, text: &str) -> Built<Recipe> {
    let source = Source { file, text };
    let document = source.parse()?;
    let mut top = Section::new(source, document.get_ref(), "the recipe", 0);
    let name = recipe_name(&mut top)?;
    let Some(version) = top.number("version", 1, u32::MAX)? else {
        return top.missing("version");
    };
    let granularity = needed_choice(
        &mut top,
        "granularity",
        &[("record", Granularity::Record), ("items", Granularity::Items)],
    )?;
    let encoding = needed_choice(
        &mut top,
        "encoding",
        &[("tuple", Encoding::Tuple), ("json", Encoding::Json)],
    )?;
    let fields = fields(top.tables("field", "[[field]]")?)?;
    let items = items(&mut top, granularity, encoding)?;
    check_names(&top, &fields, items.as_ref(), granularity)?;
    let prefix = prefix(&mut top, &fields, items.as_ref(), granularity)?;
    let event_time = event_time(&mut top, &fields, items.as_ref(), granularity)?;
    let content = match top.table("digest", "[digest]")? {
        Some(mut digest) => {
            let content = content(&mut digest)?;
            digest.finish()?;
            content
        }
        None => Content::default(),
    };
    let none = Content::default();
    let item_content = items.as_ref().map_or(&none, |items| &items.content);
    let plan = match Plan::new(&fields, items.as_ref(), &content, item_content) {
        Ok(plan) => plan,
        Err(clash) => {
            return top
                .error(clash.pointer.at, format!("this pointer cannot stand here: {}", clash.why));
        }
    };
    let layout = Layout::new(granularity, encoding, &fields, items.as_ref());
    if layout.record.is_empty() && layout.item.is_empty() {
        return top.error(0, "a recipe needs at least one [[field]]");
    }
    top.finish()?;
    let mut recipe = Recipe {
        name,
        version,
        granularity,
        encoding,
        prefix,
        event_time,
        fields,
        items,
        content,
        plan,
        layout,
        fingerprint: [0; 32],
    };
    recipe.fingerprint = meaning::fingerprint(&recipe);
    Ok(recipe)
}

fn needed_choice<T: Copy>(
    section: &mut Section<'_, '_>,
    key: &'static str,
    words: &[(&str, T)],
) -> Built<T> {
    match section.text(key)? {
        None => section.missing(key),
        Some(_) => section.choice(key, words, words[0].1),
    }
}

fn recipe_name(top: &mut Section<'_, '_>) -> Built<String> {
    let (name, at) = top.needed_text("name")?;
    let fits = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
    };
    match name.split('/').all(fits) {
        true => Ok(name.to_owned()),
        false => top
            .error(at, "`name` must be lower-case letters, digits and `-`, with `/` between parts"),
    }
}

fn fields(tables: Vec<Section<'_, '_>>) -> Built<Vec<Field>> {
    tables.into_iter().map(field).collect()
}

fn field(mut section: Section<'_, '_>) -> Built<Field> {
    let (name, at) = section.needed_text("name")?;
    check_name(&section, name, at)?;
    let (text, at) = section.needed_text("pointer")?;
    let pointer = pointer(&section, text, at, false)?;
    let optional = section.flag("optional")?.unwrap_or(false);
    let empty_is_absent = section.flag("empty_is_absent")?.unwrap_or(false);
    if empty_is_absent && !optional {
        return section.error(section.at, "`empty_is_absent` needs `optional = true`");
    }
    let normalizer = options::normalizer(&mut section)?;
    let field = Field { name: name.to_owned(), pointer, normalizer, optional, empty_is_absent };
    section.finish()?;
    Ok(field)
}

/// Names stand in the bytes that are hashed, so they hold nothing that would need an escape.
fn check_name(section: &Section<'_, '_>, name: &str, at: usize) -> Built<()> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    match !name.is_empty() && name.bytes().all(fits) {
        true => Ok(()),
        false => section.error(at, "a name must be of ASCII letters, digits, `_`, `-` and `.`"),
    }
}

/// RFC 6901; `~0` and `~1` stand for `~` and `/`. Only the digest's lists may use `*`.
fn pointer(section: &Section<'_, '_>, text: &str, at: usize, star: bool) -> Built<Pointer> {
    let Some(rest) = text.strip_prefix('/') else {
        return section.error(at, "a pointer must begin with `/` (RFC 6901)");
    };
    let mut segments = Vec::new();
    for segment in rest.split('/') {
        let escapes = segment.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
        if !escapes {
            return section.error(
                at,
                "in a pointer, `~` is written `~0` and `/` within a name `~1` (RFC 6901)",
            );
        }
        if segment == "*" && !star {
            return section.error(at, "`*` can stand only in the lists of the digest");
        }
        segments.push(segment.replace("~1", "/").replace("~0", "~"));
    }
    Ok(Pointer { text: text.to_owned(), segments, at })
}

fn pointers(section: &mut Section<'_, '_>, key: &'static str) -> Built<Vec<Pointer>> {
    let texts = section.texts(key)?.unwrap_or_default();
    let mut pointers = Vec::new();
    for (text, at) in texts {
        pointers.push(pointer(section, text, at, true)?);
    }
    Ok(pointers)
}

fn content(section: &mut Section<'_, '_>) -> Built<Content> {
    Ok(Content { ignore: pointers(section, "ignore")?, unordered: pointers(section, "unordered")? })
}

fn items(
    top: &mut Section<'_, '_>,
    granularity: Granularity,
    encoding: Encoding,
) -> Built<Option<Items>> {
    let Some(mut section) = top.table("items", "[items]")? else {
        return match granularity {
            Granularity::Items => top.error(0, "granularity `items` needs a table [items]"),
            Granularity::Record => Ok(None),
        };
    };
    if granularity == Granularity::Record && encoding == Encoding::Tuple {
        return section.error(
            section.at,
            "a tuple cannot hold a list: use encoding `json`, or granularity `items`",
        );
    }
    let (text, at) = section.needed_text("pointer")?;
    let pointer = pointer(&section, text, at, false)?;
    let name = match (section.text("name")?, granularity) {
        (Some((name, at)), Granularity::Record) => {
            check_name(&section, name, at)?;
            name.to_owned()
        }
        (None, Granularity::Record) => return section.missing("name"),
        (Some((_, at)), Granularity::Items) => {
            return section.error(at, "`name` has a meaning in granularity `record` only");
        }
        (None, Granularity::Items) => String::new(),
    };
    let fields = fields(section.tables("field", "[[items.field]]")?)?;
    if fields.is_empty() {
        return section.error(section.at, "[items] needs at least one [[items.field]]");
    }
    let sort = sort(&mut section, &fields, granularity)?;
    let occurrence = occurrence(&mut section, granularity)?;
    let content = content(&mut section)?;
    section.finish()?;
    Ok(Some(Items { name, pointer, fields, sort, occurrence, content }))
}

fn sort(
    section: &mut Section<'_, '_>,
    fields: &[Field],
    granularity: Granularity,
) -> Built<Vec<usize>> {
    let mut sort = Vec::new();
    for (name, at) in section.texts("sort")?.unwrap_or_default() {
        if granularity == Granularity::Items {
            return section.error(at, "`sort` has a meaning in granularity `record` only");
        }
        match fields.iter().position(|field| field.name == name) {
            Some(index) if !sort.contains(&index) => sort.push(index),
            Some(_) => return section.error(at, "`sort` names this field twice"),
            None => return section.error(at, "`sort` must name fields of [[items.field]]"),
        }
    }
    Ok(sort)
}

fn occurrence(section: &mut Section<'_, '_>, granularity: Granularity) -> Built<Option<String>> {
    let Some((name, at)) = section.text("occurrence")? else {
        return Ok(None);
    };
    check_name(section, name, at)?;
    match granularity {
        Granularity::Items => Ok(Some(name.to_owned())),
        Granularity::Record => {
            section.error(at, "`occurrence` has a meaning in granularity `items` only")
        }
    }
}

/// No two parts of one object may have one name.
fn check_names(
    top: &Section<'_, '_>,
    fields: &[Field],
    items: Option<&Items>,
    granularity: Granularity,
) -> Built<()> {
    let mut record: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    let mut item: Vec<&str> = Vec::new();
    if let Some(items) = items {
        let target = if granularity == Granularity::Items { &mut record } else { &mut item };
        target.extend(items.fields.iter().map(|field| field.name.as_str()));
        target.extend(items.occurrence.as_deref());
        if granularity == Granularity::Record {
            record.push(&items.name);
        }
    }
    for names in [&mut record, &mut item] {
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return top.error(0, format!("two parts of the identity are named `{}`", pair[0]));
        }
    }
    Ok(())
}

/// Finds a field by name where one event has exactly one of it.
fn single(
    name: &str,
    fields: &[Field],
    items: Option<&Items>,
    granularity: Granularity,
) -> Option<FieldRef> {
    let find = |fields: &[Field]| fields.iter().position(|field| field.name == name);
    match (find(fields), items) {
        (Some(index), _) => Some(FieldRef::Record(index)),
        (None, Some(items)) if granularity == Granularity::Items => {
            find(&items.fields).map(FieldRef::Item)
        }
        _ => None,
    }
}

fn field_of<'f>(at: FieldRef, fields: &'f [Field], items: Option<&'f Items>) -> Option<&'f Field> {
    match at {
        FieldRef::Record(index) => fields.get(index),
        FieldRef::Item(index) => items?.fields.get(index),
    }
}

fn prefix(
    top: &mut Section<'_, '_>,
    fields: &[Field],
    items: Option<&Items>,
    granularity: Granularity,
) -> Built<Vec<PrefixPart>> {
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
        let found = single(name, fields, items, granularity);
        let Some(field) =
            found.filter(|f| field_of(*f, fields, items).is_some_and(|f| !f.optional))
        else {
            return top.error(
                at,
                "`prefix` must name fields that every event has once and that are not optional",
            );
        };
        push_literal(top, at, literal, &mut parts)?;
        parts.push(PrefixPart::Field(field));
        rest = after;
    }
    push_literal(top, at, rest, &mut parts)?;
    Ok(parts)
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

/// The window bounds the store by event time; if that were not part of the identity, two
/// deliveries of one event could differ in it.
fn event_time(
    top: &mut Section<'_, '_>,
    fields: &[Field],
    items: Option<&Items>,
    granularity: Granularity,
) -> Built<Vec<FieldRef>> {
    let names = top.text_or_texts("event_time")?;
    let mut chain = Vec::new();
    for (place, (name, at)) in names.iter().enumerate() {
        let found = single(name, fields, items, granularity);
        let Some((at_field, field)) = found.and_then(|f| Some((f, field_of(f, fields, items)?)))
        else {
            return top.error(
                *at,
                "`event_time` must name a field of the identity that every event has once",
            );
        };
        if !matches!(field.normalizer, Normalizer::Timestamp(_)) {
            return top
                .error(*at, "`event_time` must name fields with `normalize = \"timestamp\"`");
        }
        if field.optional == (place + 1 == names.len()) {
            return top.error(*at, "in `event_time`, all fields but the last must be optional, and the last must not be");
        }
        chain.push(at_field);
    }
    Ok(chain)
}
