//! What may be said to `key` and `normalize`.
//! Must not be in here: what a command does.

use clap::Args;
use std::path::PathBuf;

/// Arguments of `key`.
#[derive(Args, Clone, Debug)]
pub struct KeyArgs {
    /// Name of the recipe.
    #[arg(long, value_name = "NAME")]
    pub recipe: String,
    /// A folder with recipes of one's own, in place of those that come with oncegate.
    #[arg(long, value_name = "DIR")]
    pub recipes: Option<PathBuf>,
    /// Show, for people, each field as sent and as normalized, the preimage and the key.
    #[arg(long)]
    pub explain: bool,
    /// Documents, one a line; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-")]
    pub file: PathBuf,
}

/// Arguments of `normalize`.
#[derive(Args, Clone, Debug)]
pub struct NormalizeArgs {
    /// Name of the normalizer.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// An option as in a recipe, such as `scale=2` or `precision=seconds`.
    #[arg(long = "option", value_name = "KEY=VALUE", value_parser = normalizer_option)]
    pub options: Vec<NormalizerOption>,
    /// Take the values as JSON numbers; otherwise they are texts.
    #[arg(long)]
    pub number: bool,
    /// The values.
    #[arg(value_name = "VALUE", required = true, allow_hyphen_values = true)]
    pub values: Vec<String>,
}

/// An option of a normalizer.
#[derive(Clone, Debug)]
pub struct NormalizerOption {
    /// Its name in a recipe.
    pub name: String,
    /// Its value: TOML, or a text without quotes.
    pub value: String,
}

fn normalizer_option(text: &str) -> Result<NormalizerOption, String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => {
            Ok(NormalizerOption { name: name.trim().to_owned(), value: value.to_owned() })
        }
        _ => Err("it is written NAME=VALUE".to_owned()),
    }
}
