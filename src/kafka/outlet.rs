//! The call that hands a record to the client, once for each record that is written.
//!
//! The safe interface takes the topic by name, which the client looks up under its one lock for
//! writing, and copies each header's name into memory of its own; this takes a handle, made once,
//! and the bytes where they are.
//!
//! Must not be in here: transactions, or what a refused record means.

use crate::gate::{Header, OutputRecord, Target};
use rdkafka::bindings as rd;
use rdkafka::client::{Client, ClientContext};
use rdkafka::error::{IsError, RDKafkaErrorCode};
use std::ffi::{CString, c_int, c_void};
use std::ptr::{NonNull, null_mut};

/// Handles of the topics that were written to so far. It must be dropped before the client that it
/// writes with, and is for that one alone.
#[derive(Default)]
pub(super) struct Outlet {
    topics: [Option<TopicHandle>; 4],
}

impl Outlet {
    /// Queues a record; the client copies its key, value and headers. `opaque` comes back with the
    /// report.
    ///
    /// # Errors
    /// The client's code where it does not take the record; it will not be reported then.
    pub fn send<C: ClientContext>(
        &mut self,
        client: &Client<C>,
        topic: &str,
        record: &OutputRecord<'_>,
        opaque: usize,
    ) -> Result<(), RDKafkaErrorCode> {
        let topic = self.topic(client, topic, record.target)?;
        let headers = NativeHeaders::of(record.headers)?;
        let (key, key_bytes) = pointer(record.key);
        let (payload, payload_bytes) = pointer(record.payload);
        // SAFETY: client, topic and bytes live through the call, which keeps none of them: the
        // flag makes it copy. Each argument has the type that its tag asks for.
        let code = unsafe {
            rd::rd_kafka_producev(
                client.native_ptr(),
                rd::rd_kafka_vtype_t::RD_KAFKA_VTYPE_RKT,
                topic.0.as_ptr(),
                rd::rd_kafka_vtype_t::RD_KAFKA_VTYPE_PARTITION,
                record.partition,
                rd::rd_kafka_vtype_t::RD_KAFKA_VTYPE_MSGFLAGS,
                rd::RD_KAFKA_MSG_F_COPY as c_int,
                rd::rd_kafka_vtype_t::RD_KAFKA_VTYPE_VALUE,
                payload,
                payload_bytes,
                rd::rd_kafka_vtype_t::RD_KAFKA_VTYPE_KEY,
                key,
                key_bytes,
                rd::rd_kafka_vtype_t::RD_KAFKA_VTYPE_OPAQUE,
                opaque as *mut c_void,
                rd::rd_kafka_vtype_t::RD_KAFKA_VTYPE_TIMESTAMP,
                record.timestamp_ms.unwrap_or(0),
                rd::rd_kafka_vtype_t::RD_KAFKA_VTYPE_HEADERS,
                headers.0,
                rd::rd_kafka_vtype_t::RD_KAFKA_VTYPE_END,
            )
        };
        if code.is_error() {
            return Err(code.into());
        }
        // They are the client's now.
        std::mem::forget(headers);
        Ok(())
    }

    fn topic<C: ClientContext>(
        &mut self,
        client: &Client<C>,
        name: &str,
        target: Target,
    ) -> Result<&TopicHandle, RDKafkaErrorCode> {
        let slot = &mut self.topics[target as usize];
        match slot {
            Some(topic) => Ok(topic),
            None => Ok(slot.insert(TopicHandle::new(client, name)?)),
        }
    }
}

/// A topic as the client knows it.
struct TopicHandle(NonNull<rd::rd_kafka_topic_t>);

// SAFETY: the client takes a topic's handle from any thread.
unsafe impl Send for TopicHandle {}

impl TopicHandle {
    fn new<C: ClientContext>(client: &Client<C>, name: &str) -> Result<Self, RDKafkaErrorCode> {
        let name = CString::new(name).map_err(|_| RDKafkaErrorCode::InvalidTopic)?;
        // SAFETY: client and name live through the call; without a configuration the topic has that
        // of the client.
        let topic =
            unsafe { rd::rd_kafka_topic_new(client.native_ptr(), name.as_ptr(), null_mut()) };
        NonNull::new(topic).map(TopicHandle).ok_or(RDKafkaErrorCode::InvalidTopic)
    }
}

impl Drop for TopicHandle {
    fn drop(&mut self) {
        // SAFETY: made by `rd_kafka_topic_new`, destroyed once, before its client.
        unsafe { rd::rd_kafka_topic_destroy(self.0.as_ptr()) };
    }
}

/// Headers for one record, until the client takes them; null where there are none.
struct NativeHeaders(*mut rd::rd_kafka_headers_t);

impl NativeHeaders {
    fn of(headers: &[Header<'_>]) -> Result<NativeHeaders, RDKafkaErrorCode> {
        if headers.is_empty() {
            return Ok(NativeHeaders(null_mut()));
        }
        // SAFETY: the list is live until `Drop`; names and values live through the calls, which
        // copy them.
        unsafe {
            let native = NativeHeaders(rd::rd_kafka_headers_new(headers.len()));
            for header in headers {
                let (value, bytes) = pointer(header.value);
                let code = rd::rd_kafka_header_add(
                    native.0,
                    header.name.as_ptr().cast(),
                    header.name.len().cast_signed(),
                    value,
                    bytes.cast_signed(),
                );
                if code.is_error() {
                    return Err(code.into());
                }
            }
            Ok(native)
        }
    }
}

impl Drop for NativeHeaders {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: made by `rd_kafka_headers_new`, and not the client's yet.
            unsafe { rd::rd_kafka_headers_destroy(self.0) };
        }
    }
}

/// Where bytes stand, and how many; null where there are none, which is not the same as empty.
fn pointer(bytes: Option<&[u8]>) -> (*const c_void, usize) {
    bytes.map_or((std::ptr::null(), 0), |bytes| (bytes.as_ptr().cast(), bytes.len()))
}
