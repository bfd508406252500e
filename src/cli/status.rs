//! What may be said to `status`.
//! Must not be in here: what a command does.

use crate::ops::fetch::Address;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `status`.
#[derive(Args, Clone, Debug)]
pub struct StatusArgs {
    /// Where the process listens; without it `http.listen` of `--config`, or
    /// http://127.0.0.1:9464.
    #[arg(long, value_name = "URL")]
    pub url: Option<Address>,
    /// The configuration file of a process on this machine.
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    pub config: Option<PathBuf>,
    /// Print the JSON of `/status`.
    #[arg(long)]
    pub json: bool,
    /// How long to wait for the answer.
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = humantime::parse_duration)]
    pub timeout: Duration,
}
