//! `oncegate key`: the keys of documents, one a line, by a recipe; or how each key came about.
//!
//! It prints keys with their prefixes, and with `--explain` values of the document: for the
//! terminal of someone who has the document. Must not be in here: a rule of identity.

use crate::cli::{KeyArgs, Outcome};
use crate::identity::{Deriver, Event, Explained, Recipe, Rejection, explain};
use crate::identity::{shipped_recipe, shipped_recipes};
use crate::settings::{nearest, read_recipe};
use chrono::{DateTime, SecondsFormat};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// The answer for one document.
#[derive(Serialize)]
struct Line {
    events: Vec<Answer>,
}

/// The answer for one event.
#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    Keyed { key: String, event_time: Option<String>, digest: String },
    Rejected { rejected: &'static str, detail: String },
}

/// Reads documents and prints an answer for each.
pub fn key(args: &KeyArgs) -> Outcome {
    let recipe = match recipe(&args.recipe, args.recipes.as_deref()) {
        Ok(recipe) => Arc::new(recipe),
        Err(message) => {
            eprintln!("key: {message}");
            return Outcome::Faulty;
        }
    };
    let input: Box<dyn BufRead> = match args.file.as_path() {
        path if path == Path::new("-") => Box::new(io::stdin().lock()),
        path => match File::open(path) {
            Ok(file) => Box::new(BufReader::new(file)),
            Err(error) => {
                eprintln!("key: {} cannot be read: {error}", path.display());
                return Outcome::Faulty;
            }
        },
    };
    let result = if args.explain { explain_all(&recipe, input) } else { key_all(recipe, input) };
    match result {
        Ok(()) => Outcome::Fine,
        // Whoever read the answers has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Outcome::Fine,
        Err(error) => {
            eprintln!("key: {error}");
            Outcome::Wrong
        }
    }
}

/// A recipe of one's own folder, or one that comes with oncegate.
fn recipe(name: &str, dir: Option<&Path>) -> Result<Recipe, String> {
    if let Some(dir) = dir {
        return read_recipe(dir, name).map_err(|error| error.to_string());
    }
    let Some(text) = shipped_recipe(name) else {
        let near = nearest(name, shipped_recipes());
        let meant = near.map_or(".".to_owned(), |near| format!("; did you mean `{near}`?"));
        let all: Vec<&str> = shipped_recipes().collect();
        let all = all.join(", ");
        return Err(format!(
            "no recipe of this name comes with oncegate{meant} There are: {all}. `--recipes DIR` \
             reads one of your own"
        ));
    };
    Recipe::parse(name, text).map_err(|error| error.to_string())
}

fn key_all(recipe: Arc<Recipe>, input: impl BufRead) -> io::Result<()> {
    let mut deriver = Deriver::new(recipe);
    let mut out = BufWriter::new(io::stdout().lock());
    each_document(input, |_, document| {
        let events = match deriver.derive(document) {
            Ok(events) => events.iter().map(|event| event.map_or_else(rejected, keyed)).collect(),
            Err(rejection) => vec![rejected(&rejection)],
        };
        serde_json::to_writer(&mut out, &Line { events })?;
        out.write_all(b"\n")
    })?;
    out.flush()
}

/// Calls `sink` with the number of each line, from 1, and the line without its end.
fn each_document(
    mut input: impl BufRead,
    mut sink: impl FnMut(u64, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        sink(number, line.strip_suffix(b"\n").unwrap_or(&line))?;
    }
    Ok(())
}

fn keyed(event: Event<'_>) -> Answer {
    Answer::Keyed {
        key: event.key_text(),
        event_time: event.event_time_micros.and_then(event_time),
        digest: event.digest.to_string(),
    }
}

fn rejected(rejection: &Rejection) -> Answer {
    Answer::Rejected { rejected: rejection.reason.as_str(), detail: rejection.to_string() }
}

/// Microseconds since 1970 as RFC 3339 in UTC; the fraction is left out where it is zero.
fn event_time(micros: i64) -> Option<String> {
    let time = DateTime::from_timestamp_micros(micros)?;
    let fraction = match micros.rem_euclid(1_000_000) {
        0 => SecondsFormat::Secs,
        _ => SecondsFormat::Micros,
    };
    Some(time.to_rfc3339_opts(fraction, true))
}

fn explain_all(recipe: &Arc<Recipe>, input: impl BufRead) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    writeln!(out, "recipe {}, version {}", recipe.name(), recipe.version())?;
    each_document(input, |number, document| {
        match explain(recipe.clone(), document) {
            Err(rejection) => {
                writeln!(out, "\ndocument {number}")?;
                explain_rejection(&mut out, &rejection)?;
            }
            Ok(events) => {
                let count = events.len();
                for (nth, event) in events.iter().enumerate() {
                    writeln!(out, "\ndocument {number}, event {} of {count}", nth + 1)?;
                    match event {
                        Ok(explained) => explain_event(&mut out, explained)?,
                        Err(rejection) => explain_rejection(&mut out, rejection)?,
                    }
                }
            }
        }
        Ok(())
    })?;
    out.flush()
}

fn explain_rejection(out: &mut impl Write, rejection: &Rejection) -> io::Result<()> {
    writeln!(out, "  rejected    {}", rejection.reason)?;
    writeln!(out, "  detail      {rejection}")?;
    writeln!(out, "  meaning     {}", rejection.reason.meaning())
}

fn explain_event(out: &mut impl Write, event: &Explained) -> io::Result<()> {
    let width = |text: &dyn Fn(&crate::identity::ExplainedField) -> usize| {
        event.fields.iter().map(text).max().unwrap_or(0)
    };
    let (names, pointers) = (width(&|f| f.name.len()), width(&|f| f.pointer.len()));
    for field in &event.fields {
        let sent = field.sent.as_deref().unwrap_or("(absent)");
        let normalized = match &field.normalized {
            Some(text) => format!("{text:?}"),
            None => "(no trace)".to_owned(),
        };
        writeln!(
            out,
            "  {:names$}  {:pointers$}  {sent}  is  {normalized}",
            field.name, field.pointer
        )?;
    }
    writeln!(out, "  preimage    {}", event.preimage)?;
    writeln!(out, "  key         {}{}", event.prefix, event.key)?;
    writeln!(out, "  content     {}", event.content)?;
    writeln!(out, "  digest      {}", event.digest)?;
    let time = event.event_time_micros.and_then(event_time);
    writeln!(out, "  event time  {}", time.as_deref().unwrap_or("(none)"))
}
