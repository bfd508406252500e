//! oncegate lets each event of a Kafka topic through exactly once.
//!
//! The map of the house:
//!
//! | room | what it is for | what it must not know |
//! | --- | --- | --- |
//! | [`identity`] | strict JSON, recipes, normalizers, event keys, content digests | clock, IO, async, logging, every other room |
//! | [`gate`] | records, windows, verdicts, the batch with all its effects | clock, IO, async, logging; of the rooms only `identity` |
//! | [`journal`] | the entry codec, the hash chain, receipts | clock, IO, async, logging; of the rooms only `gate` and `identity` |
//! | `store` | what a partition has seen, on disk; the only room that names rocksdb | `kafka`, `processor` |
//! | `kafka` | clients and what is asked of a cluster; the only room that names rdkafka | `store`, `processor` |
//! | `processor` | workers, tasks, takeovers, transactions | any client or engine but through the traits of `kafka` and `store` |
//! | `evidence` | what the topics of a route prove, from Kafka alone | `store`, `processor`, any client but through the traits of `kafka` |
//! | `quarantine` | held records: what they are, which are meant, how they go back | clients, verdicts |
//! | `settings` | the settings of a gate, read whole or refused whole | the cluster |
//! | `topics` | declarations of the topics that oncegate writes, compared with the cluster | altering what exists |
//! | `check` | everything that is wrong between settings and cluster | repairs, printing |
//! | `cli`, `commands` | the command line, one file a subcommand | rules |
//! | `service` | the workers of all routes of one process, from settings to an orderly end | what a worker does |
//! | `ops` | readiness, metrics, status, logs | `kafka`, `store` |
//! | `named` | closed lists whose values have names | any list |
//!
//! The first three build alone, without C++: `cargo build --no-default-features`. They are what
//! other programs may embed; the other rooms are the service's own and may change.

#[warn(missing_docs)]
pub mod gate;
#[warn(missing_docs)]
pub mod identity;
#[warn(missing_docs)]
pub mod journal;

#[cfg(feature = "service")]
pub mod check;
#[cfg(feature = "service")]
pub mod cli;
#[cfg(feature = "service")]
pub mod commands;
#[cfg(feature = "service")]
pub mod evidence;
#[cfg(feature = "service")]
pub mod kafka;
#[cfg(feature = "service")]
mod named;
#[cfg(feature = "service")]
pub mod ops;
#[cfg(feature = "service")]
pub mod processor;
#[cfg(feature = "service")]
pub mod quarantine;
#[cfg(feature = "service")]
pub mod service;
#[cfg(feature = "service")]
pub mod settings;
#[cfg(feature = "store")]
pub mod store;
#[cfg(feature = "service")]
pub mod topics;
