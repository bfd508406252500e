//! The settings of a gate: TOML files that make one configuration, read whole or refused whole.
//!
//! `catalogue` holds every setting with its default and bounds; what is read, shown and written into
//! docs/configuration.md comes from there. Every fault of the files is told in one go, each with
//! file, line and what was meant. A faulty line is never quoted, because it may hold a secret. Must
//! not be in here: a cluster, a clock, or anything that happens after the files are read.

mod catalogue;
mod document;
mod fault;
mod files;
mod given;
mod kafka_section;
mod load;
mod merge;
mod model;
mod properties;
mod property_lists;
mod quantity;
mod recipe_file;
mod reference;
mod references;
mod roles;
mod route;
mod sample;
mod section;
mod setting;
mod show;
mod suggest;
mod topic_name;

pub use document::Document;
pub use fault::{Fault, SettingsErrors};
pub use given::Given;
pub use model::{
    Arrival, BatchSettings, Overrides, RouteSettings, Settings, TopicRole, UNBOUNDED_FUTURE_MICROS,
};
pub use properties::{ClientKind, ClientProperties};
pub use recipe_file::{RecipeFileError, read_recipe};
pub use reference::reference;
#[cfg(test)]
pub(crate) use sample::sample_route;
pub use section::Section;
pub use show::show;
pub use suggest::nearest;
pub use topic_name::topic_name_fault;
