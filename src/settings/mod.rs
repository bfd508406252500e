//! The settings of a gate: one TOML file, read whole or refused whole.
//!
//! Every fault of the file is told in one go, each with file, line and what was meant. A faulty
//! line is never quoted, because it may hold a secret. Must not be in here: a cluster, a clock, or
//! anything that happens after the file is read.

mod document;
mod environment;
mod fault;
mod kafka_section;
mod load;
mod model;
mod properties;
mod quantity;
mod recipe_file;
mod roles;
mod route;
mod sample;
mod suggest;
mod topic_name;

pub use document::{Document, Section};
pub use fault::{Fault, SettingsErrors};
pub use model::{
    Arrival, BatchSettings, Overrides, RouteSettings, Settings, TopicRole, UNBOUNDED_FUTURE_MICROS,
};
pub use properties::{ClientKind, ClientProperties};
pub use recipe_file::{RecipeFileError, read_recipe};
#[cfg(test)]
pub(crate) use sample::sample_route;
pub use suggest::nearest;
pub use topic_name::topic_name_fault;
