//! `oncegate config`: the configuration that holds, and the page of every setting.
//! Must not be in here: what a setting means.

use crate::cli::{ConfigCommand, Outcome, RunArgs};
use crate::settings::{Settings, reference, show};

/// Prints what was asked for.
pub fn config(command: &ConfigCommand) -> Outcome {
    match command {
        ConfigCommand::Show(args) => show_effective(args),
        ConfigCommand::Reference => {
            print!("{}", reference());
            Outcome::Fine
        }
    }
}

fn show_effective(args: &RunArgs) -> Outcome {
    let overrides = args.overrides();
    match Settings::load_all(&args.config.config, &overrides) {
        Ok((settings, given)) => {
            print!("{}", show(&settings, &given, &overrides));
            Outcome::Fine
        }
        Err(faults) => {
            eprintln!("{faults}");
            Outcome::Faulty
        }
    }
}
