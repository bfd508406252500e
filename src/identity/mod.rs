//! Identity: from the bytes of a record to its event keys.
//!
//! A [`Recipe`] says what makes an event itself; a [`Deriver`] turns the bytes of a record into
//! [`Events`], each with an [`EventKey`] and a [`ContentDigest`], or into a [`Rejection`] with a
//! [`Reason`] from a closed list. Two deliveries of one event have one key however they are
//! spelled, two events never share one, and what has no certain meaning is refused.
//!
//! This room is pure: no clock, no IO, no async, no logging, nothing of the other rooms.

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

pub use derive::Deriver;
pub use events::{Event, Events, ItemSpan};
pub use explain::{Explained, ExplainedField, explain};
pub use hash::{ContentDigest, EventKey};
pub use json::MAX_DEPTH;
pub use normalize::try_out::{Normalized, NotNormalized, normalize, normalizers};
pub use recipe::{Granularity, Recipe, RecipeError};
pub use reject::{Fault, Reason, Rejection};
