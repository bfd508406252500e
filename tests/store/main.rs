//! The store as its callers see it: what it remembers, what a crash leaves, what it refuses.
#![cfg(feature = "store")]

mod contract;
mod crash;
mod expiry;
mod files;
mod gate;
mod journal;
mod limits;
