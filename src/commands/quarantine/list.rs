//! `oncegate quarantine list`: a line for each held record, and how many of each reason.
//! Must not be in here: keys or values of records; `show` prints them for one.

use super::desk::{Desk, tell_foreign};
use crate::cli::{Outcome, QuarantineListArgs};
use crate::commands::utc;
use crate::quarantine::Held;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

#[derive(Serialize)]
struct Line<'a> {
    id: String,
    reason: &'a str,
    detail: Option<&'a str>,
    source: String,
    quarantined_at: Option<String>,
    recipe: &'a str,
    cut: bool,
}

impl Line<'_> {
    fn of(held: &Held) -> Line<'_> {
        Line {
            id: held.id.to_string(),
            reason: &held.reason,
            detail: held.detail.as_deref(),
            source: held.source(),
            quarantined_at: held.timestamp_ms.and_then(utc),
            recipe: &held.recipe,
            cut: held.is_cut,
        }
    }
}

/// Prints what is held, as it is read.
pub(super) fn list(mut desk: Desk, args: &QuarantineListArgs) -> Result<Outcome, String> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut result = Ok(());
    if !args.json {
        print_line(&mut out, ["ID", "REASON", "QUARANTINED AT", "SOURCE", "DETAIL"])
            .map_err(|error| error.to_string())?;
    }
    let foreign = desk.each(&args.selection.selection(), &mut |held| {
        *counts.entry(held.reason.clone()).or_default() += 1;
        if result.is_ok() {
            result = print_held(&mut out, &held, args.json);
        }
    })?;
    result.and_then(|()| out.flush()).map_err(|error| error.to_string())?;
    if !args.json {
        let total: u64 = counts.values().sum();
        let counts: Vec<String> =
            counts.iter().map(|(reason, count)| format!("{reason}={count}")).collect();
        writeln!(out, "quarantine: {total} held  {}", counts.join(" "))
            .and_then(|()| out.flush())
            .map_err(|error| error.to_string())?;
    }
    Ok(if tell_foreign(&foreign) { Outcome::Fine } else { Outcome::Wrong })
}

fn print_held(out: &mut impl Write, held: &Held, json: bool) -> io::Result<()> {
    let line = Line::of(held);
    if json {
        serde_json::to_writer(&mut *out, &line)?;
        return writeln!(out);
    }
    let at = line.quarantined_at.as_deref().unwrap_or("-");
    let detail =
        line.detail.unwrap_or(if held.is_cut { "only hash and head are kept" } else { "" });
    print_line(out, [&line.id, line.reason, at, &line.source, detail])
}

fn print_line(out: &mut impl Write, cells: [&str; 5]) -> io::Result<()> {
    let [id, reason, at, source, detail] = cells;
    let line = format!("{id:<12} {reason:<18} {at:<24} {source:<28} {detail}");
    writeln!(out, "{}", line.trim_end())
}
