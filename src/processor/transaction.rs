//! One transaction: begin, produce, drain, offsets, commit; or the way out of it.
//! Must not be in here: tasks, or what an ending means for them.

use crate::gate::{Collected, OutputRecord, Part, Renderer, Target};
use crate::journal::metadata::LogEnd;
use crate::journal::{CommitAcknowledged, EncodedEntry, OffsetMetadata};
use crate::kafka::broker::{
    Broker, Delivered, DeliveryCause, DeliveryError, DrainError, SendError, SourceOffset,
    Stopwatch, TopicIds, TxnError, TxnErrorClass,
};

/// A call that took longer is a sign that its request may have been sent again.
const SLOW_CALL_MS: u64 = 1000;
/// How long one blocking call may take before it is asked again.
const SLICE_MS: u64 = 1000;
/// Pause while the producer's queue is full.
const QUEUE_FULL_WAIT_MS: u64 = 5;

/// What a transaction writes for one partition beside its journal entry.
#[derive(Clone, Copy)]
pub enum Outputs<'a> {
    /// Nothing: the entry covers no records.
    None,
    /// Records and their verdicts.
    Decided(&'a Collected, &'a Part),
    /// An event that a person lets through: the record's index in the collection, and the event's
    /// in the record.
    Admitted(&'a Collected, (usize, u32)),
}

/// What a transaction writes for one partition.
pub struct Parcel<'a> {
    /// Raw partition.
    pub partition: i32,
    /// The journal entry.
    pub entry: &'a EncodedEntry,
    /// What stands in the other topics.
    pub outputs: Outputs<'a>,
    /// End of the clean partition before this transaction.
    pub clean_end: LogEnd,
    /// End of the quarantine partition likewise.
    pub quarantine_end: LogEnd,
    /// One past the journal's last entry; 0 before the first.
    pub journal_next: i64,
}

/// A log that took a record at an offset where it held one before: it lost its tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TailLost {
    /// Which log.
    pub target: Target,
    /// Its partition.
    pub partition: i32,
    /// One past the last record known.
    pub known_next: i64,
    /// Where the log went on.
    pub found: i64,
}

/// How a transaction ended, by what is to be done.
#[derive(Debug)]
pub enum End {
    /// It is committed.
    Committed(CommitAcknowledged, Delivered),
    /// It was aborted because a topic refused a record, which may be one of these.
    RecordRefused(DeliveryError),
    /// It was aborted; the parts may be sent again once the committed offset was verified.
    Aborted(TxnError),
    /// It was aborted because the membership is lost: drop everything and rewind.
    MembershipLost(TxnError),
    /// It was aborted because the topics are not the ones that the tasks were taken over for.
    OtherTopics(TopicIds),
    /// It was aborted because a log lost its tail meanwhile.
    TailLost(TailLost),
    /// Whether it is committed is unknown and the producer of no more use.
    Unknown(TxnError),
}

/// A transaction that is over.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub end: End,
    /// Whether one of its requests may still be under way, and could join the next transaction
    /// of the same epoch.
    pub straggler_suspected: bool,
    /// Until its records were delivered, in microseconds; all of it where they were not.
    pub produce_micros: u64,
    /// From then to its end.
    pub commit_micros: u64,
}

/// Time limits of a transaction, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct TransactionLimits {
    /// After this the broker aborts it by itself.
    pub timeout_ms: u64,
}

impl TransactionLimits {
    /// How long a step is asked again before its outcome counts as unknown: the broker's own
    /// time-out, and the ten seconds in which it looks for timed-out transactions.
    pub fn patience_ms(&self) -> u64 {
        self.timeout_ms + 10_000 + SLICE_MS
    }
}

/// Why a transaction goes no further.
enum Stop {
    Error(TxnError),
    Record(DeliveryError),
    Topics(TopicIds),
    Tail(TailLost),
}

impl From<TxnError> for Stop {
    fn from(error: TxnError) -> Stop {
        Stop::Error(error)
    }
}

/// Runs one transaction over all parcels. `expected` are the topics that the parcels are for.
pub fn run<B: Broker>(
    broker: &mut B,
    renderer: &mut Renderer,
    parcels: &[Parcel<'_>],
    expected: &TopicIds,
    limits: &TransactionLimits,
) -> Ended {
    let signs_before = broker.straggler_signs();
    let watch = broker.stopwatch();
    let mut running = Running { broker, limits, slow: false, watch, produce_micros: None };
    let end = match running.forward(renderer, parcels, expected) {
        Ok((acknowledged, delivered)) => End::Committed(acknowledged, delivered),
        Err(stop) => running.back_out(stop),
    };
    let (slow, all_micros) = (running.slow, watch.micros());
    let produce_micros = running.produce_micros.unwrap_or(all_micros);
    let straggler_suspected = slow || broker.straggler_signs() != signs_before;
    let commit_micros = all_micros - produce_micros;
    Ended { end, straggler_suspected, produce_micros, commit_micros }
}

struct Running<'b, B> {
    broker: &'b mut B,
    limits: &'b TransactionLimits,
    slow: bool,
    watch: Stopwatch,
    produce_micros: Option<u64>,
}

impl<B: Broker> Running<'_, B> {
    fn forward(
        &mut self,
        renderer: &mut Renderer,
        parcels: &[Parcel<'_>],
        expected: &TopicIds,
    ) -> Result<(CommitAcknowledged, Delivered), Stop> {
        self.again("begin", |broker| broker.begin())?;
        for parcel in parcels {
            self.produce(renderer, parcel)?;
        }
        let delivered = self.drain()?;
        self.produce_micros = Some(self.watch.micros());
        if let Some(lost) = parcels.iter().find_map(|parcel| tail_lost(parcel, &delivered)) {
            return Err(Stop::Tail(lost));
        }
        if let Some((target, offset)) =
            parcels.iter().find_map(|parcel| without_marker(parcel, &delivered))
        {
            let message = format!(
                "no marker stands between the last transaction and the {target:?} record at offset {offset}"
            );
            return Err(TxnError { class: TxnErrorClass::Abort, step: "deliver", message }.into());
        }
        let ids = self.again("topic ids", |broker| broker.topic_ids(SLICE_MS))?;
        if ids != *expected {
            return Err(Stop::Topics(ids));
        }
        let offsets: Vec<SourceOffset> =
            parcels.iter().map(|parcel| source_offset(parcel, &delivered)).collect();
        self.again("send offsets", |broker| broker.send_offsets(&offsets, SLICE_MS))?;
        let acknowledged = self.again("commit", |broker| broker.commit(SLICE_MS))?;
        Ok((acknowledged, delivered))
    }

    fn produce(&mut self, renderer: &mut Renderer, parcel: &Parcel<'_>) -> Result<(), Stop> {
        let mut send = |record: &OutputRecord<'_>| self.send(record);
        match parcel.outputs {
            Outputs::None => {}
            Outputs::Decided(collected, part) => renderer.render(collected, part, &mut send)?,
            Outputs::Admitted(collected, event) => {
                renderer.render_admitted(collected, event, parcel.entry.number, &mut send)?;
            }
        }
        for value in &parcel.entry.parts {
            self.send(&OutputRecord {
                target: Target::Journal,
                partition: parcel.partition,
                timestamp_ms: None,
                key: None,
                payload: Some(value),
                headers: &[],
            })?;
        }
        Ok(())
    }

    fn send(&mut self, record: &OutputRecord<'_>) -> Result<(), Stop> {
        // No clock is asked for a record that is taken at once.
        let mut full_since_ms = None;
        loop {
            match self.broker.send(record) {
                Ok(()) => return Ok(()),
                Err(SendError::Refused(error)) => return Err(Stop::Record(error)),
                Err(SendError::QueueFull) => {
                    let now_ms = self.broker.now_ms();
                    if now_ms - *full_since_ms.get_or_insert(now_ms) > self.limits.patience_ms() {
                        return Err(Stop::Error(timed_out("send", TxnErrorClass::Abort)));
                    }
                    // Gives the client time to deliver; what it delivers is counted by the drain.
                    match self.broker.drain(QUEUE_FULL_WAIT_MS) {
                        Ok(_) | Err(DrainError::TimedOut) => {}
                        Err(DrainError::Failed(error)) => return Err(Stop::Record(error)),
                    }
                }
            }
        }
    }

    fn drain(&mut self) -> Result<Delivered, Stop> {
        let began_ms = self.broker.now_ms();
        loop {
            let result = self.broker.drain(SLICE_MS);
            let waited_ms = self.broker.now_ms() - began_ms;
            self.slow |= waited_ms > SLOW_CALL_MS;
            match result {
                Ok(delivered) => return Ok(delivered),
                Err(DrainError::Failed(error)) => return Err(Stop::Record(error)),
                Err(DrainError::TimedOut) if waited_ms > self.limits.patience_ms() => {
                    return Err(Stop::Error(timed_out("drain", TxnErrorClass::Abort)));
                }
                Err(DrainError::TimedOut) => {}
            }
        }
    }

    /// Makes a call again while it says that it may be.
    fn again<T>(
        &mut self,
        step: &'static str,
        mut call: impl FnMut(&mut B) -> Result<T, TxnError>,
    ) -> Result<T, TxnError> {
        let began_ms = self.broker.now_ms();
        loop {
            let result = call(self.broker);
            let waited_ms = self.broker.now_ms() - began_ms;
            self.slow |= waited_ms > SLOW_CALL_MS;
            match result {
                Err(error) if error.class == TxnErrorClass::Retriable => {
                    if waited_ms > self.limits.patience_ms() {
                        return Err(TxnError { class: TxnErrorClass::Fatal, step, ..error });
                    }
                }
                result => return result,
            }
        }
    }

    /// Ends a transaction that goes no further. Nothing is aborted after a fatal error: the
    /// producer is left behind, and its successor's first act ends the transaction.
    fn back_out(&mut self, stop: Stop) -> End {
        if let Stop::Error(error) = &stop
            && error.class == TxnErrorClass::Fatal
        {
            return End::Unknown(error.clone());
        }
        if let Err(error) = self.again("abort", |broker| broker.abort(SLICE_MS)) {
            // An abort that is asked to abort has no other way on either.
            return End::Unknown(error);
        }
        match stop {
            Stop::Error(error) if error.class == TxnErrorClass::Membership => {
                End::MembershipLost(error)
            }
            Stop::Error(error) => End::Aborted(error),
            Stop::Topics(ids) => End::OtherTopics(ids),
            Stop::Tail(lost) => End::TailLost(lost),
            Stop::Record(error) if error.cause == DeliveryCause::Other => End::Aborted(TxnError {
                class: TxnErrorClass::Abort,
                step: "deliver",
                message: error.to_string(),
            }),
            Stop::Record(error) => End::RecordRefused(error),
        }
    }
}

/// Whether one of a partition's logs went on before its known end. Once committed, the new records
/// would hide the loss from the next takeover.
fn tail_lost(parcel: &Parcel<'_>, delivered: &Delivered) -> Option<TailLost> {
    let known = [
        (Target::Clean, parcel.clean_end.accounted_to),
        (Target::Quarantine, parcel.quarantine_end.accounted_to),
        (Target::Journal, parcel.journal_next),
    ];
    known.into_iter().find_map(|(target, known_next)| {
        let partition = parcel.partition;
        let (found, _) = *delivered.ranges.get(&(target, partition))?;
        (found < known_next).then_some(TailLost { target, partition, known_next, found })
    })
}

/// A record that stands right behind the last one of an earlier transaction, where that one's marker
/// has to be: its commit was undone and what is written now would join it, or the log is another,
/// which an earlier transaction's late marker has made longer. The abort's verification tells.
fn without_marker(parcel: &Parcel<'_>, delivered: &Delivered) -> Option<(Target, i64)> {
    let behind_last = |end: &LogEnd| (end.last_offset >= 0).then_some(end.last_offset + 1);
    let known = [
        (Target::Clean, behind_last(&parcel.clean_end)),
        (Target::Quarantine, behind_last(&parcel.quarantine_end)),
        (Target::Journal, Some(parcel.journal_next).filter(|next| *next > 0)),
    ];
    known.into_iter().find_map(|(target, next)| {
        let (found, _) = *delivered.ranges.get(&(target, parcel.partition))?;
        (Some(found) == next).then_some((target, found))
    })
}

fn timed_out(step: &'static str, class: TxnErrorClass) -> TxnError {
    TxnError { class, step, message: "it did not end in time".into() }
}

fn source_offset(parcel: &Parcel<'_>, delivered: &Delivered) -> SourceOffset {
    let head = crate::journal::ChainHead { number: parcel.entry.number, hash: parcel.entry.hash };
    let metadata = OffsetMetadata::new(
        parcel.entry.header.journal_topic_id.clone(),
        &head,
        end_after(&parcel.clean_end, delivered, Target::Clean, parcel.partition),
        end_after(&parcel.quarantine_end, delivered, Target::Quarantine, parcel.partition),
    );
    SourceOffset {
        partition: parcel.partition,
        offset: parcel.entry.header.to,
        metadata: metadata.to_string(),
    }
}

/// The end of a log after what was delivered to it, if anything was.
pub fn end_after(before: &LogEnd, delivered: &Delivered, target: Target, partition: i32) -> LogEnd {
    match delivered.ranges.get(&(target, partition)) {
        Some((_, last)) => before.after(*last),
        None => before.clone(),
    }
}
