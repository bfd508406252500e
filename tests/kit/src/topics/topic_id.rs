//! The id of a topic, through the C interface: the safe client has no DescribeTopics.
//! Its results, and those of `access`, are freed by a guard.

use std::ffi::{CStr, CString};
use std::time::Duration;

use rdkafka::bindings as rd;
use rdkafka::types::RDKafkaRespErr;

use crate::error::{Doing, KitError, Result};

/// Runs a closing call when it goes out of scope.
pub(super) struct Free<T: Copy>(pub T, pub unsafe extern "C" fn(T));

impl<T: Copy> Drop for Free<T> {
    fn drop(&mut self) {
        // SAFETY: made with the pointer that its library call returned, freed once.
        unsafe { (self.1)(self.0) }
    }
}

/// Asks for the topic's id on a client that outlives the call.
pub(super) fn describe(
    client: *mut rd::rd_kafka_t,
    topic: &str,
    timeout: Duration,
) -> Result<Option<String>> {
    let name = CString::new(topic).doing(|| format!("{topic:?} cannot be a topic's name"))?;
    let timeout_ms = timeout.as_millis() as i32;
    // SAFETY: `client` is alive; every pointer comes from the library and is freed after its
    // last use; the topic descriptions live as long as the event.
    unsafe {
        let queue = Free(rd::rd_kafka_queue_new(client), rd::rd_kafka_queue_destroy);
        let operation = rd::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS;
        let options = Free(
            rd::rd_kafka_AdminOptions_new(client, operation),
            rd::rd_kafka_AdminOptions_destroy,
        );
        let mut said = [0; 256];
        rd::rd_kafka_AdminOptions_set_request_timeout(
            options.0,
            timeout_ms,
            said.as_mut_ptr(),
            said.len(),
        );
        let mut names = [name.as_ptr()];
        let topics = Free(
            rd::rd_kafka_TopicCollection_of_topic_names(names.as_mut_ptr(), names.len()),
            rd::rd_kafka_TopicCollection_destroy,
        );
        rd::rd_kafka_DescribeTopics(client, topics.0, options.0, queue.0);
        let event = rd::rd_kafka_queue_poll(queue.0, timeout_ms + 1_000);
        if event.is_null() {
            return Err(KitError::new(format!("no answer to the question for the id of {topic}")));
        }
        let event = Free(event, rd::rd_kafka_event_destroy);
        if rd::rd_kafka_event_error(event.0) != RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR {
            let text = rd::rd_kafka_event_error_string(event.0);
            return Err(KitError::new(format!("cannot describe {topic}: {}", owned(text))));
        }
        read_id(rd::rd_kafka_event_DescribeTopics_result(event.0), topic)
    }
}

/// # Safety
/// `result` is null or belongs to an event that is alive.
unsafe fn read_id(
    result: *const rd::rd_kafka_DescribeTopics_result_t,
    topic: &str,
) -> Result<Option<String>> {
    let mut count = 0;
    // SAFETY: as the caller promises; the array has `count` elements.
    unsafe {
        if result.is_null() {
            return Err(KitError::new(format!("an answer without a description of {topic}")));
        }
        let descriptions = rd::rd_kafka_DescribeTopics_result_topics(result, &mut count);
        if count == 0 || descriptions.is_null() {
            return Ok(None);
        }
        let error = rd::rd_kafka_TopicDescription_error(*descriptions);
        match rd::rd_kafka_error_code(error) {
            RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR => {}
            RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART => return Ok(None),
            _ => {
                let text = owned(rd::rd_kafka_error_string(error));
                return Err(KitError::new(format!("cannot describe {topic}: {text}")));
            }
        }
        let id = rd::rd_kafka_TopicDescription_topic_id(*descriptions);
        Ok(Some(owned(rd::rd_kafka_Uuid_base64str(id))))
    }
}

/// # Safety
/// `text` is null or ends with a zero byte.
pub(super) unsafe fn owned(text: *const std::ffi::c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
