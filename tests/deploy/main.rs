//! What is shipped to run oncegate with, read as its users would: command lines by the product's own
//! parser, settings by its own loader, and every name by what it has to match elsewhere.
//! Starts nothing; `scripts/compose-proof.sh` does.
#![cfg(feature = "service")]

mod compose;
mod dockerfile;
mod kubernetes;
mod systemd;
mod yaml;

use clap::Parser;
use oncegate::cli::{Cli, Command, RunArgs};
use oncegate::settings::{Overrides, Settings};
use std::path::{Path, PathBuf};

/// A file of the project.
fn at(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(at(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What a command line without the program's name says.
fn command(words: &[String]) -> Command {
    let words = std::iter::once("oncegate").chain(words.iter().map(String::as_str));
    Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).command
}

/// The arguments of a command line that must be one of `run`.
fn run_args(words: &[String]) -> RunArgs {
    match command(words) {
        Command::Run(args) => args,
        other => panic!("it does not run the routes: {other:?}"),
    }
}

fn shipped_settings() -> Settings {
    settings(&at("config/oncegate.toml"))
}

fn settings(path: &Path) -> Settings {
    Settings::load(path, &Overrides::default()).unwrap_or_else(|faults| panic!("{faults}"))
}

/// How long an orderly end may take, in seconds.
fn shutdown_s(settings: &Settings) -> f64 {
    let longest = settings.routes.iter().map(|route| route.shutdown_ms).max().unwrap();
    longest as f64 / 1_000.0
}

/// `90`, `45s` or `1m30s`, in seconds.
fn seconds(text: &str) -> f64 {
    let bare = text.parse::<f64>().ok();
    bare.unwrap_or_else(|| humantime::parse_duration(text).unwrap().as_secs_f64())
}
