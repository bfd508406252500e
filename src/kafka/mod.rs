//! The only room that names rdkafka.
//!
//! `property` knows nothing of the house, so that the settings can ask it whether librdkafka takes
//! a value; `config` makes clients' configurations out of settings; `admin` asks the cluster what
//! it is. Must not be in here: verdicts, stores, or what a finding means.

pub mod admin;
pub mod config;
mod describe;
pub mod facts;
pub mod property;

pub use admin::{Admin, AdminError, NewTopicSpec, TopicDescription, TopicId, TopicState};
pub use config::OutputLimits;
pub use facts::{ClusterFacts, Configs, TopicFacts};
