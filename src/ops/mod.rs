//! What the outside sees of a running process: readiness, metrics, status, logs.
//! Must not be in here: anything that the gate's work depends on.

pub mod board;
pub mod catalogue;
pub mod fetch;
pub mod history;
pub mod http;
pub mod lag;
pub mod logging;
pub mod metrics;
pub mod page;
pub mod repeats;
pub mod sampler;
pub mod status;
pub mod watchdog;
