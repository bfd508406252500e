//! What became of the records of the bare pipe: counts what was delivered, and waits for it.
//! Must not be in here: a record, or a transaction.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::message::DeliveryResult;
use rdkafka::producer::ProducerContext;

use crate::error::{KitError, Result};

/// Counts deliveries; shared with the client's thread.
#[derive(Default)]
pub(super) struct Deliveries {
    delivered: AtomicU64,
    awaited: AtomicU64,
    failed: AtomicBool,
    drained: (Mutex<()>, Condvar),
}

impl Deliveries {
    /// Waits until so many records were delivered, ever.
    pub(super) fn drain(&self, records: u64) -> Result<()> {
        // A wake-up that comes between the look and the wait is made good by this.
        const WAIT: Duration = Duration::from_millis(2);
        self.awaited.store(records, Ordering::SeqCst);
        let mut held = self.drained.0.lock().unwrap_or_else(PoisonError::into_inner);
        while self.delivered.load(Ordering::SeqCst) < records {
            held =
                self.drained.1.wait_timeout(held, WAIT).unwrap_or_else(PoisonError::into_inner).0;
        }
        if self.failed.load(Ordering::SeqCst) {
            return Err(KitError::new("a record was not delivered"));
        }
        Ok(())
    }
}

impl ClientContext for Deliveries {}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if result.is_err() {
            self.failed.store(true, Ordering::SeqCst);
        }
        let delivered = self.delivered.fetch_add(1, Ordering::SeqCst) + 1;
        if delivered == self.awaited.load(Ordering::SeqCst) {
            self.drained.1.notify_one();
        }
    }
}
