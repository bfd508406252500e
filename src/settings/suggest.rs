//! Near misses: which known name a wrong one was probably meant to be.
//! Must not be in here: a guess that is acted upon; it is only ever said.

/// Names that are less alike than this are not suggested.
const LIKENESS_MIN: f64 = 0.75;

/// The known name that is most like `name`, if one is alike enough.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let plain = plain(name);
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&plain, &self::plain(candidate)), candidate))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// Case and the kind of separator are not what people mean to differ in.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '.' }).collect()
}

/// "did you mean `x`?", or nothing.
pub fn did_you_mean<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    nearest(name, known).map(|candidate| format!("did you mean `{candidate}`?"))
}

/// "a, b or c".
pub fn list_of<'k>(names: impl IntoIterator<Item = &'k str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.split_last() {
        None => "nothing".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_found_and_far_ones_are_not() {
        let known = ["retry_horizon", "recipe", "raw", "window"];
        assert_eq!(nearest("retry-horizont", known), Some("retry_horizon"));
        assert_eq!(nearest("Window", known), Some("window"));
        assert_eq!(nearest("recipie", known), Some("recipe"));
        assert_eq!(nearest("zookeeper", known), None);
        assert_eq!(list_of(["a", "b", "c"]), "`a`, `b` or `c`");
        assert_eq!(list_of(["a"]), "`a`");
    }
}
