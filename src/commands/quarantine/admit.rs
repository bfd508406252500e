//! `oncegate quarantine admit`: a late event is let through by a person's name and reason.
//! Must not be in here: the act itself, or its proof; they are the processor's.

use super::desk::Desk;
use crate::cli::{Outcome, QuarantineAdmitArgs};
use crate::commands::act::{Place, signature};
use crate::gate::{Header, RawRecord, Reason, RecordTimestamp};
use crate::identity::EventKey;
use crate::processor::act::{Admission, prove_new};
use crate::processor::restore::JobKind;
use crate::quarantine::{Held, Selection};

/// Admits one held record.
pub(super) fn admit(mut desk: Desk, args: &QuarantineAdmitArgs) -> Result<Outcome, String> {
    let signature = match signature(&args.act) {
        Ok(signature) => signature,
        Err(outcome) => return Ok(outcome),
    };
    let held = find(&mut desk, args)?;
    let (key, timestamp) = admissible(&held, &desk.label)?;
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
    let admission = Admission { record: &record, item, key, signature };
    let place = Place {
        settings: &desk.settings,
        route: &desk.route,
        partition: held.id.partition,
        timeout: desk.timeout(),
    };
    let patience_ms = desk.timeout().as_millis() as u64;
    let position = place.act(&args.act, |actor, journal| {
        let taken = actor.take_over(&JobKind::Takeover, patience_ms)?;
        if let Some(position) = &taken.position {
            prove_new(journal, &desk.route.journal, held.id.partition, position, key)?;
        }
        actor.admit(taken, &admission)
    })?;
    let entry = position.number;
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
