//! The commands, one file each: they read the settings, call the rooms, print and give an outcome.
//! Must not be in here: anything that another command or the running gate also needs.

pub mod accept_gap;
mod act;
pub mod adopt;
pub mod check;
pub mod completions;
pub mod config;
mod evidence;
pub mod key;
pub mod lookup;
pub mod man;
pub mod normalize;
pub mod quarantine;
pub mod reconcile;
pub mod run;
pub mod skip;
pub mod status;
pub mod survey;
pub mod topics;
pub mod verify;

use crate::cli::{Command, Outcome, TopicsCommand};
use crate::identity::{Recipe, shipped_recipe, shipped_recipes};
use crate::settings::{Overrides, RouteSettings, Settings, nearest, read_recipe};
use chrono::{DateTime, SecondsFormat};
use std::path::{Path, PathBuf};

/// Does what the command line says.
pub fn dispatch(command: Command) -> Outcome {
    match command {
        Command::Run(args) => run::run(args),
        Command::Status(args) => status::status(&args),
        Command::Check(args) => check::check(&args),
        Command::Topics { command: TopicsCommand::Apply(args) } => topics::apply(&args),
        Command::Topics { command: TopicsCommand::Diff(args) } => topics::diff(&args),
        Command::Config { command } => config::config(&command),
        Command::Reconcile(args) => reconcile::reconcile(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Lookup(args) => lookup::lookup(&args),
        Command::Survey(args) => survey::survey(&args),
        Command::Skip(args) => skip::skip(&args),
        Command::AcceptGap(args) => accept_gap::accept_gap(&args),
        Command::Adopt(args) => adopt::adopt(&args),
        Command::Quarantine { command } => quarantine::quarantine(&command),
        Command::Key(args) => key::key(&args),
        Command::Normalize(args) => normalize::normalize_values(&args),
        Command::Completions(args) => completions::completions(&args),
        Command::Man => man::man(),
    }
}

/// Reads the settings, or tells every fault.
fn load(paths: &[PathBuf], overrides: &Overrides) -> Result<Settings, Outcome> {
    let loaded = Settings::load_all(paths, overrides).map(|(settings, _)| settings);
    loaded.map_err(|faults| {
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

/// A recipe of one's own folder, or one that comes with oncegate.
fn recipe_named(name: &str, dir: Option<&Path>) -> Result<Recipe, String> {
    if let Some(dir) = dir {
        return read_recipe(dir, name).map_err(|error| error.to_string());
    }
    let Some(text) = shipped_recipe(name) else {
        let near = nearest(name, shipped_recipes());
        let meant = near.map_or(".".to_owned(), |near| format!("; did you mean `{near}`?"));
        let all: Vec<&str> = shipped_recipes().collect();
        let all = all.join(", ");
        return Err(format!(
            "no recipe of this name comes with oncegate{meant} There are: {all}. `--recipes DIR` \
             reads one of your own"
        ));
    };
    Recipe::parse(name, text).map_err(|error| error.to_string())
}

/// Milliseconds since 1970 as RFC 3339 in UTC.
fn utc(ms: i64) -> Option<String> {
    Some(DateTime::from_timestamp_millis(ms)?.to_rfc3339_opts(SecondsFormat::Millis, true))
}
