//! The call that makes offsets part of a transaction, from a thread of its own: in librdkafka it
//! has no time-out that works, and never returns when the group's coordinator left the cluster at
//! the wrong moment (confluentinc/librdkafka, issues 5456 and 5511).
//! Must not be in here: which offsets, or whether the group allows it.

use super::broker::{TxnError, TxnErrorClass};
use super::deliveries::Deliveries;
use super::member::GroupMetadata;
use super::producer::{NativeError, millis};
use rdkafka::TopicPartitionList;
use rdkafka::bindings as rd;
use rdkafka::producer::{Producer, ThreadedProducer};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// The step, as errors name it.
pub(super) const STEP: &str = "send offsets";
/// A call that takes so much longer than it was given is one of those that never return.
const HUNG: Duration = Duration::from_secs(4);

struct Request {
    offsets: TopicPartitionList,
    metadata: GroupMetadata,
    wait_ms: u64,
}

// SAFETY: the metadata is a value of the client's without ties to a thread, and has one owner.
unsafe impl Send for Request {}

/// The thread that calls. It keeps the client alive until its call returns.
pub(super) struct OffsetsCall {
    requests: Sender<Request>,
    answers: Receiver<Result<(), TxnError>>,
    /// Since when a call is under way.
    begun: Option<Instant>,
}

impl OffsetsCall {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn spawn(producer: Arc<ThreadedProducer<Deliveries>>) -> std::io::Result<OffsetsCall> {
        let (requests, inbox) = channel::<Request>();
        let (outbox, answers) = channel();
        std::thread::Builder::new().name("offsets".into()).spawn(move || {
            for request in inbox {
                if outbox.send(call(&producer, &request)).is_err() {
                    return;
                }
            }
        })?;
        Ok(OffsetsCall { requests, answers, begun: None })
    }

    /// Calls, or goes on waiting for the call under way: of one that was not answered yet, the
    /// caller asks again with the same offsets.
    ///
    /// # Errors
    /// What the client says; [`TxnErrorClass::Retriable`] while it says nothing, and
    /// [`TxnErrorClass::Fatal`] once that is for too long.
    pub fn send(
        &mut self,
        offsets: TopicPartitionList,
        metadata: GroupMetadata,
        wait_ms: u64,
    ) -> Result<(), TxnError> {
        let say = |class, message: &str| TxnError { class, step: STEP, message: message.into() };
        let ended = || say(TxnErrorClass::Fatal, "the thread that calls the client has ended");
        if self.begun.is_none() {
            self.requests.send(Request { offsets, metadata, wait_ms }).map_err(|_| ended())?;
        }
        let begun = *self.begun.get_or_insert_with(Instant::now);
        let wait = Duration::from_millis(wait_ms);
        match self.answers.recv_timeout(wait + Duration::from_millis(100)) {
            Ok(answer) => {
                self.begun = None;
                answer
            }
            Err(RecvTimeoutError::Disconnected) => Err(ended()),
            Err(RecvTimeoutError::Timeout) if begun.elapsed() < wait + HUNG => {
                Err(say(TxnErrorClass::Retriable, "no answer yet"))
            }
            Err(RecvTimeoutError::Timeout) => {
                let what = "the client does not come back from the call (librdkafka 5456, 5511)";
                Err(say(TxnErrorClass::Fatal, what))
            }
        }
    }
}

fn call(producer: &ThreadedProducer<Deliveries>, request: &Request) -> Result<(), TxnError> {
    // SAFETY: producer, list and metadata are live across the call.
    let error = unsafe {
        rd::rd_kafka_send_offsets_to_transaction(
            producer.client().native_ptr(),
            request.offsets.ptr(),
            request.metadata.ptr(),
            millis(request.wait_ms),
        )
    };
    NativeError::check(STEP, error)
}
