//! `oncegate completions`: what a shell needs to complete the command line.
//! Must not be in here: a word of the command line, which `cli` alone knows.

use crate::cli::{Cli, CompletionsArgs, Outcome};
use clap::CommandFactory;
use std::io::Write;

/// Prints the completions of a shell.
pub fn completions(args: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    match std::io::stdout().lock().write_all(&script) {
        Ok(()) => Outcome::Fine,
        Err(error) => {
            eprintln!("completions: {error}");
            Outcome::Wrong
        }
    }
}
