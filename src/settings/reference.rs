//! The page docs/configuration.md, made from the lists that the reader itself goes by.
//! Must not be in here: a default, a bound or a reason; they stand in the lists.

use super::catalogue::{ALL, OVERRIDES};
use super::property_lists::{
    ALIASES, FOR_ALL, FOR_CONSUMERS, FOR_PRODUCERS, MOCK, REFUSED, is_shown,
};
use super::setting::{Row, RowDefault};
use crate::kafka::config::{CONSUMER_DEFAULTS, PRODUCER_DEFAULTS};

const HEAD: &str = r#"<!-- Made by `oncegate config reference > docs/configuration.md`; a test compares. -->
# Configuration

One TOML file, or several that make one configuration: `--config` names a file or a directory and may
be given more than once. Of a directory every `*.toml` is read, in the order of the names. Tables are
laid together, `[[route]]` of a later file come after those of an earlier one, and a setting that two
files have is a fault that names both places. A relative path begins at the file that names it.

A configuration is read whole or refused whole: every fault is told in one run with its file, its line
and what was meant, and the exit status is 2. `oncegate config show` prints the configuration that
holds, with defaults filled in and the place of each setting that is not a default; secrets are
hidden. [config/oncegate.toml](../config/oncegate.toml) is an example.

A duration has a unit, as `"50ms"`, `"10s"`, `"1h 30m"`, `"30d"`; so has a size, as `"64kB"` (1000),
`"512MiB"` (1024 x 1024).

## Secrets

A value in `[kafka]` may hold references, which are replaced when the configuration is read:

| written | stands for |
| --- | --- |
| `${NAME}` | the environment variable NAME; one that is not set is a fault |
| `${file:/run/secrets/password}` | the content of a file (UTF-8, at most 1 MiB) without the end of its last line; one that is missing, unreadable or empty is a fault. A relative path begins at the configuration file |
| `$${` | the text `${` |

Values are never part of a message, a log line or `config show`, but for the properties that are
marked below with "shown".
"#;

const OVERRIDE: &str = "
## Command line and environment

These take the place of what the files say. `oncegate help COMMAND` tells all options of a command.

| in place of | option | environment variable | commands |
| --- | --- | --- | --- |
";

const OTHER_VARIABLES: &str = "
`RUST_LOG` sets what is logged, as `info` (without it) or `info,oncegate=debug`;
`ONCEGATE_LOG_FORMAT`, or `--log-format` of `run`, sets how: `human` (without it) or `json`. Other variables are
read only where a value in `[kafka]` names them.
";

const KAFKA: &str = "
## [kafka]

Properties of librdkafka ([its list](https://github.com/confluentinc/librdkafka/blob/v2.12.1/CONFIGURATION.md))
for every client. They pass through, each to the clients that understand it; one that would break a
promise, or that oncegate makes itself, is refused by name. TLS, SASL and rights:
[security.md](security.md).
";

/// Writes the page.
pub fn reference() -> String {
    let mut page = HEAD.to_owned();
    for (section, heading) in [
        ("", "Outside of any section"),
        ("http", "[http]"),
        ("store", "[store]"),
        ("route", "[[route]]"),
        ("route.batch", "[route.batch]"),
        ("route.timeouts", "[route.timeouts]"),
    ] {
        page.push_str(&format!("\n## {heading}\n\n"));
        settings(&mut page, section);
    }
    page.push_str(KAFKA);
    page.push('\n');
    settings(&mut page, "kafka");
    properties(&mut page);
    page.push_str(OVERRIDE);
    for (setting, option, variable, commands) in OVERRIDES {
        let variable = variable.map_or_else(String::new, |name| format!("`{name}`"));
        page.push_str(&format!("| `{setting}` | `{option}` | {variable} | {commands} |\n"));
    }
    page.push_str(OTHER_VARIABLES);
    page
}

fn settings(page: &mut String, section: &str) {
    page.push_str("| key | type | default | may be | meaning |\n| --- | --- | --- | --- | --- |\n");
    for row in ALL.iter().map(|setting| setting.row()).filter(|row| row.section == section) {
        let Row { key, kind, default, only_with, range, meaning, .. } = row;
        let default = match default {
            RowDefault::Required => "must be set".to_owned(),
            RowDefault::Value(value) => format!("`{value}`"),
            RowDefault::Made(how) => how.to_owned(),
            RowDefault::Absent(then) => format!("none: {then}"),
        };
        let with = only_with.map_or_else(String::new, |other| format!(", with a `{other}`"));
        page.push_str(&format!("| `{key}` | {kind} | {default}{with} | {range} | {meaning} |\n"));
    }
}

fn properties(page: &mut String) {
    page.push_str("\n### Defaults that differ from librdkafka's\n\n");
    page.push_str("| property | consumers | producers |\n| --- | --- | --- |\n");
    let mut names: Vec<&str> =
        CONSUMER_DEFAULTS.iter().chain(&PRODUCER_DEFAULTS).map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    let value = |defaults: &[(&str, &str)], name: &str| {
        let found = defaults.iter().find(|(of, _)| *of == name);
        found.map_or_else(String::new, |(_, value)| format!("`{value}`"))
    };
    for name in names {
        let [consumers, producers] =
            [value(&CONSUMER_DEFAULTS, name), value(&PRODUCER_DEFAULTS, name)];
        page.push_str(&format!("| `{name}` | {consumers} | {producers} |\n"));
    }
    page.push_str("\nA worker's clients bear their member's id as `client.id`.\n");
    page.push_str("\n### Properties that are refused\n\n| property | why |\n| --- | --- |\n");
    for (names, why) in REFUSED {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        page.push_str(&format!("| {} | {why} |\n", names.join(", ")));
    }
    page.push_str(&format!("| `{}*` | {} |\n", MOCK.0, MOCK.1));
    page.push_str(
        "\n### Properties that pass\n\n| property | clients | value |\n| --- | --- | --- |\n",
    );
    for (clients, list) in
        [("all", &FOR_ALL[..]), ("consumers", &FOR_CONSUMERS), ("producers", &FOR_PRODUCERS)]
    {
        for name in list {
            let shown = if is_shown(name) { "shown" } else { "hidden" };
            page.push_str(&format!("| `{name}` | {clients} | {shown} |\n"));
        }
    }
    page.push_str("\nSecond names, which may be used as well:");
    let aliases: Vec<String> =
        ALIASES.iter().map(|(alias, name)| format!("\n`{alias}` (`{name}`)")).collect();
    page.push_str(&format!("{}.\n", aliases.join(",")));
}
