//! DescribeTopics, which the safe wrapper lacks: it alone tells the ids of topics.
//! Must not be in here: any other call of librdkafka's, or a pointer that leaves this file.

use super::admin::TopicId;
use super::rights::Rights;
use rdkafka::bindings as native;
use rdkafka::client::{Client, ClientContext};
use rdkafka::types::{RDKafkaErrorCode, RDKafkaRespErr};
use std::ffi::{CStr, CString, c_char};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

/// How long librdkafka may take beyond the broker's time to say that the time is over.
const ANSWER_SPARE: Duration = Duration::from_secs(1);

/// What the cluster says of a topic.
pub(super) struct Described {
    pub name: String,
    pub answer: Result<Description, RDKafkaErrorCode>,
}

/// A topic as it is.
pub(super) struct Description {
    pub id: Option<TopicId>,
    pub partitions: i32,
    /// Replicas of the partition that has fewest.
    pub replication: i32,
    /// What this user may do to it, where that was asked for and told.
    pub rights: Option<Rights>,
}

/// Something of librdkafka's that is freed when it is dropped.
pub(super) struct Owned<T> {
    pointer: NonNull<T>,
    free: unsafe extern "C" fn(*mut T),
}

impl<T> Owned<T> {
    pub(super) fn new(pointer: *mut T, free: unsafe extern "C" fn(*mut T)) -> Option<Owned<T>> {
        NonNull::new(pointer).map(|pointer| Owned { pointer, free })
    }

    pub(super) fn ptr(&self) -> *mut T {
        self.pointer.as_ptr()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer came from librdkafka's constructor that belongs to `free`, nothing
        // else frees it, and it is not used after.
        unsafe { (self.free)(self.ptr()) }
    }
}

/// Describes topics, and what this user may do to them; names must differ from each other.
pub(super) fn describe_topics<C: ClientContext>(
    client: &Client<C>,
    names: &[&str],
    timeout: Duration,
) -> Result<Vec<Described>, RDKafkaErrorCode> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    // SAFETY: the client is borrowed for longer than the request lives.
    let request = unsafe { DescribeRequest::send_for(client, names, timeout, true)? };
    request.receive(timeout + ANSWER_SPARE)?.ok_or(RDKafkaErrorCode::OperationTimedOut)
}

/// A request under way.
pub(super) struct DescribeRequest {
    queue: Owned<native::rd_kafka_queue_t>,
}

// SAFETY: librdkafka's queues may be used from any thread, one at a time.
unsafe impl Send for DescribeRequest {}

impl DescribeRequest {
    /// Sends it.
    ///
    /// # Safety
    /// The request must be dropped before the client is.
    pub(super) unsafe fn send<C: ClientContext>(
        client: &Client<C>,
        names: &[&str],
        timeout: Duration,
    ) -> Result<DescribeRequest, RDKafkaErrorCode> {
        // SAFETY: as the caller says.
        unsafe { DescribeRequest::send_for(client, names, timeout, false) }
    }

    /// Sends it; `rights` also asks what this user may do.
    ///
    /// # Safety
    /// As [`DescribeRequest::send`].
    unsafe fn send_for<C: ClientContext>(
        client: &Client<C>,
        names: &[&str],
        timeout: Duration,
        rights: bool,
    ) -> Result<DescribeRequest, RDKafkaErrorCode> {
        let queue = send(client, names, timeout, rights)?;
        Ok(DescribeRequest { queue })
    }

    /// Waits for the answer; `None` if it has not come yet.
    pub(super) fn receive(
        &self,
        wait: Duration,
    ) -> Result<Option<Vec<Described>>, RDKafkaErrorCode> {
        let Some(event) = answer(&self.queue, wait)? else {
            return Ok(None);
        };
        // SAFETY: the event is valid, and is one of this kind: nothing else is sent to the queue.
        let result = unsafe { native::rd_kafka_event_DescribeTopics_result(event.ptr()) };
        if result.is_null() {
            return Err(RDKafkaErrorCode::Fail);
        }
        let mut count = 0;
        // SAFETY: the result belongs to the event, which lives until the end of this function.
        let described =
            unsafe { native::rd_kafka_DescribeTopics_result_topics(result, &mut count) };
        // SAFETY: librdkafka gave an array of `count` valid descriptions that belong to the event.
        Ok(Some((0..count).map(|nth| unsafe { read(*described.add(nth)) }).collect()))
    }
}

fn send<C: ClientContext>(
    client: &Client<C>,
    names: &[&str],
    timeout: Duration,
    rights: bool,
) -> Result<Owned<native::rd_kafka_queue_t>, RDKafkaErrorCode> {
    let failed = RDKafkaErrorCode::Fail;
    let names: Vec<CString> = names
        .iter()
        .map(|name| CString::new(*name))
        .collect::<Result<_, _>>()
        .map_err(|_| RDKafkaErrorCode::InvalidArgument)?;
    let mut pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
    let rk = client.native_ptr();
    // SAFETY: the array holds as many valid C strings as is said; librdkafka copies them.
    let topics = Owned::new(
        unsafe {
            native::rd_kafka_TopicCollection_of_topic_names(pointers.as_mut_ptr(), pointers.len())
        },
        native::rd_kafka_TopicCollection_destroy,
    )
    .ok_or(failed)?;
    let operation = native::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS;
    let options = options(client, operation, timeout, rights)?;
    // SAFETY: the client lives for the whole call, as it is borrowed.
    let queue =
        Owned::new(unsafe { native::rd_kafka_queue_new(rk) }, native::rd_kafka_queue_destroy)
            .ok_or(failed)?;
    // SAFETY: all four are valid; librdkafka copies what it keeps of them.
    unsafe { native::rd_kafka_DescribeTopics(rk, topics.ptr(), options.ptr(), queue.ptr()) };
    Ok(queue)
}

/// Options of a question; `rights` also asks what this user may do.
pub(super) fn options<C: ClientContext>(
    client: &Client<C>,
    operation: native::rd_kafka_admin_op_t,
    timeout: Duration,
    rights: bool,
) -> Result<Owned<native::rd_kafka_AdminOptions_t>, RDKafkaErrorCode> {
    // SAFETY: the client is borrowed and so lives.
    let options = Owned::new(
        unsafe { native::rd_kafka_AdminOptions_new(client.native_ptr(), operation) },
        native::rd_kafka_AdminOptions_destroy,
    )
    .ok_or(RDKafkaErrorCode::Fail)?;
    let timeout_ms = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the options are valid; a null buffer of length 0 asks for no text.
    let code = unsafe {
        native::rd_kafka_AdminOptions_set_request_timeout(
            options.ptr(),
            timeout_ms,
            std::ptr::null_mut(),
            0,
        )
    };
    // SAFETY: the options are valid; the error, if one is given, is this function's to free.
    let refused = unsafe {
        native::rd_kafka_AdminOptions_set_include_authorized_operations(
            options.ptr(),
            rights.into(),
        )
    };
    let refused = Owned::new(refused, native::rd_kafka_error_destroy);
    match (RDKafkaErrorCode::from(code), refused) {
        (RDKafkaErrorCode::NoError, None) => Ok(options),
        (RDKafkaErrorCode::NoError, Some(_)) => Err(RDKafkaErrorCode::InvalidArgument),
        (code, _) => Err(code),
    }
}

/// Waits for the one event that the queue will get.
pub(super) fn answer(
    queue: &Owned<native::rd_kafka_queue_t>,
    timeout: Duration,
) -> Result<Option<Owned<native::rd_kafka_event_t>>, RDKafkaErrorCode> {
    let timeout_ms = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the queue is valid. If no answer comes, dropping the queue makes librdkafka drop a
    // late one.
    let event = Owned::new(
        unsafe { native::rd_kafka_queue_poll(queue.ptr(), timeout_ms) },
        native::rd_kafka_event_destroy,
    );
    let Some(event) = event else { return Ok(None) };
    // SAFETY: the event is valid.
    let code: RDKafkaRespErr = unsafe { native::rd_kafka_event_error(event.ptr()) };
    match RDKafkaErrorCode::from(code) {
        RDKafkaErrorCode::NoError => Ok(Some(event)),
        code => Err(code),
    }
}

/// Copies a description.
///
/// # Safety
/// The pointer must be a description whose event lives.
unsafe fn read(description: *const native::rd_kafka_TopicDescription_t) -> Described {
    // SAFETY: every pointer below belongs to the description, which the caller keeps alive, and is
    // read before this function returns; librdkafka never gives a null name, error or id.
    unsafe {
        let name = CStr::from_ptr(native::rd_kafka_TopicDescription_name(description));
        let name = name.to_string_lossy().into_owned();
        let error = native::rd_kafka_TopicDescription_error(description);
        let code = RDKafkaErrorCode::from(native::rd_kafka_error_code(error));
        if code != RDKafkaErrorCode::NoError {
            return Described { name, answer: Err(code) };
        }
        let id = native::rd_kafka_TopicDescription_topic_id(description);
        let id = TopicId::from_halves(
            native::rd_kafka_Uuid_most_significant_bits(id),
            native::rd_kafka_Uuid_least_significant_bits(id),
        );
        let mut count = 0;
        let partitions = native::rd_kafka_TopicDescription_partitions(description, &mut count);
        let replicas = |nth| {
            let mut replicas = 0;
            native::rd_kafka_TopicPartitionInfo_replicas(*partitions.add(nth), &mut replicas);
            replicas
        };
        let replication = (0..count).map(replicas).min().unwrap_or(0);
        let whole = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        let mut operations = 0;
        let allowed =
            native::rd_kafka_TopicDescription_authorized_operations(description, &mut operations);
        let description = Description {
            id,
            partitions: whole(count),
            replication: whole(replication),
            rights: Rights::read(allowed, operations),
        };
        Described { name, answer: Ok(description) }
    }
}

/// What a client that is not polled has noted as errors, for a reason to give; ends when the queue
/// is empty.
pub(super) fn noted_errors<C: ClientContext>(client: &Client<C>) -> Vec<String> {
    let mut noted = Vec::new();
    let until = Instant::now() + ANSWER_SPARE;
    // SAFETY: the client is borrowed and so lives; the queue's reference is given back on drop.
    let queue = unsafe { native::rd_kafka_queue_get_main(client.native_ptr()) };
    let Some(queue) = Owned::new(queue, native::rd_kafka_queue_destroy) else {
        return noted;
    };
    while Instant::now() < until {
        // SAFETY: the queue is valid, and a wait of zero returns at once.
        let event = unsafe { native::rd_kafka_queue_poll(queue.ptr(), 0) };
        let Some(event) = Owned::new(event, native::rd_kafka_event_destroy) else {
            break;
        };
        let (mut facility, mut text, mut level) = (std::ptr::null(), std::ptr::null(), 0);
        // SAFETY: the event is valid; the texts belong to it and are copied while it lives.
        unsafe {
            let no_log =
                native::rd_kafka_event_log(event.ptr(), &mut facility, &mut text, &mut level) != 0;
            if no_log || text.is_null() {
                continue;
            }
            noted.push(CStr::from_ptr(text).to_string_lossy().into_owned());
        }
    }
    noted
}
