//! Where log lines go: to standard error, one line an event, for people or as JSON.
//! Must not be in here: a payload, an identity value or a secret.

use super::repeats::{LeftOut, LineId, Repeats, SPAN};
use clap::ValueEnum;
use std::fmt::{self, Write as _};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::IsTerminal;
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Instant;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter, format};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{EnvFilter, Registry};

/// How a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    // An empty variable is one that is not set.
    #[value(alias = "")]
    Human,
    /// One JSON object a line.
    Json,
}

/// Levels that are counted, and how many lines came at each.
const COUNTED: [(Level, &str); 2] = [(Level::WARN, "warn"), (Level::ERROR, "error")];
static LINES: [AtomicU64; COUNTED.len()] = [AtomicU64::new(0), AtomicU64::new(0)];

/// A line, as far as it is told again of those that were left out.
#[derive(Clone, Debug)]
struct Said {
    level: Level,
    target: &'static str,
    message: String,
}

/// Of the process, as its log is.
static REPEATS: LazyLock<Mutex<Repeats<Said>>> = LazyLock::new(Mutex::default);

/// Starts logging, at `info` unless `RUST_LOG` says otherwise; panics go through it as well.
pub fn start(log_format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let ansi = std::io::stderr().is_terminal();
    let layers = subscriber(log_format, filter, std::io::stderr, ansi);
    // It fails only where logging was started before, which goes on then.
    let _ = tracing::subscriber::set_global_default(layers);
    std::panic::set_hook(Box::new(log_panic));
}

/// What takes the lines: counts them, leaves repetitions out, writes the rest.
pub fn subscriber<W>(
    log_format: LogFormat,
    filter: EnvFilter,
    writer: W,
    ansi: bool,
) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let counted = Registry::default().with(filter).with(CountLines);
    let lines = tracing_subscriber::fmt::layer().with_writer(writer);
    match log_format {
        LogFormat::Human => {
            let lines = lines.with_ansi(ansi).event_format(Bounded(format()));
            Box::new(counted.with(lines))
        }
        LogFormat::Json => {
            // The fields stand beside level and message, under their own names.
            let written = format().json().flatten_event(true);
            let written = written.with_current_span(false).with_span_list(false);
            let lines = lines.fmt_fields(format::JsonFields::new()).event_format(Bounded(written));
            Box::new(counted.with(lines))
        }
    }
}

/// Lines so far by level, those among them that were left out.
pub fn lines() -> impl Iterator<Item = (&'static str, u64)> {
    COUNTED.iter().zip(&LINES).map(|((_, name), count)| (*name, count.load(Ordering::Relaxed)))
}

/// Says how many repetitions were left out in the minutes that have ended.
pub fn tell_left_out() {
    tell_left_out_until(Instant::now());
}

/// Says the same of the minute that has not ended: nothing comes any more.
pub fn end() {
    tell_left_out_until(Instant::now() + SPAN);
}

fn tell_left_out_until(now: Instant) {
    // Taken out first: what is said here comes back to the same lock.
    let all = REPEATS.lock().unwrap_or_else(PoisonError::into_inner).left_out(now);
    for LeftOut { line, count } in all {
        let (of, is_grave, line) = (line.target, line.level <= Level::WARN, line.message);
        // As loud as the line itself, for who listens to warnings alone.
        match is_grave {
            true => tracing::warn!(left_out = count, of, line, "repetitions were left out"),
            false => tracing::info!(left_out = count, of, line, "repetitions were left out"),
        }
    }
}

/// Counts warnings and errors.
struct CountLines;

impl<S: Subscriber> Layer<S> for CountLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = event.metadata().level();
        if let Some(at) = COUNTED.iter().position(|(counted, _)| counted == level) {
            LINES[at].fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes what another format writes, but for repetitions.
struct Bounded<F>(F);

impl<S, N, F> FormatEvent<S, N> for Bounded<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        match passes(event) {
            true => self.0.format_event(context, writer, event),
            // Nothing is written.
            false => Ok(()),
        }
    }
}

/// Who asks for debug lines wants them all; what is told of others is bounded by them.
fn passes(event: &Event<'_>) -> bool {
    let metadata = event.metadata();
    if *metadata.level() > Level::INFO || metadata.target() == module_path!() {
        return true;
    }
    let mut read = ReadLine { hasher: DefaultHasher::new(), message: String::new() };
    event.record(&mut read);
    // Metadata is static: its address is the place.
    let id = LineId { place: std::ptr::from_ref(metadata) as usize, said: read.hasher.finish() };
    let said = || Said {
        level: *metadata.level(),
        target: metadata.target(),
        message: read.message.clone(),
    };
    let mut repeats = REPEATS.lock().unwrap_or_else(PoisonError::into_inner);
    repeats.passes(id, Instant::now(), said)
}

/// Reads message and fields.
struct ReadLine {
    hasher: DefaultHasher,
    message: String,
}

impl Visit for ReadLine {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = String::new();
        // Writing to a text fails only where the value's own format does.
        let _ = write!(text, "{value:?}");
        field.name().hash(&mut self.hasher);
        if field.name() == "message" {
            let digits = |c: &char| !c.is_ascii_digit();
            text.chars().filter(digits).for_each(|c| c.hash(&mut self.hasher));
            self.message = text;
        } else {
            text.hash(&mut self.hasher);
        }
    }
}

fn log_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let message = panic.payload_as_str().map_or_else(|| "no message".to_owned(), unquoted);
    let thread = std::thread::current();
    tracing::error!(place, thread = thread.name().unwrap_or_default(), "panic: {message}");
}

/// What a panic quotes may be a value of an event: from the first quotation mark to the last it
/// is left out, and what stands behind `value: `. The place says the rest.
fn unquoted(message: &str) -> String {
    const MARKS: [char; 3] = ['"', '\'', '`'];
    let message = message.split_once("value: ").map_or(message, |(before, _)| before);
    match (message.find(MARKS), message.rfind(MARKS)) {
        (Some(from), Some(to)) => format!("{}...{}", &message[..from], &message[to + 1..]),
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// A log that is kept.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// What is written while `act` runs.
    fn written(log_format: LogFormat, act: impl FnOnce()) -> String {
        let kept = Kept::default();
        let writer = kept.clone();
        let layers = subscriber(log_format, EnvFilter::new("info"), move || writer.clone(), false);
        tracing::subscriber::with_default(layers, act);
        let bytes = kept.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn json_is_one_object_a_line_with_fields_under_their_names() {
        let text = written(LogFormat::Json, || {
            tracing::warn!(route = "lab", partition = 3, cause = "journal-cut", "refused: a\nb");
            tracing::debug!("not asked for");
        });
        assert_eq!(text.lines().count(), 1, "{text}");
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((line["level"].as_str(), line["route"].as_str()), (Some("WARN"), Some("lab")));
        assert_eq!((line["partition"].as_i64(), &line["cause"]), (Some(3), &"journal-cut".into()));
        assert_eq!(line["message"], "refused: a\nb");
        assert!(line["timestamp"].is_string() && line["target"].is_string(), "{line}");
    }

    #[test]
    fn a_line_for_people_has_fields_too() {
        let text = written(LogFormat::Human, || tracing::info!(route = "lab", "taken over"));
        assert!(text.contains("INFO") && text.contains("taken over route=\"lab\""), "{text}");
    }

    #[test]
    fn repetitions_are_left_out_but_counted() {
        let count = || lines().find(|(name, _)| *name == "warn").unwrap().1;
        let before = count();
        let text = written(LogFormat::Human, || {
            for nth in 0..100 {
                tracing::warn!(route = "repeats", "connect failed (after {nth}ms)");
                tracing::warn!(route = "repeats", nth, "another");
            }
        });
        assert_eq!(text.matches("connect failed").count(), 10, "{text}");
        assert_eq!(text.matches("another").count(), 100, "each has a field of its own");
        assert!(count() >= before + 200, "what is left out is counted");
        let later = Instant::now() + std::time::Duration::from_secs(61);
        let told = REPEATS.lock().unwrap().left_out(later);
        let ours = told.iter().find(|of| of.line.message.starts_with("connect")).unwrap();
        assert_eq!((ours.count, ours.line.level), (90, Level::WARN));
    }

    #[test]
    fn a_panic_is_told_without_what_it_quotes() {
        for (message, told) in [
            ("index out of bounds: the len is 3", "index out of bounds: the len is 3"),
            (
                "byte index 1 is not a char boundary; it is inside 'é' of `éJANE`",
                "byte index 1 is not a char boundary; it is inside ...",
            ),
            ("called `Result::unwrap()` on an `Err` value: \"JANE\"", "called ... "),
            ("called `f()` on an `Err` value: Doc(JANE)", "called ... "),
        ] {
            assert_eq!(unquoted(message), told);
        }
    }
}
