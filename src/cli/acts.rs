//! What may be said to the acts of a person.
//! Must not be in here: what a command does.

use super::ConfigArgs;
use clap::Args;
use std::path::PathBuf;

/// Who acts, why, and as which member.
#[derive(Args, Clone, Debug)]
pub struct ActArgs {
    /// Who does it; written into the journal for good.
    #[arg(long, value_name = "NAME")]
    pub by: String,
    /// Why; written into the journal for good.
    #[arg(long = "because", value_name = "TEXT")]
    pub reason: String,
    /// The state directory of a process that is stopped, or an empty one.
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
}

/// Arguments of `accept-gap`, and the common ones of `skip` and `adopt`.
#[derive(Args, Clone, Debug)]
pub struct UndecidedArgs {
    /// Name of the route.
    #[arg(value_name = "ROUTE")]
    pub route: String,
    /// The raw partition.
    #[arg(long, value_name = "NUMBER")]
    pub partition: i32,
    /// Who and why.
    #[command(flatten)]
    pub act: ActArgs,
    /// Which configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// How long to wait for the partition, or for an answer.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = humantime::parse_duration)]
    pub timeout: std::time::Duration,
}

/// Arguments of `skip`.
#[derive(Args, Clone, Debug)]
pub struct SkipArgs {
    /// Where.
    #[command(flatten)]
    pub place: UndecidedArgs,
    /// The offset to go on at.
    #[arg(long, value_name = "OFFSET")]
    pub to: i64,
}

/// Arguments of `adopt`.
#[derive(Args, Clone, Debug)]
pub struct AdoptArgs {
    /// Where.
    #[command(flatten)]
    pub place: UndecidedArgs,
    /// The raw offset to go on at.
    #[arg(long, value_name = "OFFSET")]
    pub at: i64,
}
