//! Recipes: what makes an event itself, as data.
//!
//! A recipe is read from TOML once ([`Recipe::parse`]), checked, and never changed. It says which
//! members of a document are its identity, how each is normalized, how they are joined, and what
//! the content digest leaves out. `docs/recipes.md` teaches the language.
//!
//! Nothing here may read a document; that is the [`Deriver`](super::Deriver)'s part.

mod build;
mod check;
mod fields;
mod layout;
mod meaning;
mod options;
mod plan;
mod scope;
mod source;

pub(crate) use layout::{Layout, Origin, Part};
pub(crate) use options::{names as normalizer_names, one as normalizer_from_options};
pub(crate) use plan::{Action, Node, NodeId, Plan};
pub(crate) use scope::{Field, Group, Items, Namespaces, Pick, Rule, Scope, Shape};

use std::fmt;

/// What one event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Granularity {
    /// The record is the event.
    Record,
    /// Each element of one array is an event of its own; a bad element is rejected alone.
    Items,
}

/// How the normalized fields become the bytes that are hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Encoding {
    /// The fields in the recipe's order, joined by `|`; optional ones follow as `name=value`.
    Tuple,
    /// Canonical JSON in ASCII: members sorted, no blanks, every value a text.
    Json,
}

/// A recipe that cannot be used, with the line that has to be mended.
///
/// The faulty line is never quoted: a configuration may hold what must not reach a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeError {
    /// What the caller calls the recipe's source, such as a file name.
    pub file: String,
    /// The line, counted from 1, where one can be named.
    pub line: Option<usize>,
    /// What is wrong and what was due.
    pub message: String,
}

impl fmt::Display for RecipeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for RecipeError {}

/// A piece of the prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PrefixPart {
    Literal(String),
    Field(FieldRef),
}

/// A field of the record or of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum FieldRef {
    Record(usize),
    Item(usize),
}

/// How a class of records gets its event keys: parsed, checked, immutable.
#[derive(Debug)]
pub struct Recipe {
    pub(crate) name: String,
    pub(crate) version: u32,
    pub(crate) granularity: Granularity,
    pub(crate) encoding: Encoding,
    pub(crate) prefix: Vec<PrefixPart>,
    /// In order of preference; the last is always there.
    pub(crate) event_time: Vec<FieldRef>,
    pub(crate) record: Scope,
    pub(crate) items: Option<Items>,
    pub(crate) plan: Plan,
    pub(crate) layout: Layout,
    fingerprint: [u8; 32],
}

impl Recipe {
    /// Reads a recipe from TOML. `source_name` is only for messages.
    ///
    /// # Errors
    ///
    /// Anything that is not understood in full is refused, with its line and what was meant; a
    /// key that the language does not know is never passed over.
    pub fn parse(source_name: &str, text: &str) -> Result<Recipe, RecipeError> {
        build::recipe(source_name, text)
    }

    /// The name, such as `lab-result` or `reference/lab-result`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version, which grows whenever keys or digests change.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// SHA-256 over what the recipe means: layout, comments, the order of tables and whether a
    /// default is written out do not matter. Two recipes of one fingerprint give the same keys.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    /// Whether a record is one event or holds several.
    pub fn granularity(&self) -> Granularity {
        self.granularity
    }

    /// The field that gives the event time, if the recipe declares one. Of a chain of fields it
    /// is the last, which every event has.
    pub fn event_time_field(&self) -> Option<&str> {
        self.event_time.last().map(|at| self.field(*at).name.as_str())
    }

    pub(crate) fn field(&self, at: FieldRef) -> &Field {
        match (at, &self.items) {
            (FieldRef::Record(index), _) => &self.record.fields[index],
            (FieldRef::Item(index), Some(items)) => &items.scope.fields[index],
            // Only a recipe with items gives references to item fields.
            (FieldRef::Item(_), None) => unreachable!("a recipe without items has no item fields"),
        }
    }
}
