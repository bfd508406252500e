//! The test kit of oncegate: what its real-broker tests, its demo and its bench share.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`bench`] | the gate beside a bare exactly-once pipe and Kafka Streams: rate, cost, latency |
//! | [`broker`] | one way to a Kafka cluster: a given one, a container, or a local JVM; faults |
//! | [`chaos`] | three brokers and three processes under load, and faults at random from a seed |
//! | [`exposition`] | reads what `/metrics` says |
//! | [`generator`] | deterministic samples of raw events whose truth is known beforehand |
//! | [`produce`] | writes a sample to a raw topic, with and without transactions |
//! | [`reader`] | reads a topic from its beginning to its end, committed records only |
//! | [`topics`] | creates, deletes, cuts and names topics; sets a group's offsets |
//! | [`compare`] | what stands in a clean topic against what the generator sent |
//! | [`process`] | an `oncegate` process as a child, and the faults it can suffer |
//! | [`http`] | one GET, for readiness and metrics |
//! | [`open`] | whether a transaction is open on a topic |
//! | [`rules`] | the rights that a document tells, as rules |
//! | [`scene`] | one route on topics of its own, its processes, and what must hold at the end |
//! | [`signals`] | waiting for the end that a person asks for |
//! | [`usage`] | CPU time and peak memory of a process |
//! | [`wait`] | waiting for a condition, the only place that may poll with a pause |
//!
//! Nothing here derives an event key: the kit judges oncegate, so it must not believe it.

pub mod bench;
pub mod broker;
pub mod chaos;
pub mod compare;
pub mod error;
pub mod exposition;
pub mod generator;
pub mod http;
pub mod open;
pub mod process;
pub mod produce;
pub mod reader;
pub mod rules;
pub mod scene;
pub mod signals;
pub mod topics;
pub mod usage;
pub mod wait;

pub use error::{KitError, Result};
