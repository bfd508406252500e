//! stub
use crate::gate::{Sighting, SightingKey};
use crate::journal::{Entry, Position, Receipt};
use std::path::PathBuf;
pub trait PartitionStore: Send {
    fn position(&self) -> Option<&Position>;
    fn look_up(
        &mut self,
        keys: &[SightingKey],
        found: &mut Vec<Option<Sighting>>,
    ) -> Result<(), StoreError>;
    fn apply(
        &mut self,
        receipt: &Receipt,
        changed: &[(SightingKey, Sighting)],
    ) -> Result<(), StoreError>;
    fn restore(&mut self, receipt: &Receipt, entry: &Entry) -> Result<(), StoreError>;
    fn flush(&mut self) -> Result<(), StoreError>;
}
pub trait Stores: Send + Sync + 'static {
    type Store: PartitionStore;
    fn open(&self, route: &str, partition: i32) -> Result<Self::Store, StoreError>;
    fn set_aside(&self, route: &str, partition: i32, reason: &str) -> Result<PathBuf, StoreError>;
}
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("d")]
    Damaged { path: PathBuf },
    #[error("x")]
    Other,
}
