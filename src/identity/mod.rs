//! Identity: from the bytes of a record to its event keys.
//!
//! A [`Recipe`] says what makes an event itself; a [`Deriver`] turns the bytes of a record into
//! [`Events`], each with an [`EventKey`] and a [`ContentDigest`], or into a [`Rejection`] with a
//! [`Reason`] from a closed list. Two deliveries of one event have one key however they are
//! spelled, two events never share one, and what has no certain meaning is refused.
//!
//! This room is pure: no clock, no IO, no async, no logging, nothing of the other rooms. It
//! builds alone (`--no-default-features`), and can be used as a library.
//!
//! ```
//! use oncegate::identity::{Deriver, Recipe};
//!
//! let recipe = Recipe::parse(
//!     "lab.toml",
//!     r#"
//!     name = "lab"
//!     version = 1
//!     granularity = "record"
//!     encoding = "tuple"
//!
//!     [[field]]
//!     name = "accession"
//!     pointer = "/accession"
//!     normalize = "text"
//!
//!     [[field]]
//!     name = "resulted_at"
//!     pointer = "/resulted_at"
//!     normalize = "timestamp"
//!     "#,
//! )?;
//! let mut deriver = Deriver::new(recipe.into());
//! let mut derive = |document: &str| {
//!     let events = deriver.derive(document.as_bytes()).unwrap();
//!     let event = events.iter().next().unwrap().unwrap();
//!     (event.key, event.digest)
//! };
//! let first = derive(r#"{"accession": "A1", "resulted_at": "2026-07-01T14:30:00Z", "value": 4.2}"#);
//! let again = derive(r#"{"value":4.2,"resulted_at":"2026-07-01T10:30:00-04:00","accession":" A1 "}"#);
//! let other = derive(r#"{"accession": "A1", "resulted_at": "2026-07-01T14:30:00Z", "value": 6.8}"#);
//! assert_eq!(first, again); // a duplicate, spelled otherwise
//! assert!(first.0 == other.0 && first.1 != other.1); // a conflict: same event, other content
//! # Ok::<(), oncegate::identity::RecipeError>(())
//! ```
//!
//! # The key
//!
//! The fields that a recipe names are normalized, each to one text for all spellings of its
//! meaning, and joined in one of two encodings; the key is the SHA-256 of these bytes.
//!
//! - `tuple`: the texts of the fields that every event has, in the recipe's order, joined by `|`;
//!   then `|name=text` for each optional field that is there. No text holds `|`, so no two tuples
//!   are joined to the same bytes.
//! - `json`: an object of the fields in ASCII, sorted by name, without blanks, non-ASCII
//!   characters as `\uXXXX` in lower case. Every value is a text; lists and groups are arrays and
//!   objects of texts; items stand in the order that the recipe sorts them in.
//!
//! An optional field that is absent leaves no trace; a text that is empty is refused unless the
//! recipe allows it, and then stands as an empty text.
//!
//! # The content digest
//!
//! The first 16 bytes of the SHA-256 over `oncegate content 1`, a line feed, the 32 bytes of the
//! identity's hash, and the canonical content. The content is the document as JSON with members
//! sorted by the bytes of their names, without blanks, only `"`, `\` and control characters
//! escaped, and numbers as the text they were sent as. Left out is what the identity holds
//! already in normalized form, what the recipe ignores, and objects of which nothing else is
//! left; lists that the recipe calls unordered, and items that it sorts, stand sorted. So a
//! member that is normalized makes a difference only where its meaning does, and any other member
//! wherever its value is written otherwise (`4.2` and `4.20`), JSON syntax apart.
//!
//! In granularity `items` the content is that of the item alone; the record's identity members
//! are in it by the identity's hash, which is taken without an item's occurrence. Where a recipe
//! puts the rest of an event into the identity, the content is what it sets aside.
//!
//! # What is refused
//!
//! A record is rejected as a whole when it is not strict JSON (repeated members, `NaN`, lone
//! surrogates, bad UTF-8, text behind the document, nesting deeper than [`MAX_DEPTH`], more than
//! 128 MiB), or when a field of the record itself is bad. A bad item rejects the record in
//! granularity `record` and only itself in granularity `items`. A list of items that is missing
//! or empty rejects the record as `empty` in both: a record never vanishes. No rejection holds a
//! value of the document.
//!
//! # How fast
//!
//! One pass over the bytes, no tree of allocations; a warm deriver allocates nothing for records
//! that are not rejected. A deriver remembers how documents were built to read the next one
//! sooner; that has no influence on any answer. `benches/identity.rs` measures it.

mod content;
mod derive;
mod events;
mod explain;
mod fields;
mod hash;
mod item_order;
mod items;
mod json;
mod lists;
mod namespaces;
mod normalize;
mod preimage;
mod recipe;
mod reject;
mod resolve;
mod shape_maps;
mod shipped;

pub use derive::Deriver;
pub use events::{Event, Events, ItemSpan};
pub use explain::{Explained, ExplainedField, explain};
pub use hash::{ContentDigest, EventKey};
pub use json::MAX_DEPTH;
pub use normalize::try_out::{Normalized, NotNormalized, normalize, normalizers};
pub use recipe::{Granularity, Recipe, RecipeError};
pub use reject::{Fault, Reason, Rejection};
pub use shipped::{shipped_recipe, shipped_recipes};
