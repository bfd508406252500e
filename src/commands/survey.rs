//! `oncegate survey`: what a topic holds, by a recipe, before anything runs.
//! Must not be in here: a count.

use super::evidence::with_source;
use super::{load, recipe_named};
use crate::cli::{Outcome, SurveyArgs};
use crate::evidence::survey::survey as prove;
use crate::settings::{ClientProperties, Overrides};
use std::sync::Arc;

/// Named in the requests of the survey's readers; never joined, and nothing is committed.
const GROUP: &str = "oncegate-survey";

/// Surveys and prints.
pub fn survey(args: &SurveyArgs) -> Outcome {
    let bootstrap = args.bootstrap.clone().filter(|servers| !servers.is_empty());
    let properties = match (&args.config[..], &bootstrap) {
        ([_, ..], _) => {
            let overrides = Overrides { bootstrap, ..Overrides::default() };
            match load(&args.config, &overrides) {
                Ok(settings) => settings.kafka,
                Err(outcome) => return outcome,
            }
        }
        ([], Some(servers)) => {
            let mut properties = ClientProperties::default();
            properties.set("bootstrap.servers", servers, None);
            properties
        }
        ([], None) => {
            eprintln!(
                "survey: name the brokers with --bootstrap, or a configuration with --config"
            );
            return Outcome::Faulty;
        }
    };
    let recipe = match recipe_named(&args.recipe, args.recipes.as_deref()) {
        Ok(recipe) => Arc::new(recipe),
        Err(why) => {
            eprintln!("survey: {why}");
            return Outcome::Faulty;
        }
    };
    let temp_dir = args.evidence.temp_dir();
    with_source(
        "survey",
        &args.evidence,
        &properties,
        GROUP,
        |source| prove(source, &args.topic, &recipe, &temp_dir),
        |_| true,
    )
}
