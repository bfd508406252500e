//! `oncegate quarantine list`: a line for each record that waits, and how many of each reason.
//! Must not be in here: keys or values of records; `show` prints them for one.

use super::desk::{Desk, tell_foreign};
use crate::cli::{Outcome, QuarantineListArgs};
use crate::commands::utc;
use crate::quarantine::{Held, Standing};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

#[derive(Serialize)]
struct Line<'a> {
    id: String,
    /// `held`, `superseded` or `admitted`.
    state: &'static str,
    reason: &'a str,
    detail: Option<&'a str>,
    source: String,
    quarantined_at: Option<String>,
    recipe: &'a str,
    cut: bool,
}

impl Line<'_> {
    fn of(held: &Held, standing: Standing) -> Line<'_> {
        Line {
            id: held.id.to_string(),
            state: standing.as_str(),
            reason: &held.reason,
            detail: held.detail.as_deref(),
            source: held.source(),
            quarantined_at: held.timestamp_ms.and_then(utc),
            recipe: &held.recipe,
            cut: held.is_cut,
        }
    }
}

/// Prints what waits, as it is read; with `--superseded` also what waits no more.
pub(super) fn list(mut desk: Desk, args: &QuarantineListArgs) -> Result<Outcome, String> {
    let selection = args.selection.selection();
    let standings = desk.standings(selection.partition)?;
    // Who names a record means it, whatever became of it.
    let all = args.superseded || !selection.ids.is_empty();
    let mut out = BufWriter::new(io::stdout().lock());
    let (mut counts, mut others) = (BTreeMap::<String, u64>::new(), BTreeMap::new());
    let mut result = Ok(());
    if !args.json {
        let state = all.then_some("STATE");
        print_line(&mut out, state, ["ID", "REASON", "QUARANTINED AT", "SOURCE", "DETAIL"])
            .map_err(|error| error.to_string())?;
    }
    let foreign = desk.each(&selection, &mut |held| {
        let standing = standings.of(&held);
        match standing {
            Standing::Current => *counts.entry(held.reason.clone()).or_default() += 1,
            other => *others.entry(other).or_insert(0u64) += 1,
        }
        if result.is_ok() && (all || standing == Standing::Current) {
            result = print_held(&mut out, &Line::of(&held, standing), (all, args.json));
        }
    })?;
    result.and_then(|()| out.flush()).map_err(|error| error.to_string())?;
    if !args.json {
        let total: u64 = counts.values().sum();
        let counts: Vec<String> =
            counts.iter().map(|(reason, count)| format!("{reason}={count}")).collect();
        writeln!(out, "quarantine: {total} held  {}", counts.join(" "))
            .and_then(|()| tell_others(&mut out, &others, all))
            .and_then(|()| out.flush())
            .map_err(|error| error.to_string())?;
    }
    Ok(if tell_foreign(&foreign) { Outcome::Fine } else { Outcome::Wrong })
}

fn tell_others(
    out: &mut impl Write,
    others: &BTreeMap<Standing, u64>,
    shown: bool,
) -> io::Result<()> {
    if others.is_empty() {
        return Ok(());
    }
    let others: Vec<String> =
        others.iter().map(|(state, count)| format!("{}={count}", state.as_str())).collect();
    let hint = if shown { "" } else { "  (--superseded shows them)" };
    writeln!(out, "quarantine: waits no more: {}{hint}", others.join(" "))
}

fn print_held(out: &mut impl Write, line: &Line<'_>, (all, json): (bool, bool)) -> io::Result<()> {
    if json {
        serde_json::to_writer(&mut *out, line)?;
        return writeln!(out);
    }
    let at = line.quarantined_at.as_deref().unwrap_or("-");
    let detail = line.detail.unwrap_or(if line.cut { "only hash and head are kept" } else { "" });
    let state = all.then_some(line.state);
    print_line(out, state, [&line.id, line.reason, at, &line.source, detail])
}

fn print_line(out: &mut impl Write, state: Option<&str>, cells: [&str; 5]) -> io::Result<()> {
    let [id, reason, at, source, detail] = cells;
    let state = state.map_or(String::new(), |state| format!(" {state:<10}"));
    let line = format!("{id:<12}{state} {reason:<18} {at:<24} {source:<28} {detail}");
    writeln!(out, "{}", line.trim_end())
}
