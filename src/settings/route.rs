//! A section `[[route]]`: from its keys to a route, and the rules within one route.
//! Must not be in here: rules between routes, or what only a cluster can tell.

use super::catalogue;
use super::fault::Fault;
use super::load::millis;
use super::model::{Arrival, BatchSettings, RouteSettings, TopicRole, UNBOUNDED_FUTURE_MICROS};
use super::quantity::{duration_text, micros};
use super::recipe_file::{RecipeFileError, read_recipe};
use super::section::Section;
use super::topic_name::{route_name_fault, topic_name_fault};
use crate::identity::Recipe;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use toml::Spanned;

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
    catalogue::PARTITIONING.read(&mut section);
    let conflict = catalogue::CONFLICT.read(&mut section);
    let keep_timestamp = catalogue::TIMESTAMP.read(&mut section);
    let workers = catalogue::WORKERS.read(Some(&mut section));
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
            conflict,
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
    let name = section.required_text(catalogue::NAME.key)?;
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
    let name = section.required_text(catalogue::RECIPE.key)?;
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
    let window = catalogue::WINDOW.given(section);
    let retry_horizon = catalogue::RETRY_HORIZON.given(section);
    let max_future = catalogue::MAX_FUTURE.given(section);
    let arrival = catalogue::ARRIVAL.read(section);
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
    let or = |given: &Option<Spanned<Duration>>, default| {
        given.as_ref().map_or(default, |given| *given.get_ref())
    };
    let retries = or(&retry_horizon, catalogue::RETRY_HORIZON.default);
    let future = or(&max_future, catalogue::MAX_FUTURE.default);
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
    Some((window_micros, future_micros_max, arrival))
}

fn batch(mut section: Option<Section<'_, '_>>, route: &str) -> Option<BatchSettings> {
    if let Some(section) = &mut section {
        section.rename(format!("`batch` of route `{route}`"));
    }
    let batch = BatchSettings {
        records: usize::try_from(catalogue::BATCH_RECORDS.read(section.as_mut())).ok()?,
        bytes: usize::try_from(catalogue::BATCH_BYTES.read(section.as_mut())).ok()?,
        wait_ms: millis(catalogue::BATCH_WAIT.read(section.as_mut())).into(),
    };
    if let Some(section) = section {
        section.finish();
    }
    Some(batch)
}

struct Timeouts {
    session_ms: u32,
    transaction_ms: u32,
    shutdown_ms: u64,
}

fn timeouts(mut section: Option<Section<'_, '_>>, route: &str) -> Timeouts {
    if let Some(section) = &mut section {
        section.rename(format!("`timeouts` of route `{route}`"));
    }
    let timeouts = Timeouts {
        session_ms: millis(catalogue::SESSION.read(section.as_mut())),
        transaction_ms: millis(catalogue::TRANSACTION.read(section.as_mut())),
        shutdown_ms: millis(catalogue::SHUTDOWN.read(section.as_mut())).into(),
    };
    if let Some(section) = section {
        section.finish();
    }
    timeouts
}
