//! `${VAR}` in the values of `[kafka]`: secrets come from the environment, not from the file.
//! Must not be in here: printing a value.

use std::ffi::OsString;

/// Why a value could not be completed. Names variables, never values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpansionFault {
    /// The variable is not set.
    Missing(String),
    /// The variable is set to something that is not UTF-8.
    NotText(String),
    /// `${` without a variable's name and `}`.
    Malformed,
}

/// Replaces each `${VAR}` by what `lookup` gives; `$${` stands for the text `${`.
pub fn expand(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<OsString>,
) -> Result<String, ExpansionFault> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if let Some(before) = rest[..at].strip_suffix('$') {
            expanded.push_str(before);
            expanded.push_str("${");
            rest = &rest[at + 2..];
            continue;
        }
        expanded.push_str(&rest[..at]);
        let (name, after) = rest[at + 2..].split_once('}').ok_or(ExpansionFault::Malformed)?;
        if !is_variable_name(name) {
            return Err(ExpansionFault::Malformed);
        }
        let value = lookup(name).ok_or_else(|| ExpansionFault::Missing(name.to_owned()))?;
        let value = value.into_string().map_err(|_| ExpansionFault::NotText(name.to_owned()))?;
        expanded.push_str(&value);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn is_variable_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_once() {
        let lookup = |name: &str| (name == "USER").then(|| OsString::from("a${USER}b"));
        assert_eq!(expand("x${USER}y", &lookup), Ok("xa${USER}by".into()));
        assert_eq!(expand("$${USER} $5", &lookup), Ok("${USER} $5".into()));
        assert_eq!(expand("${PASS}", &lookup), Err(ExpansionFault::Missing("PASS".into())));
        assert_eq!(expand("${", &lookup), Err(ExpansionFault::Malformed));
        assert_eq!(expand("${a b}", &lookup), Err(ExpansionFault::Malformed));
    }
}
