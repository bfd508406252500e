//! The command line: what may be said, and what each exit status means.
//! Must not be in here: what a command does.

mod acts;
mod config;
mod evidence;
mod identity;
mod quarantine;
mod status;

pub use acts::{ActArgs, AdoptArgs, SkipArgs, UndecidedArgs};
pub use config::{ConfigArgs, ConfigCommand};
pub use evidence::{EvidenceArgs, LookupArgs, ReconcileArgs, RouteArgs, SurveyArgs, VerifyArgs};
pub use identity::{KeyArgs, NormalizeArgs, NormalizerOption};
pub use quarantine::{
    QuarantineAdmitArgs, QuarantineArgs, QuarantineCommand, QuarantineListArgs,
    QuarantineRedriveArgs, QuarantineShowArgs,
};
pub use status::StatusArgs;

use crate::ops::logging::LogFormat;
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
    /// Say how a running process is, as its page does; fine where it is ready.
    Status(StatusArgs),
    /// Say everything that is wrong between the configuration and the cluster.
    Check(CheckArgs),
    /// Create or compare the topics that oncegate writes.
    Topics {
        /// What to do with them.
        #[command(subcommand)]
        command: TopicsCommand,
    },
    /// Show the configuration that holds, or every setting that there is.
    Config {
        /// What to show.
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Look at quarantined records, and bring them back.
    Quarantine {
        /// What to do with them.
        #[command(subcommand)]
        command: QuarantineCommand,
    },
    /// Prove that every record and event is in exactly one count, and that the topics agree.
    Reconcile(ReconcileArgs),
    /// Prove that no key stands twice, nothing was changed, put in or taken out.
    Verify(VerifyArgs),
    /// Tell what became of one event.
    Lookup(LookupArgs),
    /// Count the duplicates, conflicts and late events of a topic.
    Survey(SurveyArgs),
    /// Go on behind records that a person leaves undecided; the journal keeps name and reason.
    Skip(SkipArgs),
    /// Go on behind records that were deleted from the raw log unread.
    AcceptGap(UndecidedArgs),
    /// Go on at an offset although the logs contradict each other; the journal keeps name and
    /// reason, and the answer says what can no longer be proven.
    Adopt(AdoptArgs),
    /// Print the keys of documents, one JSON line for each line read.
    Key(KeyArgs),
    /// Print what a normalizer makes of values, one JSON line each.
    Normalize(NormalizeArgs),
    /// Print the completions of a shell.
    Completions(CompletionsArgs),
    /// Print the manual page, in roff.
    Man,
}

/// Arguments of `completions`.
#[derive(Args, Clone, Debug)]
pub struct CompletionsArgs {
    /// For which shell.
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// What to do with topics.
#[derive(Debug, Subcommand)]
pub enum TopicsCommand {
    /// Create the topics that are missing. What exists is never altered.
    Apply(TopicsArgs),
    /// Say where the cluster differs from the declarations.
    Diff(TopicsArgs),
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
    /// How log lines are written.
    #[arg(
        long,
        value_name = "FORMAT",
        env = "ONCEGATE_LOG_FORMAT",
        value_enum,
        default_value = "human"
    )]
    pub log_format: LogFormat,
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
