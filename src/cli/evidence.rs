//! What may be said to the evidence commands.
//! Must not be in here: what a command does.

use super::ConfigArgs;
use crate::journal::ChainHead;
use clap::Args;
use std::path::PathBuf;

/// How an evidence command reads and speaks.
#[derive(Args, Clone, Debug)]
pub struct EvidenceArgs {
    /// One JSON document in place of the table.
    #[arg(long)]
    pub json: bool,
    /// Say on standard error how far things are, also where it is no terminal.
    #[arg(long)]
    pub progress: bool,
    /// Give up when a log does not move for this long.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = humantime::parse_duration)]
    pub timeout: std::time::Duration,
    /// Where rows are sorted that do not fit into memory; the system's own without it.
    #[arg(long, value_name = "DIR")]
    pub temp_dir: Option<PathBuf>,
}

/// A route, and how its topics are read.
#[derive(Args, Clone, Debug)]
pub struct RouteArgs {
    /// The route.
    #[arg(value_name = "ROUTE")]
    pub route: String,
    /// Which configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// How its topics are read.
    #[command(flatten)]
    pub evidence: EvidenceArgs,
}

/// Arguments of `reconcile`.
#[derive(Args, Clone, Debug)]
pub struct ReconcileArgs {
    /// Which route.
    #[command(flatten)]
    pub route: RouteArgs,
    /// Only this raw partition.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i32).range(0..))]
    pub partition: Option<i32>,
    /// Only entries that touch raw offsets from this one on.
    #[arg(long, value_name = "OFFSET", requires = "partition", value_parser = clap::value_parser!(i64).range(0..))]
    pub from: Option<i64>,
    /// Only entries that touch raw offsets below this one.
    #[arg(long, value_name = "OFFSET", requires = "partition", value_parser = clap::value_parser!(i64).range(0..))]
    pub to: Option<i64>,
    /// The journal's retention is limited: entries before its start are counted, not a fault.
    #[arg(long)]
    pub allow_cut: bool,
}

/// Arguments of `verify`.
#[derive(Args, Clone, Debug)]
pub struct VerifyArgs {
    /// Which route.
    #[command(flatten)]
    pub route: RouteArgs,
    /// A head of the journal's chain that was noted elsewhere; more than one may be named.
    #[arg(long = "head", value_name = "PARTITION:NUMBER:HASH", value_parser = head)]
    pub heads: Vec<(i32, ChainHead)>,
    /// The journal's retention is limited: entries before its start are counted, not a fault.
    #[arg(long)]
    pub allow_cut: bool,
}

/// Arguments of `lookup`.
#[derive(Args, Clone, Debug)]
pub struct LookupArgs {
    /// Which route.
    #[command(flatten)]
    pub route: RouteArgs,
    /// The event's key: 64 hex digits, with or without what stands before them.
    #[arg(value_name = "KEY", required_unless_present = "document")]
    pub key: Option<String>,
    /// A document of the event instead; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "key")]
    pub document: Option<PathBuf>,
}

/// Arguments of `survey`.
#[derive(Args, Clone, Debug)]
pub struct SurveyArgs {
    /// The topic.
    #[arg(long, value_name = "TOPIC")]
    pub topic: String,
    /// Name of the recipe.
    #[arg(long, value_name = "NAME")]
    pub recipe: String,
    /// A folder with recipes of one's own, in place of those that come with oncegate.
    #[arg(long, value_name = "DIR")]
    pub recipes: Option<PathBuf>,
    /// A configuration whose brokers and client properties are taken; may be said several times.
    #[arg(long, value_name = "PATH")]
    pub config: Vec<PathBuf>,
    /// Brokers to ask first.
    #[arg(long, value_name = "HOST:PORT,...", env = "ONCEGATE_BOOTSTRAP")]
    pub bootstrap: Option<String>,
    /// How it is read.
    #[command(flatten)]
    pub evidence: EvidenceArgs,
}

/// Reads `PARTITION:NUMBER:HASH`.
fn head(text: &str) -> Result<(i32, ChainHead), String> {
    let read = || {
        let mut parts = text.split(':');
        let partition: i32 = parts.next()?.parse().ok().filter(|number| *number >= 0)?;
        let number = parts.next()?.parse().ok()?;
        let mut hash = [0; 32];
        hex::decode_to_slice(parts.next()?, &mut hash).ok()?;
        parts.next().is_none().then_some((partition, ChainHead { number, hash }))
    };
    read().ok_or_else(|| "write it as `verify` prints it: 0:17:<64 hex digits>".to_owned())
}

impl EvidenceArgs {
    /// Where rows are sorted.
    pub fn temp_dir(&self) -> PathBuf {
        self.temp_dir.clone().unwrap_or_else(std::env::temp_dir)
    }
}
