//! A quarantine record: where it came from and why it stands there.
//! Must not be in here: whether the journal agrees.

use super::clean::split_key;
use super::route::RouteUnderProof;
use super::source_header::{SourcePosition, header};
use crate::gate::RawRecord;
use crate::identity::EventKey;

/// What a quarantine record says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// Raw position.
    pub source: SourcePosition,
    /// Whether it is one item of its record that stands there.
    pub itemized: bool,
    /// The reason's name.
    pub reason: Box<str>,
    /// The event's key, where it has one.
    pub key: Option<EventKey>,
}

impl Quarantined {
    /// Reads the headers of a record of the route's quarantine topic.
    ///
    /// # Errors
    /// The header that is missing, or that names another route or raw partition.
    pub fn read(
        record: &RawRecord<'_>,
        route: &RouteUnderProof,
    ) -> Result<Quarantined, &'static str> {
        let need = |name: &'static str| header(record, name).ok_or(name);
        if need("oncegate-route")? != route.label {
            return Err("oncegate-route");
        }
        let reason = need("oncegate-reason")?;
        let source = need("oncegate-source")?;
        let itemized = source.split('/').count() > 3;
        let source = SourcePosition::parse(source);
        let (topic, source) = source.ok_or("oncegate-source")?;
        if topic != route.raw || source.partition != record.partition {
            return Err("oncegate-source");
        }
        let key = header(record, "oncegate-key").and_then(split_key).map(|(_, key)| key);
        Ok(Quarantined { source, itemized, reason: reason.into(), key })
    }
}
