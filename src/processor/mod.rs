//! The processor: workers and the tasks of their partitions, takeovers, transactions.
//!
//! It sees all five other rooms, and reaches the cluster only through the traits of `kafka` and
//! the stores only through those of `store`, so that a simulation can drive the very same code.

pub mod act;
pub mod event;
pub mod instance;
mod intake;
mod level;
mod look;
mod measure;
pub mod observer;
pub mod pool;
pub mod refusal;
pub mod restore;
pub mod restorer;
pub mod route;
pub mod setbacks;
mod settlement;
pub mod tails;
pub mod takeover;
pub mod task;
pub mod transaction;
pub mod worker;
