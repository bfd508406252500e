//! The effective configuration as TOML: every setting, where it was set if it was, secrets hidden.
//! Must not be in here: a value of a property that is not on the list of those that may be shown.

use super::catalogue;
use super::given::{Given, quoted};
use super::model::{Overrides, RouteSettings, Settings};
use super::property_lists::is_shown;
use super::setting::{Row, RowDefault};
use crate::kafka::config::{CONSUMER_DEFAULTS, PRODUCER_DEFAULTS};
use std::fmt::Write;

/// Writes it. The text is a configuration again, but for the secrets.
pub fn show(settings: &Settings, given: &Given, overrides: &Overrides) -> String {
    let mut shown = Shown { settings, given, overrides, text: String::new() };
    shown.line(&format!("# The effective configuration, from {}.", settings.files.join(", ")));
    shown.line("# What stands without a place behind it is a default.");
    shown.section("", None, "");
    shown.section("http", None, "\n[http]");
    shown.section("store", None, "\n[store]");
    shown.kafka();
    for (nth, route) in settings.routes.iter().enumerate() {
        shown.section("route", Some((nth, route)), "\n[[route]]");
        shown.line(&format!("# the journal is {}", quoted(&route.journal)));
        shown.section("route.batch", Some((nth, route)), "\n[route.batch]");
        shown.section("route.timeouts", Some((nth, route)), "\n[route.timeouts]");
    }
    shown.text
}

struct Shown<'a> {
    settings: &'a Settings,
    given: &'a Given,
    overrides: &'a Overrides,
    text: String,
}

impl Shown<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn section(&mut self, section: &str, route: Option<(usize, &RouteSettings)>, heading: &str) {
        if !heading.is_empty() {
            self.line(heading);
        }
        for row in catalogue::ALL.iter().map(|setting| setting.row()) {
            if row.section == section {
                let line = self.setting(&row, route);
                self.line(&line);
            }
        }
    }

    fn setting(&self, row: &Row, route: Option<(usize, &RouteSettings)>) -> String {
        let path = |key: &str| match (row.section, route) {
            ("", _) => key.to_owned(),
            (section, None) => format!("{section}.{key}"),
            (section, Some((nth, _))) => {
                // `route.batch` of the second route is `route.1.batch`.
                format!("{}.{key}", section.replacen("route", &format!("route.{nth}"), 1))
            }
        };
        let key = row.key;
        let made = self.made(row, route.map(|(_, route)| route));
        let said = self.given.get(&path(key));
        if let Some(option) = self.overridden(row) {
            return format!("{key} = {} # {option}", made.unwrap_or_default());
        }
        if let Some(said) = said {
            return format!("{key} = {} # {}", made.as_ref().unwrap_or(&said.value), said.place);
        }
        if row.key == catalogue::TOPICS_DIR.key && !self.settings.topics_dir.is_dir() {
            return format!("# {key} is not set: every topic gets what its role needs");
        }
        let idle = row.only_with.filter(|other| self.given.get(&path(other)).is_none());
        match (&row.default, made, idle) {
            (RowDefault::Absent(then), ..) => format!("# {key} is not set: {then}"),
            (_, _, Some(other)) => format!("# {key} is not set, and counts only with `{other}`"),
            (RowDefault::Value(value), None, None) => format!("{key} = {value}"),
            (_, made, None) => format!("{key} = {}", made.unwrap_or_default()),
        }
    }

    /// Values that are made of more than what is said: names and paths.
    fn made(&self, row: &Row, route: Option<&RouteSettings>) -> Option<String> {
        let settings = self.settings;
        let path = |path: &std::path::Path| Some(quoted(&path.display().to_string()));
        match (row.section, row.key) {
            ("", "state_dir") => path(&settings.state_dir),
            ("", "recipes_dir") => path(&settings.recipes_dir),
            ("", "topics_dir") => path(&settings.topics_dir),
            ("", "instance") => settings.instance.as_deref().map(quoted),
            ("http", "listen") => Some(quoted(&settings.http_listen.to_string())),
            ("route", "quarantine") => route.map(|route| quoted(&route.quarantine)),
            ("route", "audit") => route.map(|route| quoted(&route.audit)),
            _ => None,
        }
    }

    /// The option that a setting was set by.
    fn overridden(&self, row: &Row) -> Option<&'static str> {
        let overrides = self.overrides;
        match (row.section, row.key) {
            ("", "state_dir") if overrides.state_dir.is_some() => Some("--state-dir"),
            ("", "instance") if overrides.instance.is_some() => Some("--instance"),
            ("http", "listen") if overrides.http_listen.is_some() => Some("--listen"),
            _ => None,
        }
    }

    fn kafka(&mut self) {
        self.line("\n[kafka]");
        let properties = &self.settings.kafka;
        let mut lines = String::new();
        for name in properties.names() {
            let place = match &self.overrides.bootstrap {
                Some(_) if name == "bootstrap.servers" => "--bootstrap or ONCEGATE_BOOTSTRAP",
                _ => self.given.get(&format!("kafka.{name}")).map_or("", |said| &said.place),
            };
            // Writing into a text does not fail.
            let _ = match properties.get(name).filter(|_| is_shown(name)) {
                Some(value) => writeln!(lines, "\"{name}\" = {} # {place}", quoted(value)),
                None => writeln!(lines, "# \"{name}\" is set and hidden # {place}"),
            };
        }
        for (clients, defaults) in
            [("consumers", &CONSUMER_DEFAULTS[..]), ("producers", &PRODUCER_DEFAULTS[..])]
        {
            for (name, value) in defaults.iter().filter(|(name, _)| properties.get(name).is_none())
            {
                let _ = writeln!(lines, "# \"{name}\" = \"{value}\", for {clients}");
            }
        }
        self.text.push_str(&lines);
    }
}
