//! A recipe's file, found by the recipe's name in a folder.
//! Must not be in here: what a recipe means, or which recipe a route has.

use super::suggest::did_you_mean;
use super::topic_name::topic_name_fault;
use crate::identity::{Recipe, RecipeError};
use std::path::Path;

/// Why there is no recipe of a name.
#[derive(Debug)]
pub enum RecipeFileError {
    /// It is no name of a file below the folder.
    NotAName,
    /// There is no such file.
    NotThere {
        /// What was meant, or the file that is not there.
        meant: String,
    },
    /// The file cannot be read.
    Unreadable {
        /// The file.
        file: String,
        /// The system's words.
        error: std::io::Error,
    },
    /// The recipe has a mistake.
    Faulty(RecipeError),
}

impl std::fmt::Display for RecipeFileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RecipeFileError::NotAName => f.write_str(NOT_A_NAME),
            RecipeFileError::NotThere { meant } => write!(f, "there is no such recipe; {meant}"),
            RecipeFileError::Unreadable { file, error } => {
                write!(f, "{file}: the recipe cannot be read: {error}")
            }
            RecipeFileError::Faulty(error) => error.fmt(f),
        }
    }
}

const NOT_A_NAME: &str =
    "a recipe's name is the name of a file in the folder of recipes, without `.toml`";

/// Reads the recipe `name` from `<dir>/<name>.toml`. A name may have parts, as
/// `reference/lab-result`.
///
/// # Errors
/// [`RecipeFileError`].
pub fn read_recipe(dir: &Path, name: &str) -> Result<Recipe, RecipeFileError> {
    if name.split('/').any(|part| topic_name_fault(part).is_some()) {
        return Err(RecipeFileError::NotAName);
    }
    let path = dir.join(format!("{name}.toml"));
    let file = path.display().to_string();
    match std::fs::read_to_string(&path) {
        Ok(text) => Recipe::parse(&file, &text).map_err(RecipeFileError::Faulty),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let meant = did_you_mean(name, recipes_in(dir).iter().map(String::as_str));
            let meant = meant.unwrap_or_else(|| format!("{file} is not there"));
            Err(RecipeFileError::NotThere { meant })
        }
        Err(error) => Err(RecipeFileError::Unreadable { file, error }),
    }
}

/// Names of the recipes in a folder and the folders in it.
fn recipes_in(dir: &Path) -> Vec<String> {
    let names = |dir: &Path| -> Vec<(String, bool)> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                Some((entry.file_name().to_str()?.to_owned(), entry.path().is_dir()))
            })
            .collect()
    };
    let mut found = Vec::new();
    for (name, folder) in names(dir) {
        if folder {
            let inner = names(&dir.join(&name)).into_iter().filter(|(_, folder)| !folder);
            found.extend(inner.map(|(inner, _)| format!("{name}/{inner}")));
        } else {
            found.push(name);
        }
    }
    found.iter().filter_map(|name| Some(name.strip_suffix(".toml")?.to_owned())).collect()
}
