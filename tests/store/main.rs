//! The store as its callers see it: what it remembers, what a crash leaves, what it refuses.
#![cfg(feature = "store")]

mod contract;
mod crash;
mod files;
mod journal;
mod limits;
