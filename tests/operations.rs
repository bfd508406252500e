//! What an operations team is given, held together: alert rules, their tests, their runbook, the
//! dashboard, and the table of metrics.
//! Must not be in here: what promtool or a Prometheus judges (`make test-ops`).

use std::collections::{BTreeMap, BTreeSet};

fn text(name: &str) -> String {
    let path = format!("{}/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Without comments, which may speak of metrics that were left out.
fn yaml(name: &str) -> String {
    let text = text(name);
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Each alert with the text of its rule.
fn alerts() -> BTreeMap<String, String> {
    let rules = yaml("config/prometheus/alerts.yml");
    let parts = rules.split("- alert: ").skip(1);
    let alerts: BTreeMap<String, String> = parts
        .map(|part| {
            let (name, rule) = part.split_once('\n').expect("a rule behind its name");
            (name.trim().to_owned(), rule.to_owned())
        })
        .collect();
    assert!(alerts.len() > 10, "{alerts:?}");
    alerts
}

/// The words of a text that are names of metrics: `oncegate_...` and `process_...`.
fn metrics(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with("oncegate_") || word.starts_with("process_"))
        .map(str::to_owned)
        .collect()
}

/// The names in the table of `docs/metrics.md`, each with the names of its series.
fn documented() -> BTreeMap<String, Vec<String>> {
    let text = text("docs/metrics.md");
    let rows = text.lines().filter(|line| line.starts_with("| `oncegate_"));
    let documented: BTreeMap<String, Vec<String>> = rows
        .map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let name = cells[0].trim_matches('`');
            let suffixes: &[&str] =
                if cells[1] == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            let series = suffixes.iter().map(|suffix| format!("{name}{suffix}")).collect();
            (name.to_owned(), series)
        })
        .collect();
    assert!(documented.len() > 10, "{documented:?}");
    documented
}

/// Metrics of the client library, the same for every process.
const OF_PROCESS: [&str; 5] = [
    "process_start_time_seconds",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_open_fds",
    "process_max_fds",
];

#[test]
fn every_alert_has_its_runbook_and_every_runbook_its_alert() {
    let operations = text("docs/operations.md");
    let (_, behind) = operations.split_once("\n## Alerts\n").expect("a section Alerts");
    let section = behind.split("\n## ").next().expect("a section");
    let headings: BTreeSet<String> =
        section.lines().filter_map(|line| line.strip_prefix("### ")).map(str::to_owned).collect();
    let alerts = alerts();
    assert_eq!(headings, alerts.keys().cloned().collect());
    for (name, rule) in &alerts {
        let anchor = format!("docs/operations.md#{}", name.to_ascii_lowercase());
        let url = rule.lines().find_map(|line| line.trim().strip_prefix("runbook_url: "));
        assert_eq!(url, Some(anchor.as_str()), "{name}");
        for part in ["for: ", "severity: ", "summary: ", "description: "] {
            assert!(rule.contains(part), "{name} has no {part}");
        }
        let severity = rule.lines().find_map(|line| line.trim().strip_prefix("severity: "));
        assert!(matches!(severity, Some("critical" | "warning")), "{name}: {severity:?}");
    }
}

/// The names in the tests; whether they are right is promtool's to say.
#[test]
fn every_alert_fires_in_a_test_and_is_quiet_on_an_ordinary_day() {
    let tests = yaml("config/prometheus/alerts_test.yml");
    let mut groups = tests.split("\n  - name: ");
    let ordinary = groups
        .by_ref()
        .find(|group| group.starts_with("an ordinary day\n"))
        .expect("the test of an ordinary day");
    assert!(!ordinary.contains("alertname"), "nothing fires on an ordinary day");
    let seen = metrics(ordinary);
    let others: String = groups.collect();
    for (name, rule) in alerts() {
        let fires = format!("ALERTS{{alertname=\"{name}\",alertstate=\"firing\"");
        assert!(others.contains(&fires), "no test has {name} fire");
        let unseen: Vec<String> = metrics(&rule).difference(&seen).cloned().collect();
        assert!(unseen.is_empty(), "{name} reads {unseen:?}, which an ordinary day lacks");
    }
}

#[test]
fn alerts_and_dashboard_ask_for_metrics_that_there_are() {
    let mut there: BTreeSet<String> = documented().into_values().flatten().collect();
    there.extend(OF_PROCESS.map(str::to_owned));
    let asked = [
        ("the alerts", yaml("config/prometheus/alerts.yml")),
        ("their tests", yaml("config/prometheus/alerts_test.yml")),
        ("the dashboard", text("config/grafana/dashboards/oncegate.json")),
    ];
    for (who, text) in asked {
        let unknown: Vec<String> = metrics(&text).difference(&there).cloned().collect();
        assert!(unknown.is_empty(), "{who}: docs/metrics.md has no {unknown:?}");
    }
}

/// A metric that nobody looks at is one that nobody misses when it breaks.
#[test]
fn the_dashboard_shows_every_metric() {
    let shown = metrics(&text("config/grafana/dashboards/oncegate.json"));
    let hidden: Vec<String> = (documented().into_iter())
        .filter(|(_, series)| !series.iter().any(|name| shown.contains(name)))
        .map(|(name, _)| name)
        .collect();
    assert!(hidden.is_empty(), "no panel shows {hidden:?}");
}
