//! The parts of a recipe that a record and an item have alike. Data only.

use crate::identity::normalize::Normalizer;

/// What a recipe says about one object: the record, or one item.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub fields: Vec<Field>,
    pub content: Content,
    pub rules: Vec<Rule>,
    /// The name under which all that no other part speaks of is in the identity too.
    pub rest: Option<String>,
}

/// One member of the identity.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub name: String,
    pub pointer: Pointer,
    pub shape: Shape,
    /// May be absent, and then leaves no trace in the identity.
    pub optional: bool,
    /// May be absent although an object that the pointer leads through is there.
    pub absent_within: bool,
    /// `null`, `""`, `[]` and `{}` count as absent.
    pub empty_is_absent: bool,
    /// An earlier field that, when it is there, stands for this one too.
    pub unless: Option<usize>,
}

/// What stands at a field's pointer.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// One value.
    One(Normalizer),
    /// A list of values.
    List { normalizer: Normalizer, unordered: bool, or_single: bool },
    /// A list of objects.
    Group(Group),
    /// One value out of a list of objects.
    Pick(Pick),
}

/// A list of objects, each of which is a part of the identity by its members.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Sorted by name.
    pub members: Vec<Field>,
    pub unordered: bool,
    /// Other members are content; else they are refused.
    pub open: bool,
}

/// The choice of the element that has a given text in a given place.
#[derive(Clone, Debug)]
pub(crate) struct Pick {
    pub whose: Pointer,
    pub is: String,
    pub take: Pointer,
    pub normalizer: Normalizer,
}

/// A JSON pointer (RFC 6901), taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Pointer {
    /// As the recipe writes it.
    pub text: String,
    pub segments: Vec<String>,
    /// Where it stands in the recipe's text.
    pub at: usize,
}

/// The list whose elements are items.
#[derive(Clone, Debug)]
pub(crate) struct Items {
    /// The list's name in the identity of a record.
    pub name: String,
    /// Where the list stands; of several places, a document has one.
    pub pointers: Vec<Pointer>,
    pub scope: Scope,
    /// Indices of fields, in the order in which they decide the order of items. Empty: the order
    /// of the document has a meaning and is kept.
    pub sort: Vec<usize>,
    /// The name under which equal items of one record are numbered.
    pub occurrence: Option<String>,
    pub namespaces: Option<Namespaces>,
}

/// What the content digest, and the rest within an identity, do with members beside the fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    /// Left out of both.
    pub ignore: Vec<Pointer>,
    /// Arrays whose order means nothing.
    pub unordered: Vec<Pointer>,
    /// Left out of the rest within the identity, so that a difference is a conflict.
    pub aside: Vec<Pointer>,
    /// Normalized where they stand.
    pub in_place: Vec<InPlace>,
    /// Objects of which every member that the recipe does not name has a namespace.
    pub qualified: Vec<Pointer>,
    /// Members that are `null`, `""`, `[]` or `{}`, or hold nothing else, count as absent.
    pub empty_is_absent: bool,
}

/// A member that is normalized where it stands, outside of the identity's fields.
#[derive(Clone, Debug)]
pub(crate) struct InPlace {
    pub pointer: Pointer,
    pub normalizer: Normalizer,
}

/// Something that a document must hold, beyond what its fields need.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// Only where this field has one of these values.
    pub when: Option<(usize, Vec<String>)>,
    /// Each of these must be there and not empty.
    pub needs: Vec<Pointer>,
    /// One of these must be.
    pub needs_any: Vec<Pointer>,
}

/// How names of the form `prefix:local` are read (JSON-LD 1.1, section 3.2).
#[derive(Clone, Debug)]
pub(crate) struct Namespaces {
    /// The member, of the record and of an item, that binds prefixes.
    pub pointer: Pointer,
    /// What is bound from the start, sorted by prefix.
    pub known: Vec<(String, String)>,
}

impl Field {
    /// The normalizer whose fault an absent value has.
    pub fn normalizer(&self) -> Option<&Normalizer> {
        match &self.shape {
            Shape::One(normalizer) | Shape::List { normalizer, .. } => Some(normalizer),
            Shape::Pick(pick) => Some(&pick.normalizer),
            Shape::Group(_) => None,
        }
    }
}
