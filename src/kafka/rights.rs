//! What this user may do to topics and groups, as the cluster says. DescribeConsumerGroups with
//! rights is not in the safe wrapper.
//! Must not be in here: which rights are needed, or a pointer that leaves this file.

use super::describe::{Owned, answer, options};
use rdkafka::bindings as native;
use rdkafka::client::{Client, ClientContext};
use rdkafka::types::RDKafkaErrorCode;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char};
use std::time::Duration;

/// What this user may do to a topic or a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Read a topic; join a group and commit its offsets.
    pub read: bool,
    /// Write to a topic.
    pub write: bool,
}

impl Rights {
    /// Reads a list of operations; `None` where the cluster tells nothing that can be relied on.
    ///
    /// # Safety
    /// Where `count` is not 0, there must be as many operations.
    pub(super) unsafe fn read(
        operations: *const native::rd_kafka_AclOperation_t,
        count: usize,
    ) -> Option<Rights> {
        use native::rd_kafka_AclOperation_t as Operation;
        if operations.is_null() {
            return None;
        }
        // As numbers: a later library may know operations that the enum does not.
        let operations = operations.cast::<u32>();
        // SAFETY: as the caller says; the enum is a number of 32 bits.
        let may = |operation: Operation| unsafe {
            (0..count).any(|nth| *operations.add(nth) == operation as u32)
        };
        // Who could ask may describe: a list without that is none.
        may(Operation::RD_KAFKA_ACL_OPERATION_DESCRIBE).then(|| Rights {
            read: may(Operation::RD_KAFKA_ACL_OPERATION_READ),
            write: may(Operation::RD_KAFKA_ACL_OPERATION_WRITE),
        })
    }
}

/// What this user may do to groups, whether they exist or not; names must differ from each other.
/// A group that the cluster tells nothing of is left out.
pub(super) fn group_rights<C: ClientContext>(
    client: &Client<C>,
    groups: &[&str],
    timeout: Duration,
) -> Result<BTreeMap<String, Rights>, RDKafkaErrorCode> {
    if groups.is_empty() {
        return Ok(BTreeMap::new());
    }
    let operation = native::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS;
    let options = options(client, operation, timeout, true)?;
    let names: Vec<CString> = (groups.iter())
        .map(|name| CString::new(*name))
        .collect::<Result<_, _>>()
        .map_err(|_| RDKafkaErrorCode::InvalidArgument)?;
    let mut pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
    // SAFETY: the client lives for the whole call, as it is borrowed.
    let queue = unsafe { native::rd_kafka_queue_new(client.native_ptr()) };
    let queue = Owned::new(queue, native::rd_kafka_queue_destroy).ok_or(RDKafkaErrorCode::Fail)?;
    // SAFETY: all is valid, the array holds as many C strings as is said; librdkafka copies them.
    unsafe {
        native::rd_kafka_DescribeConsumerGroups(
            client.native_ptr(),
            pointers.as_mut_ptr(),
            pointers.len(),
            options.ptr(),
            queue.ptr(),
        );
    }
    let Some(event) = answer(&queue, timeout)? else {
        return Err(RDKafkaErrorCode::OperationTimedOut);
    };
    let mut rights = BTreeMap::new();
    // SAFETY: the event is of this kind, since nothing else is sent to the queue; what it gives
    // belongs to it and is copied while it lives; names and errors are never null.
    unsafe {
        let result = native::rd_kafka_event_DescribeConsumerGroups_result(event.ptr());
        if result.is_null() {
            return Err(RDKafkaErrorCode::Fail);
        }
        let mut count = 0;
        let told = native::rd_kafka_DescribeConsumerGroups_result_groups(result, &mut count);
        for nth in 0..count {
            let group = *told.add(nth);
            let name = CStr::from_ptr(native::rd_kafka_ConsumerGroupDescription_group_id(group));
            let error = native::rd_kafka_ConsumerGroupDescription_error(group);
            let of_group = match RDKafkaErrorCode::from(native::rd_kafka_error_code(error)) {
                RDKafkaErrorCode::NoError => {
                    let mut count = 0;
                    let operations =
                        native::rd_kafka_ConsumerGroupDescription_authorized_operations(
                            group, &mut count,
                        );
                    Rights::read(operations, count)
                }
                // Not even to know of it: nothing else either.
                RDKafkaErrorCode::GroupAuthorizationFailed => Some(Rights::default()),
                _ => None,
            };
            rights.extend(of_group.map(|rights| (name.to_string_lossy().into_owned(), rights)));
        }
    }
    Ok(rights)
}
