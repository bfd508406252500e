//! The commands, one file each: they read the settings, call the rooms, print and give an outcome.
//! Must not be in here: anything that another command or the running gate also needs.

pub mod check;
pub mod key;
pub mod normalize;
pub mod quarantine;
pub mod run;
pub mod topics;

use crate::cli::{Command, Outcome, TopicsCommand};
use crate::settings::{Overrides, RouteSettings, Settings, nearest};
use chrono::{DateTime, SecondsFormat};
use std::path::Path;

/// Does what the command line says.
pub fn dispatch(command: Command) -> Outcome {
    match command {
        Command::Run(args) => run::run(args),
        Command::Check(args) => check::check(&args),
        Command::Topics { command: TopicsCommand::Apply(args) } => topics::apply(&args),
        Command::Topics { command: TopicsCommand::Diff(args) } => topics::diff(&args),
        Command::Quarantine { command } => quarantine::quarantine(&command),
        Command::Key(args) => key::key(&args),
        Command::Normalize(args) => normalize::normalize_values(&args),
    }
}

/// Reads the settings, or tells every fault.
fn load(path: &Path, overrides: &Overrides) -> Result<Settings, Outcome> {
    Settings::load(path, overrides).map_err(|faults| {
        eprintln!("{faults}");
        Outcome::Faulty
    })
}

/// The route of this name, or which there are.
fn route_named<'s>(settings: &'s Settings, name: &str) -> Result<&'s RouteSettings, Outcome> {
    if let Some(route) = settings.routes.iter().find(|route| route.name == name) {
        return Ok(route);
    }
    let names: Vec<&str> = settings.routes.iter().map(|route| route.name.as_str()).collect();
    let near = nearest(name, names.iter().copied());
    let meant = near.map_or(".".to_owned(), |near| format!("; did you mean `{near}`?"));
    eprintln!("there is no route `{name}`{meant} There are: {}", names.join(", "));
    Err(Outcome::Faulty)
}

/// Milliseconds since 1970 as RFC 3339 in UTC.
fn utc(ms: i64) -> Option<String> {
    Some(DateTime::from_timestamp_millis(ms)?.to_rfc3339_opts(SecondsFormat::Millis, true))
}
