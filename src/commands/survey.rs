//! `oncegate survey`: what a topic holds, by a recipe, before anything runs.
//! Must not be in here: a count.

use super::evidence::with_source;
use super::load;
use crate::cli::{Outcome, SurveyArgs};
use crate::evidence::survey::survey as prove;
use crate::identity::Recipe;
use crate::settings::{ClientProperties, Overrides};
use std::path::PathBuf;
use std::sync::Arc;

/// Named in the requests of the survey's readers; never joined, and nothing is committed.
const GROUP: &str = "oncegate-survey";

/// Surveys and prints.
pub fn survey(args: &SurveyArgs) -> Outcome {
    let bootstrap = args.bootstrap.clone().filter(|servers| !servers.is_empty());
    let properties = match (&args.config, &bootstrap) {
        (Some(config), _) => {
            let overrides = Overrides { bootstrap, ..Overrides::default() };
            match load(config, &overrides) {
                Ok(settings) => settings.kafka,
                Err(outcome) => return outcome,
            }
        }
        (None, Some(servers)) => {
            let mut properties = ClientProperties::default();
            properties.set("bootstrap.servers", servers, None);
            properties
        }
        (None, None) => {
            eprintln!(
                "survey: name the brokers with --bootstrap, or a configuration with --config"
            );
            return Outcome::Faulty;
        }
    };
    let recipe = match recipe(args) {
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

/// The recipe: a file, or a name in the folder of recipes.
fn recipe(args: &SurveyArgs) -> Result<Recipe, String> {
    let path = match args.recipe.ends_with(".toml") {
        true => PathBuf::from(&args.recipe),
        false => {
            let beside = args.config.as_ref().and_then(|config| config.parent());
            let default = beside.map_or("config/recipes".into(), |dir| dir.join("recipes"));
            let folder = args.recipes.clone().unwrap_or(default);
            folder.join(format!("{}.toml", args.recipe))
        }
    };
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("recipe {} cannot be read: {error}", path.display()))?;
    Recipe::parse(&path.display().to_string(), &text).map_err(|error| error.to_string())
}
