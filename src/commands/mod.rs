//! The commands, one file each: they read the settings, call the rooms, print and give an outcome.
//! Must not be in here: anything that another command or the running gate also needs.

pub mod check;
mod evidence;
pub mod key;
pub mod lookup;
pub mod normalize;
pub mod reconcile;
pub mod run;
pub mod survey;
pub mod topics;
pub mod verify;

use crate::cli::{Command, Outcome, TopicsCommand};
use crate::settings::{Overrides, Settings};
use std::path::Path;

/// Does what the command line says.
pub fn dispatch(command: Command) -> Outcome {
    match command {
        Command::Run(args) => run::run(args),
        Command::Check(args) => check::check(&args),
        Command::Topics { command: TopicsCommand::Apply(args) } => topics::apply(&args),
        Command::Topics { command: TopicsCommand::Diff(args) } => topics::diff(&args),
        Command::Reconcile(args) => reconcile::reconcile(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Lookup(args) => lookup::lookup(&args),
        Command::Survey(args) => survey::survey(&args),
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
