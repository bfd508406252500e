//! `oncegate quarantine redrive`: appends chosen records to their raw partitions again.
//! Must not be in here: a verdict; the gate decides them as ever.

use super::desk::{Desk, tell_foreign};
use crate::cli::{Outcome, QuarantineRedriveArgs};
use crate::gate::Header;
use crate::kafka::{AppendRecord, Appender};
use crate::quarantine::{RawAppend, Redriver, Standing};

/// Records in one transaction.
const BATCH: usize = 1000;

/// Appends what is meant, or says what would be appended.
pub(super) fn redrive(mut desk: Desk, args: &QuarantineRedriveArgs) -> Result<Outcome, String> {
    let selection = args.selection.selection();
    if selection.is_everything() && !args.all {
        eprintln!("quarantine: say which records (--id, --reason, --partition, ...), or --all");
        return Ok(Outcome::Faulty);
    }
    // Who names a record means it, whatever became of it.
    let standings = match selection.ids.is_empty() {
        true => Some(desk.standings(selection.partition)?),
        false => None,
    };
    let mut redriver = Redriver::new(&desk.route.quarantine, &desk.label);
    let (mut appends, mut refused, mut events) = (Vec::new(), Vec::new(), 0u64);
    let foreign = desk.each(&selection, &mut |held| {
        let standing = standings.as_ref().map_or(Standing::Current, |all| all.of(&held));
        if standing != Standing::Current {
            return;
        }
        events += 1;
        match redriver.redrive(&held) {
            Ok(append) => appends.extend(append),
            Err(why) => refused.push(why),
        }
    })?;
    for why in &refused {
        eprintln!("quarantine: not redriven: {why}");
    }
    let raw = desk.route.raw.clone();
    if args.dry_run {
        println!("quarantine: {events} held events are meant, {} raw records", appends.len());
    } else if !appends.is_empty() {
        let id = format!("{}-redrive", desk.route.group_id);
        let appender = Appender::connect(&desk.settings.kafka, &id)
            .map_err(|why| format!("{why} (transactional id {id})"))?;
        let mut done = 0;
        for batch in appends.chunks(BATCH) {
            append(&appender, &raw, batch).map_err(|why| {
                format!("{why}; {done} of {} records were appended before", appends.len())
            })?;
            done += batch.len();
        }
        println!(
            "quarantine: {events} held events are meant, {done} raw records appended to {raw}"
        );
    } else {
        println!("quarantine: nothing to redrive");
    }
    let all_well = tell_foreign(&foreign) && refused.is_empty();
    Ok(if all_well { Outcome::Fine } else { Outcome::Wrong })
}

fn append(appender: &Appender, topic: &str, batch: &[RawAppend]) -> Result<(), String> {
    let headers: Vec<Vec<Header<'_>>> = (batch.iter())
        .map(|append| {
            let headers = append.headers.iter();
            headers.map(|(name, value)| Header { name, value: value.as_deref() }).collect()
        })
        .collect();
    let records: Vec<AppendRecord<'_>> = (batch.iter().zip(&headers))
        .map(|(append, headers)| AppendRecord {
            partition: append.partition,
            key: append.key.as_deref(),
            payload: append.payload.as_deref(),
            headers,
        })
        .collect();
    appender.append(topic, &records).map(|_| ())
}
