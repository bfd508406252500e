//! oncegate lets each event of a Kafka topic through exactly once.
//!
//! The map of the house:
//!
//! | room | what it is for | what it must not know |
//! | --- | --- | --- |
//! | [`identity`] | strict JSON, recipes, normalizers, event keys, content digests | clock, IO, async, logging, every other room |
//! | [`gate`] | records, windows, verdicts, batches | clock, IO, async, logging, `journal` and all below |
//! | [`journal`] | the entry codec and the hash chain | clock, IO, async, logging |
//! | `store` | one partition's sightings on disk; the only room that names RocksDB | `kafka`, settings, logging |

pub mod gate;
pub mod identity;
pub mod journal;
#[cfg(feature = "store")]
pub mod store;
