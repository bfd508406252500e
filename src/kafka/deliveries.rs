//! What the client reports of records that were handed to it: counted for the transaction under way,
//! by the threads of the client.
//! Must not be in here: handing records over, or what a failed one means for a batch.

use super::broker::{Delivered, DeliveryCause, DeliveryError, DrainError};
use crate::gate::Target;
use rdkafka::Statistics;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Message};
use rdkafka::producer::ProducerContext;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What the delivery reports of the transaction under way have said.
#[derive(Default)]
struct Reports {
    /// Which transaction: reports of an earlier one may come late and are not counted.
    transaction: usize,
    reported: u64,
    delivered: Delivered,
    first_error: Option<DeliveryError>,
    /// Whether the client threw that record away because of something else.
    is_purged: bool,
    /// Why the coordinator did not take a partition into the transaction. All records are purged
    /// then, and their own errors name no cause.
    not_added: Option<String>,
}

/// Counts deliveries and signs of stragglers; shared with the client's threads.
#[derive(Default)]
pub struct Deliveries {
    reports: Mutex<Reports>,
    /// Woken at the report that the drain waits for.
    drained: Condvar,
    awaited: AtomicU64,
    straggler_signs: Arc<AtomicU64>,
    /// Records that waited in the client when it last told its statistics.
    queued: AtomicU64,
}

const TARGETS: [Target; 4] = [Target::Clean, Target::Quarantine, Target::Audit, Target::Journal];

/// Transaction and target of a record, as the client hands it back with the report.
pub(super) fn opaque(transaction: usize, target: Target) -> usize {
    transaction * TARGETS.len() + target as usize
}

impl Deliveries {
    /// Of a client whose signs of stragglers go to `straggler_signs`.
    pub fn new(straggler_signs: Arc<AtomicU64>) -> Deliveries {
        Deliveries { straggler_signs, ..Deliveries::default() }
    }

    /// Records that waited in the client when it last told its statistics.
    pub fn queued(&self) -> u64 {
        self.queued.load(Ordering::Relaxed)
    }

    /// A transaction begins: what is reported of earlier ones no longer counts.
    pub fn begin(&self, transaction: usize) {
        self.awaited.store(u64::MAX, Ordering::Release);
        *self.lock() = Reports { transaction, ..Reports::default() };
    }

    /// Waits until all `sent` records of the transaction were reported, or one as failed.
    ///
    /// # Errors
    /// [`DrainError::Failed`] with the first failure, [`DrainError::TimedOut`] before the last
    /// report.
    pub fn drain(&self, sent: u64, wait: Duration) -> Result<Delivered, DrainError> {
        self.awaited.store(sent, Ordering::Release);
        let until = Instant::now() + wait;
        let mut reports = self.lock();
        while reports.reported < sent && reports.first_error.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(DrainError::TimedOut);
            }
            let waited = self.drained.wait_timeout(reports, left);
            reports = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        match &reports.first_error {
            Some(error) => {
                let purged = reports.not_added.clone().filter(|_| reports.is_purged);
                let message = purged.unwrap_or_else(|| error.message.clone());
                Err(DrainError::Failed(DeliveryError { message, ..error.clone() }))
            }
            None => Ok(reports.delivered.clone()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Reports> {
        // Reports are plain values, each changed in one go.
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientContext for Deliveries {
    fn log(&self, level: RDKafkaLogLevel, fac: &str, message: &str) {
        if is_straggler_sign(fac, message) {
            self.straggler_signs.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(why) = not_added(fac, message) {
            self.lock().not_added.get_or_insert_with(|| why.to_owned());
        }
        super::log_line(level, fac, message);
    }

    fn stats(&self, statistics: Statistics) {
        self.queued.store(statistics.msg_cnt, Ordering::Relaxed);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.straggler_signs.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(target: "librdkafka", "{error}: {reason}");
    }
}

/// The cause, where a line of the client's log says that a partition was not taken into the
/// transaction. Of the partitions that were asked for together with it another line says only
/// that they were not attempted.
fn not_added<'m>(fac: &str, message: &'m str) -> Option<&'m str> {
    let is_cause = fac == "ADDPARTS" && !message.contains("Operation not attempted");
    let cause = message.split_once("Failed to add partition").filter(|_| is_cause);
    cause.map(|(thread, _)| &message[thread.len()..])
}

/// Whether a line of the client's log says that a request may come late: it timed out, or the
/// connection that it was sent on is gone. The line is written before the request is sent again.
fn is_straggler_sign(fac: &str, message: &str) -> bool {
    match fac {
        "REQTMOUT" => true,
        "STATE" => message.contains(" changed state UP -> "),
        _ => false,
    }
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, opaque: usize) {
        let (transaction, target) = (opaque / TARGETS.len(), TARGETS[opaque % TARGETS.len()]);
        let mut reports = self.lock();
        if reports.transaction != transaction {
            return;
        }
        reports.reported += 1;
        match result {
            Ok(message) => {
                let offset = message.offset();
                let range = reports
                    .delivered
                    .ranges
                    .entry((target, message.partition()))
                    .or_insert((offset, offset));
                *range = (range.0.min(offset), range.1.max(offset));
            }
            Err((error, message)) => {
                if reports.first_error.is_none() {
                    reports.is_purged = matches!(
                        error.rdkafka_error_code(),
                        Some(RDKafkaErrorCode::PurgeQueue | RDKafkaErrorCode::PurgeInflight)
                    );
                    reports.first_error = Some(delivery_error(error, target, message.partition()));
                }
            }
        }
        if reports.reported >= self.awaited.load(Ordering::Acquire) {
            self.drained.notify_one();
        }
    }
}

pub(super) fn delivery_error(error: &KafkaError, target: Target, partition: i32) -> DeliveryError {
    let cause = match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::MessageSizeTooLarge | RDKafkaErrorCode::MessageBatchTooLarge) => {
            DeliveryCause::TooLarge
        }
        Some(RDKafkaErrorCode::InvalidTimestamp) => DeliveryCause::Timestamp,
        // The last one is told of the records that shared a batch with the culprit.
        Some(
            RDKafkaErrorCode::InvalidRecord
            | RDKafkaErrorCode::PolicyViolation
            | RDKafkaErrorCode::InvalidDifferentRecord,
        ) => DeliveryCause::Invalid,
        _ => DeliveryCause::Other,
    };
    DeliveryError { target, partition, cause, message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_a_partition_that_was_not_added_is_found_among_those_not_attempted() {
        let line = |why| {
            format!(
                "[thrd:main]: Failed to add partition \"clean\" [0] to transaction: Broker: {why}"
            )
        };
        let refused = line("Topic authorization failed");
        let found = not_added("ADDPARTS", &refused);
        assert!(found.is_some_and(|why| why.starts_with("Failed to add partition \"clean\" [0]")));
        assert_eq!(not_added("ADDPARTS", &line("Operation not attempted")), None);
        assert_eq!(not_added("TXNERR", &refused), None);
    }

    #[test]
    fn a_connection_that_ends_is_a_sign_and_one_that_was_never_there_is_none() {
        let state = |message| is_straggler_sign("STATE", message);
        assert!(state("127.0.0.1:9092/1: Broker changed state UP -> DOWN"));
        assert!(state("TxnCoordinator/3: Broker changed state UP -> DOWN"));
        assert!(!state("127.0.0.1:9092/1: Broker changed state CONNECT -> DOWN"));
        assert!(!state("127.0.0.1:9092/1: Broker changed state APIVERSION_QUERY -> UP"));
        assert!(is_straggler_sign("REQTMOUT", "Timed out 1 in-flight requests"));
        assert!(!is_straggler_sign("FAIL", "Connect to 127.0.0.1:9092 failed"));
    }
}
