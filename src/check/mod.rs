//! `check`: everything that is wrong between the settings and the cluster, in one run.
//!
//! Facts are gathered first and judged by a pure function. `run` asks the same before it starts.
//! Must not be in here: a repair, or printing.

mod configs;
mod judge;
mod report;
mod rights;
mod tests;
mod topics;

pub use judge::judge;
pub use report::{CheckReport, Finding, Level, RouteFacts, TopicIds};

use crate::kafka::facts::gather;
use crate::kafka::{Admin, AdminError, ClusterFacts};
use crate::settings::Settings;
use crate::topics::{Declarations, topic_names};
use std::time::Duration;

/// Why a check could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// Nobody answers: `run` tries again.
    #[error("the cluster cannot be reached: {0}")]
    Unreachable(String),
    /// The cluster says no, and will say so again: a person must act.
    #[error("the cluster gives no answer that can be judged: {0}")]
    Refused(String),
}

impl From<AdminError> for CheckError {
    fn from(error: AdminError) -> CheckError {
        match error {
            AdminError::Unreachable(why) => CheckError::Unreachable(why),
            AdminError::Denied(why) | AdminError::Failed(why) => CheckError::Refused(why),
        }
    }
}

/// Gathers the facts and judges them. Blocks; each question waits no longer than `timeout`.
///
/// # Errors
/// [`CheckError`] where there are no facts to judge.
pub fn check(settings: &Settings, timeout: Duration) -> Result<CheckReport, CheckError> {
    let admin = Admin::new(&settings.kafka, timeout)?;
    let groups: Vec<&str> = settings.routes.iter().map(|route| route.group_id.as_str()).collect();
    let facts = gather(&admin, &topic_names(&settings.routes), &groups)?;
    let declarations = Declarations::read(&settings.topics_dir, &settings.routes);
    Ok(judge(&settings.routes, &declarations, &facts))
}

/// The facts about every topic of the routes.
///
/// # Errors
/// [`AdminError`] where the cluster gives no answer.
pub fn facts_of(settings: &Settings, admin: &Admin) -> Result<ClusterFacts, AdminError> {
    gather(admin, &topic_names(&settings.routes), &[])
}
