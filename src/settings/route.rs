//! A section `[[route]]`: what each key means, its default, and the rules within one route.
//! Must not be in here: rules between routes, or what only a cluster can tell.

use super::document::Section;
use super::fault::Fault;
use super::load::millis;
use super::model::{Arrival, BatchSettings, RouteSettings, TopicRole, UNBOUNDED_FUTURE_MICROS};
use super::quantity::{duration_text, micros};
use super::recipe_file::{RecipeFileError, read_recipe};
use super::topic_name::{route_name_fault, topic_name_fault};
use crate::gate::ConflictPolicy;
use crate::identity::Recipe;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use toml::Spanned;

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 3600);
const NONE: Duration = Duration::ZERO;
/// Event times are counted in microseconds of 64 bits; 10,000 years are far within.
const EVENT_TIME_MAX: Duration = Duration::from_secs(10_000 * 365 * 24 * 3600);

const RETRY_HORIZON: Duration = DAY.saturating_mul(7);
const MAX_FUTURE: Duration = Duration::from_secs(3600);
/// A bare copy at 5,000 records a transaction ran at 0.4 of its speed at 20,000.
const BATCH_RECORDS: i64 = 20_000;
const BATCH_BYTES: u64 = 32 << 20;
const BATCH_WAIT: Duration = Duration::from_millis(50);
/// A dead process's partitions move after this, its open transaction ends soon after.
const TIMEOUT: Duration = Duration::from_secs(10);
const SHUTDOWN: Duration = Duration::from_secs(25);
const WORKERS_MAX: i64 = 64;
/// Half of the poll interval that consumers are given: a session cannot outlast it.
const TIMEOUTS: RangeInclusive<Duration> = SECOND..=Duration::from_secs(150);

/// A route with the places of the names that other routes must not have.
pub struct ReadRoute {
    /// The route, if it has no fault.
    pub settings: Option<RouteSettings>,
    /// Its name and where that stands.
    pub name: Option<Spanned<String>>,
    /// Its topics and where they are named (the route itself, for those that are not).
    pub topics: Vec<(TopicRole, Spanned<String>)>,
}

/// Reads a route; its faults are noted in the document.
pub fn read(mut section: Section<'_, '_>, group: &str, recipes_dir: &Path) -> ReadRoute {
    let name = name(&mut section);
    let route_name = name.as_ref().map_or("route", |name| name.get_ref()).to_owned();
    if name.is_some() {
        section.rename(format!("route `{route_name}`"));
    }
    let group_id = format!("{group}.{route_name}");
    let topics = topics(&mut section, &group_id);
    let recipe = recipe(&mut section, recipes_dir);
    let bounds = bounds(&mut section, recipe.as_deref());
    section.choice("partitioning", &[("by-source", ())]);
    let policies = ConflictPolicy::ALL.map(|policy| (policy.as_str(), policy));
    let conflict = section.choice("conflict", &policies).map(Spanned::into_inner);
    let timestamp = section.choice("timestamp", &[("raw", true), ("now", false)]);
    let keep_timestamp = timestamp.is_none_or(Spanned::into_inner);
    let workers = section.count("workers", 1..=WORKERS_MAX).unwrap_or(1);
    let batch = batch(section.section("batch"), &route_name);
    let timeouts = timeouts(section.section("timeouts"), &route_name);
    section.finish();
    let topic = |role| {
        let named = topics.iter().find(|(named, _)| *named == role);
        named.map(|(_, topic)| topic.get_ref().clone())
    };
    let settings = (|| {
        let (window_micros, future_micros_max, arrival) = bounds?;
        Some(RouteSettings {
            raw: topic(TopicRole::Raw)?,
            clean: topic(TopicRole::Clean)?,
            quarantine: topic(TopicRole::Quarantine)?,
            audit: topic(TopicRole::Audit)?,
            journal: topic(TopicRole::Journal)?,
            name: name.as_ref()?.get_ref().clone(),
            group_id,
            recipe: recipe?,
            window_micros,
            future_micros_max,
            conflict: conflict.unwrap_or_default(),
            arrival,
            keep_timestamp,
            workers: usize::try_from(workers).ok()?,
            batch: batch?,
            session_timeout_ms: timeouts.session_ms,
            transaction_timeout_ms: timeouts.transaction_ms,
            shutdown_ms: timeouts.shutdown_ms,
        })
    })();
    ReadRoute { settings, name, topics }
}

fn name(section: &mut Section<'_, '_>) -> Option<Spanned<String>> {
    let name = section.required_text("name")?;
    if let Some(fault) = route_name_fault(name.get_ref()) {
        let meant = "it becomes part of topics' names and of directories";
        section.document().fault(name.span(), format!("`name` of a route {fault}"), meant);
        return None;
    }
    Some(Spanned::new(name.span(), (*name.get_ref()).to_owned()))
}

fn topics(section: &mut Section<'_, '_>, group_id: &str) -> Vec<(TopicRole, Spanned<String>)> {
    let derived =
        |role: TopicRole, at: Range<usize>| Spanned::new(at, format!("{group_id}.{role}"));
    let mut topics = Vec::new();
    for role in [TopicRole::Raw, TopicRole::Clean, TopicRole::Quarantine, TopicRole::Audit] {
        let required = matches!(role, TopicRole::Raw | TopicRole::Clean);
        let key = role.as_str();
        let text = if required { section.required_text(key) } else { section.text(key) };
        match text {
            Some(text) => {
                topics.push((role, Spanned::new(text.span(), (*text.get_ref()).to_owned())));
            }
            None if required => {}
            None => topics.push((role, derived(role, section.span()))),
        }
    }
    topics.push((TopicRole::Journal, derived(TopicRole::Journal, section.span())));
    for (role, topic) in &topics {
        if let Some(fault) = topic_name_fault(topic.get_ref()) {
            let what = format!("the name of the {role} topic {fault}");
            section.document().fault(topic.span(), what, "Kafka would not take it");
        }
    }
    topics
}

fn recipe(section: &mut Section<'_, '_>, recipes_dir: &Path) -> Option<Arc<Recipe>> {
    let name = section.required_text("recipe")?;
    let (span, name) = (name.span(), name.into_inner());
    let document = section.document();
    match read_recipe(recipes_dir, name) {
        Ok(recipe) => return Some(Arc::new(recipe)),
        Err(RecipeFileError::NotAName) => {
            let what = "`recipe` is not the name of a recipe";
            let meant = "it is the name of a file in `recipes_dir`, without `.toml`";
            document.fault(span, what, meant);
        }
        Err(RecipeFileError::NotThere { meant }) => {
            document.fault(span, format!("there is no recipe `{name}`"), meant);
        }
        Err(RecipeFileError::Unreadable { file, error }) => {
            let (what, meant) = (format!("the recipe cannot be read: {error}"), String::new());
            document.fault_elsewhere(Fault { file, line: None, what, meant });
        }
        Err(RecipeFileError::Faulty(error)) => {
            let (what, meant) = (error.message, String::new());
            let (file, line) = (error.file, error.line);
            document.fault_elsewhere(Fault { file, line, what, meant });
        }
    }
    None
}

/// Window, `max_future` and arrival.
fn bounds(
    section: &mut Section<'_, '_>,
    recipe: Option<&Recipe>,
) -> Option<(Option<i64>, i64, Arrival)> {
    let window = section.duration("window", SECOND..=EVENT_TIME_MAX);
    let retry_horizon = section.duration("retry_horizon", NONE..=EVENT_TIME_MAX);
    let max_future = section.duration("max_future", NONE..=EVENT_TIME_MAX);
    let choices =
        [("log-append-time", Arrival::LogAppendTime), ("create-time", Arrival::CreateTime)];
    let arrival = section.choice("arrival", &choices);
    let document = section.document();
    let recipe = recipe?;
    if recipe.event_time_field().is_none() {
        let without = "the route's recipe has no event time";
        for (key, value) in [("window", &window), ("max_future", &max_future)] {
            if let Some(value) = value {
                let meant = "take it out, or name an event time among the recipe's fields";
                document.fault(value.span(), format!("`{key}` is set, but {without}"), meant);
            }
        }
    }
    let retries = retry_horizon.as_ref().map_or(RETRY_HORIZON, |horizon| *horizon.get_ref());
    let future = max_future.as_ref().map_or(MAX_FUTURE, |future| *future.get_ref());
    if let Some(window) = &window {
        let least = retries.saturating_add(future);
        if *window.get_ref() <= least {
            let what = "`window` is too short: an event that is delivered again could be too late";
            let meant = format!(
                "it must be longer than `retry_horizon` ({}) plus `max_future` ({})",
                duration_text(retries),
                duration_text(future)
            );
            document.fault(window.span(), what, meant);
        }
    } else if let Some(horizon) = &retry_horizon {
        let meant = "set `window`, or take it out: without a window nothing is forgotten";
        document.fault(horizon.span(), "`retry_horizon` is set, but no `window`", meant);
    }
    let future_micros_max = match (&window, &max_future) {
        (None, None) => UNBOUNDED_FUTURE_MICROS,
        _ => micros(future)?,
    };
    let window_micros = match window {
        None => None,
        Some(window) => Some(micros(window.into_inner())?),
    };
    let arrival = arrival.map_or(Arrival::LogAppendTime, Spanned::into_inner);
    Some((window_micros, future_micros_max, arrival))
}

fn batch(section: Option<Section<'_, '_>>, route: &str) -> Option<BatchSettings> {
    let (mut records, mut bytes, mut wait) = (BATCH_RECORDS, BATCH_BYTES, BATCH_WAIT);
    if let Some(mut section) = section {
        section.rename(format!("`batch` of route `{route}`"));
        records = section.count("records", 1..=1_000_000).unwrap_or(records);
        bytes = section.size("bytes", 1024..=1 << 30).unwrap_or(bytes);
        let waits = NONE..=Duration::from_secs(60);
        wait = section.duration("wait", waits).map_or(wait, Spanned::into_inner);
        section.finish();
    }
    Some(BatchSettings {
        records: usize::try_from(records).ok()?,
        bytes: usize::try_from(bytes).ok()?,
        wait_ms: millis(wait).into(),
    })
}

struct Timeouts {
    session_ms: u32,
    transaction_ms: u32,
    shutdown_ms: u64,
}

fn timeouts(section: Option<Section<'_, '_>>, route: &str) -> Timeouts {
    let (mut session, mut transaction, mut shutdown) = (TIMEOUT, TIMEOUT, SHUTDOWN);
    if let Some(mut section) = section {
        section.rename(format!("`timeouts` of route `{route}`"));
        session = section.duration("session", TIMEOUTS).map_or(session, Spanned::into_inner);
        transaction =
            section.duration("transaction", TIMEOUTS).map_or(transaction, Spanned::into_inner);
        let bounds = SECOND..=Duration::from_secs(600);
        shutdown = section.duration("shutdown", bounds).map_or(shutdown, Spanned::into_inner);
        section.finish();
    }
    Timeouts {
        session_ms: millis(session),
        transaction_ms: millis(transaction),
        shutdown_ms: millis(shutdown).into(),
    }
}
