//! Topic ids, which the safe client does not offer: asked for in the background, fetched later.
//! Must not be in here: what follows from an id.

use rdkafka::bindings as rd;
use std::ffi::{CStr, CString};
use std::ptr::NonNull;

/// What the cluster says of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicDescription {
    /// Its name.
    pub name: String,
    /// Its id as Kafka prints it; empty where the cluster gives none.
    pub id: String,
    /// Number of partitions.
    pub partitions: i32,
}

/// A request under way on a client's handle, which must outlive it.
pub struct DescribeRequest {
    queue: NonNull<rd::rd_kafka_queue_t>,
}

impl DescribeRequest {
    /// Sends the request.
    ///
    /// # Errors
    /// The client could not make the request.
    ///
    /// # Safety
    /// `client` must be a live handle, and the request must be dropped before it is.
    pub unsafe fn send(
        client: *mut rd::rd_kafka_t,
        topics: &[&str],
        timeout_ms: i32,
    ) -> Result<DescribeRequest, String> {
        let names: Vec<CString> = (topics.iter())
            .map(|name| CString::new(*name).map_err(|_| "a topic's name holds a NUL".to_owned()))
            .collect::<Result<_, _>>()?;
        let mut pointers: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        // SAFETY: the handle is live by contract; the collection copies the names; everything
        // made here but the queue is destroyed here, and the queue by `Drop`.
        unsafe {
            let queue = NonNull::new(rd::rd_kafka_queue_new(client)).ok_or("no queue")?;
            let request = DescribeRequest { queue };
            let options = rd::rd_kafka_AdminOptions_new(
                client,
                rd::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS,
            );
            if options.is_null() {
                return Err("no options".into());
            }
            let mut text = [0; 256];
            rd::rd_kafka_AdminOptions_set_request_timeout(
                options,
                timeout_ms,
                text.as_mut_ptr(),
                text.len(),
            );
            let collection =
                rd::rd_kafka_TopicCollection_of_topic_names(pointers.as_mut_ptr(), pointers.len());
            rd::rd_kafka_DescribeTopics(client, collection, options, queue.as_ptr());
            rd::rd_kafka_TopicCollection_destroy(collection);
            rd::rd_kafka_AdminOptions_destroy(options);
            Ok(request)
        }
    }

    /// Waits for the answer: one description a topic, in the order of the request; `None` if it
    /// has not come yet.
    ///
    /// # Errors
    /// The cluster's words where it answered with an error.
    pub fn receive(&self, wait_ms: i32) -> Option<Result<Vec<TopicDescription>, String>> {
        // SAFETY: the queue is live until `Drop`; the event owns all that is read from it and is
        // destroyed after the last use.
        unsafe {
            let event = rd::rd_kafka_queue_poll(self.queue.as_ptr(), wait_ms);
            if event.is_null() {
                return None;
            }
            let answer = read_event(event);
            rd::rd_kafka_event_destroy(event);
            Some(answer)
        }
    }
}

impl Drop for DescribeRequest {
    fn drop(&mut self) {
        // SAFETY: made by `rd_kafka_queue_new`, destroyed once.
        unsafe { rd::rd_kafka_queue_destroy(self.queue.as_ptr()) };
    }
}

/// # Safety
/// `event` must be live.
unsafe fn read_event(event: *mut rd::rd_kafka_event_t) -> Result<Vec<TopicDescription>, String> {
    // SAFETY: everything is owned by the live event.
    unsafe {
        let code = rd::rd_kafka_event_error(event);
        if code != rd::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
            let text = rd::rd_kafka_event_error_string(event);
            return Err(text_of(text));
        }
        let result = rd::rd_kafka_event_DescribeTopics_result(event);
        if result.is_null() {
            return Err("the answer is not one to the question".into());
        }
        let mut count = 0;
        let topics = rd::rd_kafka_DescribeTopics_result_topics(result, &mut count);
        (0..count).map(|nth| describe(*topics.add(nth))).collect()
    }
}

/// # Safety
/// `topic` must be live.
unsafe fn describe(
    topic: *const rd::rd_kafka_TopicDescription_t,
) -> Result<TopicDescription, String> {
    // SAFETY: everything is owned by the live description.
    unsafe {
        let name = text_of(rd::rd_kafka_TopicDescription_name(topic));
        let error = rd::rd_kafka_TopicDescription_error(topic);
        if !error.is_null()
            && rd::rd_kafka_error_code(error) != rd::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR
        {
            return Err(format!("topic {name}: {}", text_of(rd::rd_kafka_error_string(error))));
        }
        let mut partitions = 0;
        rd::rd_kafka_TopicDescription_partitions(topic, &mut partitions);
        let uuid = rd::rd_kafka_TopicDescription_topic_id(topic);
        let id = if uuid.is_null() {
            String::new()
        } else {
            id_text(
                rd::rd_kafka_Uuid_most_significant_bits(uuid),
                rd::rd_kafka_Uuid_least_significant_bits(uuid),
            )
        };
        Ok(TopicDescription { name, id, partitions: partitions as i32 })
    }
}

/// # Safety
/// `text` must be null or a C string.
unsafe fn text_of(text: *const std::ffi::c_char) -> String {
    if text.is_null() {
        return "no reason given".into();
    }
    // SAFETY: by contract.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// An id as Kafka prints it: URL-safe base64 without padding; empty for the zero id, which means
/// that the cluster has none.
fn id_text(most: i64, least: i64) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits = (u128::from(most as u64) << 64) | u128::from(least as u64);
    if bits == 0 {
        return String::new();
    }
    (0..22)
        .map(|nth| {
            let shift = 122 - 6 * nth;
            let digit = if shift >= 0 { bits >> shift } else { bits << -shift };
            char::from(DIGITS[(digit & 63) as usize])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_as_kafka_prints_them() {
        assert_eq!(id_text(0, 0), "");
        assert_eq!(id_text(0, 1), "AAAAAAAAAAAAAAAAAAAAAQ");
        assert_eq!(id_text(-1, -1), "_____________________w");
    }
}
