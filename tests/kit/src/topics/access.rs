//! Who may do what to a topic, through the C interface: the safe client has no CreateAcls.
//! Must not be in here: users; a cluster of the kit knows one, who has no name.

use std::ffi::CString;
use std::time::Duration;

use rdkafka::bindings as rd;
use rdkafka::types::RDKafkaRespErr;

use super::topic_id::{Free, owned};
use crate::error::{Doing, KitError, Result};

/// What a client may do to a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Read records.
    Read,
    /// Write records.
    Write,
    /// See that it is there.
    Describe,
    /// See its configs.
    DescribeConfigs,
}

impl Operation {
    fn native(self) -> rd::rd_kafka_AclOperation_t {
        use rd::rd_kafka_AclOperation_t as Native;
        match self {
            Operation::Read => Native::RD_KAFKA_ACL_OPERATION_READ,
            Operation::Write => Native::RD_KAFKA_ACL_OPERATION_WRITE,
            Operation::Describe => Native::RD_KAFKA_ACL_OPERATION_DESCRIBE,
            Operation::DescribeConfigs => Native::RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS,
        }
    }
}

/// Adds rules on a client that outlives the call.
pub(super) fn allow(
    client: *mut rd::rd_kafka_t,
    topic: &str,
    operations: &[Operation],
    timeout: Duration,
) -> Result<()> {
    operations.iter().try_for_each(|operation| allow_one(client, topic, *operation, timeout))
}

fn allow_one(
    client: *mut rd::rd_kafka_t,
    topic: &str,
    operation: Operation,
    timeout: Duration,
) -> Result<()> {
    let name = CString::new(topic).doing(|| format!("{topic:?} cannot be a topic's name"))?;
    let failed = |why: String| KitError::new(format!("cannot allow {operation:?}: {why}"));
    let mut said = [0; 256];
    // SAFETY: `client` is alive; every pointer comes from the library and is freed after its last
    // use; the results live as long as the event.
    unsafe {
        let rule = rd::rd_kafka_AclBinding_new(
            rd::rd_kafka_ResourceType_t::RD_KAFKA_RESOURCE_TOPIC,
            name.as_ptr(),
            rd::rd_kafka_ResourcePatternType_t::RD_KAFKA_RESOURCE_PATTERN_LITERAL,
            c"User:ANONYMOUS".as_ptr(),
            c"*".as_ptr(),
            operation.native(),
            rd::rd_kafka_AclPermissionType_t::RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW,
            said.as_mut_ptr(),
            said.len(),
        );
        if rule.is_null() {
            return Err(failed(owned(said.as_ptr())));
        }
        let rule = Free(rule, rd::rd_kafka_AclBinding_destroy);
        let queue = Free(rd::rd_kafka_queue_new(client), rd::rd_kafka_queue_destroy);
        let mut rules = [rule.0];
        rd::rd_kafka_CreateAcls(client, rules.as_mut_ptr(), 1, std::ptr::null(), queue.0);
        let event = rd::rd_kafka_queue_poll(queue.0, timeout.as_millis() as i32);
        if event.is_null() {
            return Err(failed("no answer".to_owned()));
        }
        let event = Free(event, rd::rd_kafka_event_destroy);
        if rd::rd_kafka_event_error(event.0) != RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR {
            return Err(failed(owned(rd::rd_kafka_event_error_string(event.0))));
        }
        let mut count = 0;
        let result = rd::rd_kafka_event_CreateAcls_result(event.0);
        let results = rd::rd_kafka_CreateAcls_result_acls(result, &mut count);
        if count != 1 {
            return Err(failed(format!("{count} results")));
        }
        let error = rd::rd_kafka_acl_result_error(*results);
        match rd::rd_kafka_error_code(error) {
            RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR => Ok(()),
            _ => Err(failed(owned(rd::rd_kafka_error_string(error)))),
        }
    }
}
