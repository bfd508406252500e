//! Fields and scopes, from their tables.
//!
//! What fits together within one field is checked here; what several parts of a recipe have to
//! do with each other is checked in `check`.

use super::options;
use super::scope::{Content, Field, Group, InPlace, Namespaces, Pick, Pointer, Rule, Scope, Shape};
use super::source::Section;
use super::{Encoding, RecipeError};
use crate::identity::normalize::Normalizer;

type Built<T> = Result<T, RecipeError>;

/// The fields of the record or of an item.
pub(super) fn fields(tables: Vec<Section<'_, '_>>, encoding: Encoding) -> Built<Vec<Field>> {
    let mut fields: Vec<Field> = Vec::new();
    for mut section in tables {
        let unless = section.text("unless")?;
        let mut field = field(section, encoding, true)?;
        if let Some((name, at)) = unless.as_ref().map(|(name, at)| (*name, *at)) {
            field.0.unless = fields.iter().position(|earlier| earlier.name == name);
            if field.0.unless.is_none_or(|earlier| !fields[earlier].optional) || !field.0.optional {
                let rule = "`unless` must name an earlier field; both must be optional";
                return Err(field.1.error(at, rule));
            }
        }
        fields.push(field.0);
    }
    Ok(fields)
}

/// One field, and its source for messages. `compound`: it may be a list.
fn field<'a>(
    mut section: Section<'a, '_>,
    encoding: Encoding,
    compound: bool,
) -> Built<(Field, super::source::Source<'a>)> {
    let (name, at) = section.needed_text("name")?;
    check_name(&section, name, at)?;
    let (text, at) = section.needed_text("pointer")?;
    let pointer = pointer(&section, text, at, Stars::None)?;
    let optional = section.flag("optional")?.unwrap_or(false);
    let absent_within = section.flag("absent_within")?.unwrap_or(false);
    let empty_is_absent = section.flag("empty_is_absent")?.unwrap_or(false);
    if (empty_is_absent || absent_within) && !optional {
        let rule = "`empty_is_absent` and `absent_within` need `optional = true`";
        return section.error(section.at, rule);
    }
    let shape = if compound {
        shape(&mut section, encoding)?
    } else {
        Shape::One(options::normalizer(&mut section)?)
    };
    let field = Field {
        name: name.to_owned(),
        pointer,
        shape,
        optional,
        absent_within,
        empty_is_absent,
        unless: None,
    };
    let source = section.source;
    section.finish()?;
    Ok((field, source))
}

fn shape(section: &mut Section<'_, '_>, encoding: Encoding) -> Built<Shape> {
    let list =
        section.choice("list", &[("unordered", Some(true)), ("ordered", Some(false))], None)?;
    let or_single = section.flag("or_single")?.unwrap_or(false);
    let group = section.text("normalize")?.is_some_and(|(name, _)| name == "group");
    let pick = section.table("pick", "`pick`")?;
    if list.is_some() && encoding == Encoding::Tuple {
        return section.error(section.at, "a tuple cannot hold a list: use encoding `json`");
    }
    if or_single && (list.is_none() || group) {
        return section
            .error(section.at, "`or_single` needs `list`, and a normalizer of single values");
    }
    match (group, list, pick) {
        (true, Some(unordered), None) => Ok(Shape::Group(self::group(section, unordered)?)),
        (true, None, _) => section.error(section.at, "`normalize = \"group\"` needs `list`"),
        (false, None, Some(pick)) => Ok(Shape::Pick(self::pick(section, pick)?)),
        (_, Some(_), Some(_)) => {
            section.error(section.at, "`pick` takes one value, so `list` cannot stand with it")
        }
        (false, Some(unordered), None) => {
            Ok(Shape::List { normalizer: options::normalizer(section)?, unordered, or_single })
        }
        (false, None, None) => Ok(Shape::One(options::normalizer(section)?)),
    }
}

fn group(section: &mut Section<'_, '_>, unordered: bool) -> Built<Group> {
    let open = section.choice("others", &[("refuse", false), ("keep", true)], false)?;
    let mut members = Vec::new();
    for table in section.tables("member", "[[…member]]")? {
        members.push(field(table, Encoding::Json, false)?.0);
    }
    members.sort_by(|a, b| a.name.cmp(&b.name));
    if members.is_empty() || members.windows(2).any(|pair| pair[0].name == pair[1].name) {
        return section.error(section.at, "a group needs [[…member]] tables, each of another name");
    }
    if members.iter().any(|member| member.pointer.segments.len() != 1) {
        return section.error(
            section.at,
            "the pointer of a group's member must name a member of the element itself",
        );
    }
    Ok(Group { members, unordered, open })
}

fn pick(section: &mut Section<'_, '_>, mut pick: Section<'_, '_>) -> Built<Pick> {
    let (text, at) = pick.needed_text("whose")?;
    let whose = pointer(&pick, text, at, Stars::None)?;
    let (text, at) = pick.needed_text("take")?;
    let take = pointer(&pick, text, at, Stars::None)?;
    let is = pick.needed_text("is")?.0.to_owned();
    pick.finish()?;
    Ok(Pick { whose, is, take, normalizer: options::normalizer(section)? })
}

/// Names stand in the bytes that are hashed, so they hold nothing that would need an escape.
pub(super) fn check_name(section: &Section<'_, '_>, name: &str, at: usize) -> Built<()> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    match !name.is_empty() && name.bytes().all(fits) {
        true => Ok(()),
        false => section.error(at, "a name must be of ASCII letters, digits, `_`, `-` and `.`"),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stars {
    None,
    /// `*` stands for every element of an array.
    Allowed,
}

/// RFC 6901; `~0` and `~1` stand for `~` and `/`.
pub(super) fn pointer(
    section: &Section<'_, '_>,
    text: &str,
    at: usize,
    stars: Stars,
) -> Built<Pointer> {
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
        if segment == "*" && stars == Stars::None {
            return section.error(at, "`*` cannot stand in this pointer");
        }
        segments.push(segment.replace("~1", "/").replace("~0", "~"));
    }
    Ok(Pointer { text: text.to_owned(), segments, at })
}

fn pointers(section: &mut Section<'_, '_>, key: &'static str, stars: Stars) -> Built<Vec<Pointer>> {
    let texts = section.texts(key)?.unwrap_or_default();
    texts.into_iter().map(|(text, at)| pointer(section, text, at, stars)).collect()
}

/// The keys that say what the content does with members beside the fields.
pub(super) fn content(section: &mut Section<'_, '_>) -> Built<Content> {
    let mut in_place: Vec<InPlace> = Vec::new();
    for mut table in section.tables("normalize", "[[…normalize]]")? {
        let (text, at) = table.needed_text("pointer")?;
        let pointer = pointer(&table, text, at, Stars::Allowed)?;
        in_place.push(InPlace { pointer, normalizer: options::normalizer(&mut table)? });
        table.finish()?;
    }
    let mut qualified = Vec::new();
    for (text, at) in section.texts("qualified")?.unwrap_or_default() {
        // The empty pointer is the object itself.
        qualified.push(match text {
            "" => Pointer { text: String::new(), segments: Vec::new(), at },
            _ => pointer(section, text, at, Stars::Allowed)?,
        });
    }
    Ok(Content {
        ignore: pointers(section, "ignore", Stars::Allowed)?,
        unordered: pointers(section, "unordered", Stars::Allowed)?,
        aside: pointers(section, "aside", Stars::None)?,
        in_place,
        qualified,
        empty_is_absent: section.flag("empty_is_absent")?.unwrap_or(false),
    })
}

/// The rest's name, if what no part speaks of belongs to the identity too.
pub(super) fn rest(section: &mut Section<'_, '_>, encoding: Encoding) -> Built<Option<String>> {
    let Some((name, at)) = section.text("rest")? else {
        return Ok(None);
    };
    check_name(section, name, at)?;
    match encoding {
        Encoding::Json => Ok(Some(name.to_owned())),
        Encoding::Tuple => section.error(at, "a tuple cannot hold a rest: use encoding `json`"),
    }
}

pub(super) fn rules(section: &mut Section<'_, '_>, scope: &Scope) -> Built<Vec<Rule>> {
    let mut rules = Vec::new();
    for mut table in section.tables("rule", "[[…rule]]")? {
        let is = table.texts("is")?;
        let when = match (table.text("when")?, is) {
            (None, None) => None,
            (Some((name, at)), Some(is)) => {
                let field = scope.fields.iter().position(|field| field.name == name);
                let Some(field) = field
                    .filter(|f| matches!(scope.fields[*f].shape, Shape::One(Normalizer::Enum(_))))
                else {
                    return table.error(at, "`when` must name a field with `normalize = \"enum\"`");
                };
                Some((field, is.iter().map(|(value, _)| (*value).to_owned()).collect()))
            }
            _ => return table.error(table.at, "`when` and `is` need each other"),
        };
        let needs = pointers(&mut table, "needs", Stars::None)?;
        let needs_any = pointers(&mut table, "needs_any", Stars::None)?;
        if needs.is_empty() && needs_any.is_empty() {
            return table.error(table.at, "a rule needs `needs` or `needs_any`");
        }
        table.finish()?;
        rules.push(Rule { when, needs, needs_any });
    }
    Ok(rules)
}

pub(super) fn namespaces(section: &mut Section<'_, '_>) -> Built<Option<Namespaces>> {
    let Some(mut table) = section.table("namespaces", "[items.namespaces]")? else {
        return Ok(None);
    };
    let (text, at) = table.needed_text("pointer")?;
    let pointer = pointer(&table, text, at, Stars::None)?;
    let mut known = Vec::new();
    if let Some(bound) = table.table("known", "[items.namespaces.known]")? {
        known = bound.all_texts()?;
    }
    table.finish()?;
    Ok(Some(Namespaces { pointer, known }))
}
