//! Who may do what, through the C interface: the safe client has no CreateAcls and DeleteAcls.
//! Must not be in here: which rules a test needs, or how a document writes them.

use std::ffi::CString;
use std::fmt;
use std::time::Duration;

use rdkafka::bindings as rd;
use rdkafka::types::RDKafkaRespErr;

use super::topic_id::{Free, owned};
use crate::error::{Doing, KitError, Result};

/// The client that logged in nowhere.
const NOBODY: &str = "User:ANONYMOUS";
/// What Kafka calls the one resource of its kind.
const CLUSTER: &str = "kafka-cluster";

/// What a client may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Read records; join a group.
    Read,
    /// Write records; use a transactional id.
    Write,
    /// Create topics.
    Create,
    /// See that it is there.
    Describe,
    /// See its configs.
    DescribeConfigs,
}

impl Operation {
    /// All of them.
    pub const ALL: [Operation; 5] = [
        Operation::Read,
        Operation::Write,
        Operation::Create,
        Operation::Describe,
        Operation::DescribeConfigs,
    ];

    fn native(self) -> rd::rd_kafka_AclOperation_t {
        use rd::rd_kafka_AclOperation_t as Native;
        match self {
            Operation::Read => Native::RD_KAFKA_ACL_OPERATION_READ,
            Operation::Write => Native::RD_KAFKA_ACL_OPERATION_WRITE,
            Operation::Create => Native::RD_KAFKA_ACL_OPERATION_CREATE,
            Operation::Describe => Native::RD_KAFKA_ACL_OPERATION_DESCRIBE,
            Operation::DescribeConfigs => Native::RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS,
        }
    }
}

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A topic.
    Topic,
    /// A consumer group.
    Group,
    /// A transactional id.
    TransactionalId,
    /// The cluster; its name counts for nothing.
    Cluster,
}

/// One right of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acl {
    /// As `User:gate`.
    pub principal: String,
    /// What kind of thing.
    pub resource: Resource,
    /// Its name.
    pub name: String,
    /// Whether the name is the beginning of names.
    pub prefixed: bool,
    /// What may be done.
    pub operation: Operation,
}

impl fmt::Display for Acl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefixed = if self.prefixed { "*" } else { "" };
        write!(f, "{:?} on {:?} {}{prefixed}", self.operation, self.resource, self.name)
    }
}

impl Acl {
    /// Of everybody without a name, to a topic.
    pub(super) fn of_nobody(topic: &str, operation: Operation) -> Acl {
        Acl {
            principal: NOBODY.to_owned(),
            resource: Resource::Topic,
            name: topic.to_owned(),
            prefixed: false,
            operation,
        }
    }

    fn texts(&self) -> Result<(CString, CString)> {
        let name = if self.resource == Resource::Cluster { CLUSTER } else { &self.name };
        let text = |text: &str| CString::new(text).doing(|| format!("{text:?} is no name"));
        Ok((text(name)?, text(&self.principal)?))
    }

    fn natives(&self) -> (rd::rd_kafka_ResourceType_t, rd::rd_kafka_ResourcePatternType_t) {
        use rd::rd_kafka_ResourcePatternType_t as Pattern;
        use rd::rd_kafka_ResourceType_t as Kind;
        let kind = match self.resource {
            Resource::Topic => Kind::RD_KAFKA_RESOURCE_TOPIC,
            Resource::Group => Kind::RD_KAFKA_RESOURCE_GROUP,
            Resource::TransactionalId => Kind::RD_KAFKA_RESOURCE_TRANSACTIONAL_ID,
            // The library's name for the cluster.
            Resource::Cluster => Kind::RD_KAFKA_RESOURCE_BROKER,
        };
        let pattern = match self.prefixed {
            true => Pattern::RD_KAFKA_RESOURCE_PATTERN_PREFIXED,
            false => Pattern::RD_KAFKA_RESOURCE_PATTERN_LITERAL,
        };
        (kind, pattern)
    }
}

/// Adds a rule on a client that outlives the call.
pub(super) fn add(client: *mut rd::rd_kafka_t, acl: &Acl, timeout: Duration) -> Result<()> {
    let (name, principal) = acl.texts()?;
    let (kind, pattern) = acl.natives();
    let failed = |why: String| KitError::new(format!("cannot allow {acl}: {why}"));
    let mut said = [0; 256];
    // SAFETY: `client` is alive; every pointer comes from the library and is freed after its last
    // use; the results live as long as the event.
    unsafe {
        let rule = rd::rd_kafka_AclBinding_new(
            kind,
            name.as_ptr(),
            pattern,
            principal.as_ptr(),
            c"*".as_ptr(),
            acl.operation.native(),
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
        let event = answer(queue.0, timeout).map_err(failed)?;
        let mut count = 0;
        let result = rd::rd_kafka_event_CreateAcls_result(event.0);
        let results = rd::rd_kafka_CreateAcls_result_acls(result, &mut count);
        if count != 1 {
            return Err(failed(format!("{count} results")));
        }
        checked(rd::rd_kafka_acl_result_error(*results)).map_err(failed)
    }
}

/// Takes a rule away on a client that outlives the call.
pub(super) fn remove(client: *mut rd::rd_kafka_t, acl: &Acl, timeout: Duration) -> Result<()> {
    let (name, principal) = acl.texts()?;
    let (kind, pattern) = acl.natives();
    let failed = |why: String| KitError::new(format!("cannot take away {acl}: {why}"));
    let mut said = [0; 256];
    // SAFETY: as in `add`.
    unsafe {
        let rule = rd::rd_kafka_AclBindingFilter_new(
            kind,
            name.as_ptr(),
            pattern,
            principal.as_ptr(),
            c"*".as_ptr(),
            acl.operation.native(),
            rd::rd_kafka_AclPermissionType_t::RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW,
            said.as_mut_ptr(),
            said.len(),
        );
        if rule.is_null() {
            return Err(failed(owned(said.as_ptr())));
        }
        // A filter is destroyed as the binding that it is.
        let rule = Free(rule, rd::rd_kafka_AclBinding_destroy);
        let queue = Free(rd::rd_kafka_queue_new(client), rd::rd_kafka_queue_destroy);
        let mut rules = [rule.0];
        rd::rd_kafka_DeleteAcls(client, rules.as_mut_ptr(), 1, std::ptr::null(), queue.0);
        let event = answer(queue.0, timeout).map_err(failed)?;
        let mut count = 0;
        let result = rd::rd_kafka_event_DeleteAcls_result(event.0);
        let responses = rd::rd_kafka_DeleteAcls_result_responses(result, &mut count);
        if count != 1 {
            return Err(failed(format!("{count} results")));
        }
        checked(rd::rd_kafka_DeleteAcls_result_response_error(*responses)).map_err(failed)?;
        let mut matching = 0;
        rd::rd_kafka_DeleteAcls_result_response_matching_acls(*responses, &mut matching);
        if matching == 1 { Ok(()) } else { Err(failed(format!("{matching} rules match"))) }
    }
}

type Event = Free<*mut rd::rd_kafka_event_t>;

/// Waits for the one event of a queue.
///
/// # Safety
/// The queue must be alive.
unsafe fn answer(
    queue: *mut rd::rd_kafka_queue_t,
    timeout: Duration,
) -> std::result::Result<Event, String> {
    // SAFETY: as the caller says; the text is copied while the event lives.
    unsafe {
        let event = rd::rd_kafka_queue_poll(queue, timeout.as_millis() as i32);
        if event.is_null() {
            return Err("no answer".to_owned());
        }
        let event = Free(event, rd::rd_kafka_event_destroy);
        match rd::rd_kafka_event_error(event.0) {
            RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR => Ok(event),
            _ => Err(owned(rd::rd_kafka_event_error_string(event.0))),
        }
    }
}

/// # Safety
/// The error must be null or alive.
unsafe fn checked(error: *const rd::rd_kafka_error_t) -> std::result::Result<(), String> {
    // SAFETY: as the caller says; both calls take null for no error.
    unsafe {
        match rd::rd_kafka_error_code(error) {
            RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR => Ok(()),
            _ => Err(owned(rd::rd_kafka_error_string(error))),
        }
    }
}
