//! Prometheus' text format, read as far as the tests need it.
//! Must not be in here: which metrics there are.

use std::collections::BTreeMap;

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Name, with the suffix of a histogram.
    pub name: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Value.
    pub value: f64,
}

impl Sample {
    /// A label's value, empty where there is none.
    pub fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }

    /// The label `partition`, where it is a number.
    pub fn partition(&self) -> Option<i32> {
        self.label("partition").parse().ok()
    }
}

/// Reads an exposition; `None` where a line is no sample. Label values must hold no quotes.
pub fn parse(text: &str) -> Option<Vec<Sample>> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(sample).collect()
}

fn sample(line: &str) -> Option<Sample> {
    let (series, value) = line.rsplit_once(' ')?;
    let (name, labels) = match series.split_once('{') {
        Some((name, rest)) => (name, rest.strip_suffix('}')?),
        None => (series, ""),
    };
    let mut of_series = BTreeMap::new();
    for pair in labels.split("\",").filter(|pair| !pair.is_empty()) {
        let (label, value) = pair.split_once("=\"")?;
        of_series.insert(label.to_owned(), value.trim_end_matches('"').to_owned());
    }
    Some(Sample { name: name.to_owned(), labels: of_series, value: value.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_name_labels_and_value() {
        let text = "# HELP a b\na_total{route=\"lab\",partition=\"3\"} 7\nready 1\n";
        let samples = parse(text).unwrap();
        assert_eq!(samples.len(), 2);
        assert_eq!((samples[0].label("route"), samples[0].partition()), ("lab", Some(3)));
        assert_eq!((samples[1].name.as_str(), samples[1].value), ("ready", 1.0));
        assert_eq!(parse("no number x"), None);
    }
}
