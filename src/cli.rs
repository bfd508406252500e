//! The command line: what may be said, and what each exit status means.
//! Must not be in here: what a command does.

use crate::journal::ChainHead;
use crate::settings::Overrides;
use clap::{Args, Parser, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

/// Lets each event of a Kafka topic through exactly once.
#[derive(Debug, Parser)]
#[command(name = "oncegate", version, about, after_help = EXIT_HELP)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_HELP: &str = "Exit status: 0 all is well, 1 something is wrong, 2 the command line or \
                         the configuration is faulty.";

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is well.
    Fine,
    /// Something is wrong, and was said.
    Wrong,
    /// The command line or the configuration is faulty.
    Faulty,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        match outcome {
            Outcome::Fine => ExitCode::from(0),
            Outcome::Wrong => ExitCode::from(1),
            // clap ends with the same for a faulty command line.
            Outcome::Faulty => ExitCode::from(2),
        }
    }
}

/// The commands, each in a file of `commands`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the routes.
    Run(RunArgs),
    /// Say everything that is wrong between the configuration and the cluster.
    Check(CheckArgs),
    /// Create or compare the topics that oncegate writes.
    Topics {
        /// What to do with them.
        #[command(subcommand)]
        command: TopicsCommand,
    },
    /// Prove that every record and event is in exactly one count, and that the topics agree.
    Reconcile(ReconcileArgs),
    /// Prove that no key stands twice, nothing was changed, put in or taken out.
    Verify(VerifyArgs),
    /// Tell what became of one event.
    Lookup(LookupArgs),
    /// Count the duplicates, conflicts and late events of a topic.
    Survey(SurveyArgs),
}

/// What to do with topics.
#[derive(Debug, Subcommand)]
pub enum TopicsCommand {
    /// Create the topics that are missing. What exists is never altered.
    Apply(TopicsArgs),
    /// Say where the cluster differs from the declarations.
    Diff(TopicsArgs),
}

/// Which configuration, and which cluster.
#[derive(Args, Clone, Debug)]
pub struct ConfigArgs {
    /// The configuration file.
    #[arg(long, value_name = "FILE", default_value = "config/oncegate.toml")]
    pub config: PathBuf,
    /// Brokers to ask first, in place of `bootstrap.servers`.
    #[arg(long, value_name = "HOST:PORT,...", env = "ONCEGATE_BOOTSTRAP")]
    pub bootstrap: Option<String>,
}

/// Arguments of `run`.
#[derive(Args, Clone, Debug)]
pub struct RunArgs {
    /// Which configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// The state directory, in place of `state_dir`.
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// The instance id, in place of `instance`.
    #[arg(long, value_name = "ID")]
    pub instance: Option<String>,
    /// Address of metrics and health, in place of `http.listen`.
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: Option<SocketAddr>,
}

/// Arguments of `check`.
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// Which configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// How long to wait for each answer of the cluster.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = humantime::parse_duration)]
    pub timeout: std::time::Duration,
}

/// Arguments of `topics apply` and `topics diff`.
#[derive(Args, Clone, Debug)]
pub struct TopicsArgs {
    /// Which configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// How long to wait for each answer of the cluster.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = humantime::parse_duration)]
    pub timeout: std::time::Duration,
}

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
    /// The recipe: its name in the folder of recipes, or a file that ends with `.toml`.
    #[arg(long, value_name = "NAME")]
    pub recipe: String,
    /// The folder of recipes; without it `recipes` beside the configuration.
    #[arg(long, value_name = "DIR")]
    pub recipes: Option<PathBuf>,
    /// A configuration whose brokers and client properties are taken.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
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

impl ConfigArgs {
    /// What the command line sets in place of the file.
    pub fn overrides(&self) -> Overrides {
        // An empty variable is one that is not set.
        let bootstrap = self.bootstrap.clone().filter(|servers| !servers.is_empty());
        Overrides { bootstrap, ..Overrides::default() }
    }
}

impl RunArgs {
    /// What the command line sets in place of the file.
    pub fn overrides(&self) -> Overrides {
        Overrides {
            state_dir: self.state_dir.clone(),
            instance: self.instance.clone(),
            http_listen: self.listen,
            ..self.config.overrides()
        }
    }
}
