//! `oncegate normalize`: what a normalizer makes of values, for people who write a recipe.
//! Must not be in here: a rule of a normalizer.

use crate::cli::{NormalizeArgs, NormalizerOption, Outcome};
use crate::identity::{NotNormalized, normalize, normalizers};
use crate::settings::nearest;
use serde::Serialize;
use std::io::{self, Write};

/// The answer for one value.
#[derive(Serialize)]
#[serde(untagged)]
enum Answer<'a> {
    Value {
        value: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        flag: Option<&'static str>,
    },
    Rejected {
        rejected: &'static str,
        detail: &'static str,
    },
}

/// Prints an answer for each value.
pub fn normalize_values(args: &NormalizeArgs) -> Outcome {
    if normalizers().all(|name| name != args.name) {
        let all: Vec<&str> = normalizers().collect();
        let near = nearest(&args.name, all.iter().copied());
        let meant = near.map_or(".".to_owned(), |near| format!("; did you mean `{near}`?"));
        eprintln!("normalize: there is no such normalizer{meant} There are: {}", all.join(", "));
        return Outcome::Faulty;
    }
    let options: String = args.options.iter().map(|option| toml_line(option) + "\n").collect();
    let mut out = io::stdout().lock();
    for value in &args.values {
        let result = normalize(&args.name, &options, value, args.number);
        let answer = match &result {
            Ok(normalized) => Answer::Value { value: &normalized.value, flag: normalized.flag },
            Err(NotNormalized::Refused(fault)) => {
                Answer::Rejected { rejected: fault.reason().as_str(), detail: fault.rule() }
            }
            Err(NotNormalized::Options(error)) => {
                eprintln!("normalize: {}", error.message);
                return Outcome::Faulty;
            }
        };
        // Texts and constants always make JSON.
        let line = serde_json::to_string(&answer).unwrap_or_default();
        if writeln!(out, "{line}").is_err() {
            break;
        }
    }
    Outcome::Fine
}

/// An option as a line of a recipe. A value that is no number, truth value, list or table of TOML
/// is a text, so that nobody has to quote twice.
fn toml_line(option: &NormalizerOption) -> String {
    let NormalizerOption { name, value } = option;
    let line = format!("{name} = {value}");
    let parsed = line.parse::<toml::Table>().ok();
    let parsed = parsed.as_ref().and_then(|table| table.get(name.as_str()));
    match parsed {
        None | Some(toml::Value::Datetime(_) | toml::Value::Float(_)) => {
            format!("{name} = {}", toml::Value::String(value.clone()))
        }
        Some(_) => line,
    }
}
