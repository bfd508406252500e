//! The binary: reads the command line and hands it on.

mod allocator;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    oncegate::commands::dispatch(oncegate::cli::Cli::parse().command).into()
}
