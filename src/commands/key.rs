//! `oncegate key`: the keys of documents, one a line, by a recipe; or how each key came about.
//!
//! It prints keys with their prefixes, and with `--explain` values of the document: for the
//! terminal of someone who has the document. Must not be in here: a rule of identity.

use super::recipe_named;
use crate::cli::{KeyArgs, Outcome};
use crate::identity::{Deriver, Event, Explained, Recipe, Rejection, explain, visible};
use chrono::{DateTime, SecondsFormat};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
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
    let recipe = match recipe_named(&args.recipe, args.recipes.as_deref()) {
        Ok(recipe) => Arc::new(recipe),
        Err(message) => {
            eprintln!("key: {message}");
            return Outcome::Faulty;
        }
    };
    let input = match Input::open(&args.file) {
        Ok(input) => input,
        Err(error) => {
            eprintln!("key: {error}");
            return Outcome::Faulty;
        }
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

/// The documents, with a name for what goes wrong with them.
struct Input<'a> {
    path: &'a Path,
    source: Box<dyn Read>,
}

impl Input<'_> {
    fn open(path: &Path) -> io::Result<Input<'_>> {
        let file = || -> io::Result<Box<dyn Read>> {
            // A folder can be opened, but not read.
            match path.is_dir() {
                true => Err(io::ErrorKind::IsADirectory.into()),
                false => Ok(Box::new(File::open(path)?)),
            }
        };
        let source =
            if path == Path::new("-") { Ok(Box::new(io::stdin().lock()) as _) } else { file() };
        source.map(|source| Input { path, source }).map_err(|error| unreadable(path, &error))
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.read(buffer).map_err(|error| unreadable(self.path, &error))
    }
}

fn unreadable(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{} cannot be read: {error}", path.display()))
}

fn key_all(recipe: Arc<Recipe>, input: impl Read) -> io::Result<()> {
    let mut deriver = Deriver::new(recipe);
    let mut out = BufWriter::new(io::stdout().lock());
    each_document(input, |_, document, is_last| {
        let events = match deriver.derive(document) {
            Ok(events) => events.iter().map(|event| event.map_or_else(rejected, keyed)).collect(),
            Err(rejection) => vec![rejected(&rejection)],
        };
        serde_json::to_writer(&mut out, &Line { events })?;
        out.write_all(b"\n")?;
        if is_last { out.flush() } else { Ok(()) }
    })?;
    out.flush()
}

/// How much is read at once: more than standard input keeps by itself, which it then does not.
const AT_ONCE: usize = 1 << 16;

/// Calls `sink` with the number of each line, from 1, the line without its end, and whether it is
/// the last that is at hand: whoever sends the next may wait for the answer to this one.
fn each_document(
    input: impl Read,
    mut sink: impl FnMut(u64, &[u8], bool) -> io::Result<()>,
) -> io::Result<()> {
    let mut input = BufReader::with_capacity(AT_ONCE, input);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let is_last = !input.buffer().contains(&b'\n');
        sink(number, line.strip_suffix(b"\n").unwrap_or(&line), is_last)?;
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

fn explain_all(recipe: &Arc<Recipe>, input: impl Read) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    writeln!(out, "recipe {}, version {}", recipe.name(), recipe.version())?;
    each_document(input, |number, document, is_last| {
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
        if is_last { out.flush() } else { Ok(()) }
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
        let sent = field.sent.as_deref().map_or("(absent)".to_owned(), visible);
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
    writeln!(out, "  preimage    {}", visible(&event.preimage))?;
    writeln!(out, "  key         {}{}", visible(&event.prefix), event.key)?;
    writeln!(out, "  content     {}", visible(&event.content))?;
    writeln!(out, "  digest      {}", event.digest)?;
    let time = event.event_time_micros.and_then(event_time);
    writeln!(out, "  event time  {}", time.as_deref().unwrap_or("(none)"))
}
