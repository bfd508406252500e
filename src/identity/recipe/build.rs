//! From the tables of a recipe file to a checked [`Recipe`].
//!
//! The order of things; each refusal names the line and what was due. What an option of a
//! normalizer is called stands in `options`, what a field may be in `fields`.

use super::fields::{Stars, check_name, content, fields, namespaces, pointer, rest, rules};
use super::scope::Pointer;
use super::source::{Section, Source};
use super::{
    Encoding, Granularity, Items, Layout, Plan, Recipe, RecipeError, Scope, check, meaning,
};

type Built<T> = Result<T, RecipeError>;

pub(super) fn recipe(file: &str, text: &str) -> Built<Recipe> {
    let source = Source { file, text };
    let document = source.parse()?;
    let mut top = Section::new(source, document.get_ref(), "the recipe", 0);
    let name = recipe_name(&mut top)?;
    let Some(version) = top.number("version", 1, u32::MAX)? else {
        return top.missing("version");
    };
    let granularities = [("record", Granularity::Record), ("items", Granularity::Items)];
    let granularity = needed_choice(&mut top, "granularity", &granularities)?;
    let encodings = [("tuple", Encoding::Tuple), ("json", Encoding::Json)];
    let encoding = needed_choice(&mut top, "encoding", &encodings)?;
    let record = record_scope(&mut top, granularity, encoding)?;
    let items = items(&mut top, granularity, encoding)?;
    let names = check::Names { record: &record, items: items.as_ref(), granularity };
    names.check(&top)?;
    let prefix = names.prefix(&mut top)?;
    let event_time = names.event_time(&mut top)?;
    let plan = match Plan::new(&record, items.as_ref()) {
        Ok(plan) => plan,
        Err(clash) => {
            let message = format!("this pointer cannot stand here: {}", clash.why);
            return top.error(clash.pointer.at, message);
        }
    };
    let layout = Layout::new(granularity, encoding, &record, items.as_ref());
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
        record,
        items,
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
    let letters = |part: &str| part.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    match name.split('/').all(|part| !part.is_empty() && letters(part)) {
        true => Ok(name.to_owned()),
        false => top
            .error(at, "`name` must be lower-case letters, digits and `-`, with `/` between parts"),
    }
}

fn record_scope(
    top: &mut Section<'_, '_>,
    granularity: Granularity,
    encoding: Encoding,
) -> Built<Scope> {
    let mut scope =
        Scope { fields: fields(top.tables("field", "[[field]]")?, encoding)?, ..Scope::default() };
    scope.rules = rules(top, &scope)?;
    if let Some(mut digest) = top.table("digest", "[digest]")? {
        if granularity == Granularity::Items {
            let rule = "in granularity `items` the digest is that of the item: these keys belong into [items]";
            return digest.error(digest.at, rule);
        }
        scope.content = content(&mut digest)?;
        scope.rest = rest(&mut digest, encoding)?;
        digest.finish()?;
    }
    check::content(top, &scope)?;
    Ok(scope)
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
        let message = "a tuple cannot hold a list: use encoding `json`, or granularity `items`";
        return section.error(section.at, message);
    }
    let pointers = item_pointers(&mut section)?;
    let name = item_name(&mut section, granularity)?;
    let mut scope = Scope {
        fields: fields(section.tables("field", "[[items.field]]")?, encoding)?,
        ..Scope::default()
    };
    if scope.fields.is_empty() {
        return section.error(section.at, "[items] needs at least one [[items.field]]");
    }
    scope.rules = rules(&mut section, &scope)?;
    scope.content = content(&mut section)?;
    scope.rest = rest(&mut section, encoding)?;
    if scope.rest.is_some() && granularity == Granularity::Record {
        return section.error(section.at, "in granularity `record`, `rest` belongs into [digest]");
    }
    check::content(&section, &scope)?;
    let sort = sort(&mut section, &scope, granularity)?;
    let occurrence = occurrence(&mut section, granularity)?;
    let namespaces = namespaces(&mut section)?;
    if namespaces.is_some() && scope.rest.is_none() {
        return section.error(section.at, "namespaces have a meaning with `rest` only");
    }
    section.finish()?;
    Ok(Some(Items { name, pointers, scope, sort, occurrence, namespaces }))
}

fn item_pointers(section: &mut Section<'_, '_>) -> Built<Vec<Pointer>> {
    let texts = section.text_or_texts("pointer")?;
    if texts.is_empty() {
        return section.missing("pointer");
    }
    texts.into_iter().map(|(text, at)| pointer(section, text, at, Stars::None)).collect()
}

fn item_name(section: &mut Section<'_, '_>, granularity: Granularity) -> Built<String> {
    match (section.text("name")?, granularity) {
        (Some((name, at)), Granularity::Record) => {
            check_name(section, name, at)?;
            Ok(name.to_owned())
        }
        (None, Granularity::Record) => section.missing("name"),
        (Some((_, at)), Granularity::Items) => {
            section.error(at, "`name` has a meaning in granularity `record` only")
        }
        (None, Granularity::Items) => Ok(String::new()),
    }
}

fn sort(
    section: &mut Section<'_, '_>,
    scope: &Scope,
    granularity: Granularity,
) -> Built<Vec<usize>> {
    let mut sort = Vec::new();
    for (name, at) in section.texts("sort")?.unwrap_or_default() {
        if granularity == Granularity::Items {
            return section.error(at, "`sort` has a meaning in granularity `record` only");
        }
        match scope.fields.iter().position(|field| field.name == name) {
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
