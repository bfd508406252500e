//! Which configuration a command takes, and what may be said to `config`.
//! Must not be in here: what a command does.

use super::RunArgs;
use crate::settings::Overrides;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Which configuration, and which cluster.
#[derive(Args, Clone, Debug)]
pub struct ConfigArgs {
    /// A file of the configuration, or a directory with its *.toml files; may be said several times.
    #[arg(long, value_name = "PATH", default_value = "config/oncegate.toml")]
    pub config: Vec<PathBuf>,
    /// Brokers to ask first, in place of `bootstrap.servers`.
    #[arg(long, value_name = "HOST:PORT,...", env = "ONCEGATE_BOOTSTRAP")]
    pub bootstrap: Option<String>,
}

impl ConfigArgs {
    /// What the command line sets in place of the files.
    pub fn overrides(&self) -> Overrides {
        // An empty variable is one that is not set.
        let bootstrap = self.bootstrap.clone().filter(|servers| !servers.is_empty());
        Overrides { bootstrap, ..Overrides::default() }
    }
}

/// What to show of the configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the configuration that holds for `run` with the same options: defaults filled in, where
    /// each other setting comes from, secrets hidden. No broker is asked.
    Show(RunArgs),
    /// Print the page of every setting, docs/configuration.md.
    Reference,
}
