//! What the outside sees of a running process: readiness, metrics, logs.
//! Must not be in here: anything that the gate's work depends on.

pub mod board;
pub mod catalogue;
pub mod http;
pub mod lag;
pub mod logging;
pub mod metrics;
pub mod watchdog;
