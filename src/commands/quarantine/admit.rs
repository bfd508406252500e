//! `oncegate quarantine admit`: a late event is let through by a person's name and reason.
//! Must not be in here: the act itself, or its proof; they are the processor's.

use super::desk::Desk;
use crate::check::{CheckError, RouteFacts, check};
use crate::cli::{Outcome, QuarantineAdmitArgs};
use crate::gate::{Header, RawRecord, Reason, RecordTimestamp};
use crate::identity::EventKey;
use crate::kafka::config::member_id;
use crate::processor::act::{Actor, Admission, prove_new};
use crate::processor::instance::Instance;
use crate::processor::restorer::RestorerThread;
use crate::processor::transaction::TransactionLimits;
use crate::quarantine::{Held, Selection};
use crate::service::{join, route_of, witnesses};
use crate::store::{RocksStores, StoreBudget};

/// Longest name or reason, so that an entry stays a small record.
const TEXT_BYTES_MAX: usize = 1000;

/// Admits one held record.
pub(super) fn admit(mut desk: Desk, args: &QuarantineAdmitArgs) -> Result<Outcome, String> {
    for (name, text) in [("--by", &args.by), ("--because", &args.reason)] {
        if text.trim().is_empty() || text.len() > TEXT_BYTES_MAX {
            eprintln!("quarantine: {name} must be a text of at most {TEXT_BYTES_MAX} bytes");
            return Ok(Outcome::Faulty);
        }
    }
    let held = find(&mut desk, args)?;
    let (key, timestamp) = admissible(&held, &desk.label)?;
    let facts = facts(&desk)?;
    let headers: Vec<Header<'_>> = (held.headers.iter())
        .map(|(name, value)| Header { name, value: value.as_deref() })
        .collect();
    let record = RawRecord {
        partition: held.id.partition,
        offset: held.offset,
        timestamp,
        key: held.key.as_deref(),
        payload: held.payload.as_deref(),
        headers: &headers,
    };
    let item = held.item.unwrap_or(0);
    let admission = Admission { record: &record, item, key, by: &args.by, reason: &args.reason };
    let entry = act(&desk, args, &facts, &admission)?;
    println!(
        "quarantine: {} ({}) admitted by journal entry {entry} of {}/{}",
        held.id,
        held.source(),
        desk.route.journal,
        held.id.partition,
    );
    Ok(Outcome::Fine)
}

fn find(desk: &mut Desk, args: &QuarantineAdmitArgs) -> Result<Held, String> {
    let selection = Selection { ids: vec![args.id], ..Selection::default() };
    let mut found = None;
    let foreign = desk.each(&selection, &mut |held| found = Some(held))?;
    match (found, foreign.first()) {
        (Some(held), _) => Ok(held),
        (None, Some(error)) => Err(error.to_string()),
        (None, None) => {
            let topic = &desk.route.quarantine;
            Err(format!("{topic}/{} is not there, or no longer retained", args.id))
        }
    }
}

/// The key and the raw timestamp of a record that can be admitted.
fn admissible(held: &Held, label: &str) -> Result<(EventKey, RecordTimestamp), String> {
    if held.route != label {
        return Err(format!("{} was quarantined by {}, this is {label}", held.id, held.route));
    }
    if held.reason != Reason::Late.as_str() {
        return Err(format!(
            "{} is held as `{}`; only late events are admitted, others are redriven once their cause is mended",
            held.id, held.reason
        ));
    }
    if held.is_cut {
        return Err(format!("{}: only the hash and the first bytes are held", held.id));
    }
    let key = held.key_text.as_deref().and_then(|text| {
        let digits = text.get(text.len().checked_sub(64)?..)?;
        EventKey::from_bytes(&hex::decode(digits).ok()?)
    });
    let key = key.ok_or_else(|| format!("{}: header oncegate-key is faulty", held.id))?;
    let timestamp = match held.raw_timestamp.as_deref().and_then(|text| text.split_once(' ')) {
        None => RecordTimestamp::Absent,
        Some((kind, ms)) => {
            let ms = ms
                .parse()
                .map_err(|_| format!("{}: header oncegate-timestamp is faulty", held.id))?;
            match kind {
                "LogAppendTime" => RecordTimestamp::LogAppendTimeMs(ms),
                _ => RecordTimestamp::CreateTimeMs(ms),
            }
        }
    };
    Ok((key, timestamp))
}

/// What the cluster says of the route; only where `run` would start too.
fn facts(desk: &Desk) -> Result<RouteFacts, String> {
    let report =
        check(&desk.settings, desk.timeout()).map_err(|error: CheckError| error.to_string())?;
    if !report.is_sound() {
        let findings: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
        return Err(format!("the configuration does not hold:\n{}", findings.join("\n")));
    }
    let facts = report.routes.into_iter().find(|facts| facts.name == desk.route.name);
    facts.ok_or_else(|| "the cluster says nothing of the route".to_owned())
}

/// Joins, takes over, proves, writes, leaves. Gives the number of the entry.
fn act(
    desk: &Desk,
    args: &QuarantineAdmitArgs,
    facts: &RouteFacts,
    admission: &Admission<'_>,
) -> Result<u64, String> {
    let words = |error: &dyn std::fmt::Display| error.to_string();
    let state_dir = args.state_dir.as_deref().unwrap_or(&desk.settings.state_dir);
    let wanted = desk.settings.instance.as_deref().filter(|_| args.state_dir.is_none());
    let instance = Instance::take(state_dir, wanted).map_err(|error| {
        format!("{error}. Stop the process that serves the partition first, or name an empty --state-dir")
    })?;
    let budget =
        StoreBudget { memory_bytes: desk.settings.store_memory_bytes, ..StoreBudget::default() };
    let stores = RocksStores::open(state_dir, budget).map_err(|error| words(&error))?;
    let member = member_id(&desk.settings.group, &desk.route.name, instance.id(), 0);
    let properties = &desk.settings.kafka;
    let broker = join(properties, &desk.route, facts, &member)?;
    let mut journal = witnesses(properties, &desk.route)?;
    let route = route_of(&desk.settings.group, &desk.route, facts);
    let takeovers =
        RestorerThread::spawn(route.clone(), witnesses(properties, &desk.route)?, stores)
            .map_err(|error| words(&error))?;
    let limits = TransactionLimits { timeout_ms: u64::from(desk.route.transaction_timeout_ms) };
    let mut actor = Actor::new(route, broker, takeovers, limits);
    let partition = admission.record.partition;
    let patience_ms = desk.timeout().as_millis() as u64;
    let taken = actor.take_over(partition, patience_ms).map_err(|error| words(&error))?;
    if let Some(position) = &taken.position {
        let topic = &desk.route.journal;
        prove_new(&mut journal, topic, partition, position, admission.key)
            .map_err(|error| words(&error))?;
    }
    let position = actor.admit(taken, admission).map_err(|error| words(&error))?;
    Ok(position.number)
}
