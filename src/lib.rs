//! oncegate lets each event of a Kafka topic through exactly once.
//!
//! The map of the house:
//!
//! | room | what it is for | what it must not know |
//! | --- | --- | --- |
//! | [`identity`] | strict JSON, recipes, normalizers, event keys, content digests | clock, IO, async, logging, every other room |
//! | [`gate`] | records, windows, verdicts, batches | clock, IO, async, logging, `journal` and all below |
//! | [`journal`] | the entry codec and the hash chain | clock, IO, async, logging |
//! | `settings` | the settings of a gate, read whole or refused whole | the cluster |
//! | `topics` | declarations of the topics that oncegate writes, compared with the cluster | altering what exists |
//! | `check` | everything that is wrong between settings and cluster | repairs |
//! | `cli`, `commands` | the command line, one file a subcommand | rules |
//! | `kafka` | the only room that names rdkafka | `store`, and what a finding means |

#[cfg(feature = "service")]
pub mod check;
#[cfg(feature = "service")]
pub mod cli;
#[cfg(feature = "service")]
pub mod commands;
pub mod gate;
pub mod identity;
pub mod journal;
#[cfg(feature = "service")]
pub mod kafka;
#[cfg(feature = "service")]
pub mod settings;
#[cfg(feature = "service")]
pub mod topics;
