//! One normalizer tried on one value, as `oncegate normalize` does.
//!
//! For people who write a recipe; no record is read here.

use super::{Input, Output};
use crate::identity::json::is_number;
use crate::identity::recipe::{RecipeError, normalizer_from_options, normalizer_names};
use crate::identity::reject::{Fault, Reason, fault};

/// What a normalizer makes of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Normalized {
    /// The one text for all spellings of the value.
    pub value: String,
    /// What a person should know about the value although it is accepted.
    pub flag: Option<&'static str>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotNormalized {
    /// The name or the options make no normalizer.
    Options(RecipeError),
    /// The value is refused.
    Refused(Fault),
}

/// Tries a normalizer on a value.
///
/// `options` is TOML as in a field of a recipe (`scale = 3`). Where a recipe would have to say
/// something, what the strict recipes say is taken: three decimals, the vocabulary of business
/// steps, their table of units. The value is taken as a JSON
/// string; `number` says that it is a JSON number, and what is none is refused.
///
/// ```
/// use oncegate::identity::normalize;
///
/// let value = normalize("ndc", "", "0093-0058-01", false).unwrap();
/// assert_eq!(value.value, "00093005801");
/// ```
///
/// # Errors
///
/// No such normalizer or option, or a value that is refused.
pub fn normalize(
    name: &str,
    options: &str,
    value: &str,
    number: bool,
) -> Result<Normalized, NotNormalized> {
    let normalizer = normalizer_from_options(name, options).map_err(NotNormalized::Options)?;
    if number && !is_number(value.as_bytes()) {
        const RULE: &str = "a number in the form of JSON is due, without leading zeros and blanks";
        return Err(NotNormalized::Refused(fault!(Reason::NotNumber, RULE)));
    }
    let input =
        if number { Input::Number(value.as_bytes()) } else { Input::Text(value.as_bytes()) };
    let mut output = Output::default();
    normalizer.apply(input, &mut output).map_err(NotNormalized::Refused)?;
    // Normalizers write UTF-8 only, so nothing is lost here.
    let value = String::from_utf8_lossy(&output.bytes).into_owned();
    Ok(Normalized { value, flag: output.flag })
}

/// The names of all normalizers.
pub fn normalizers() -> impl Iterator<Item = &'static str> {
    normalizer_names()
}
