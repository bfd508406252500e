//! The binary: reads the command line and hands it on.

use clap::Parser;
use std::process::ExitCode;

/// Most memory is taken by one thread of a client and given back by another, which costs the C
/// library's allocator a seventh of all time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    oncegate::commands::dispatch(oncegate::cli::Cli::parse().command).into()
}
