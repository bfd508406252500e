//! The binary: reads the command line and hands it on.

use clap::Parser;
use std::process::ExitCode;

/// Most memory is taken by one thread of a client and given back by another, which costs the C
/// library's allocator an eighth of all time.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What the allocator is told as it begins: memory that was given back goes to the system after a
/// second, by threads of its own, and not after ten.
// SAFETY: the allocator reads a pointer to a text that ends with a zero from this name, and the
// first word of this reference is one. Nothing else has the name.
#[unsafe(export_name = "malloc_conf")]
pub static ALLOCATOR_SETTINGS: &[u8] =
    b"background_thread:true,narenas:4,dirty_decay_ms:1000,muzzy_decay_ms:0\0";

fn main() -> ExitCode {
    oncegate::commands::dispatch(oncegate::cli::Cli::parse().command).into()
}
