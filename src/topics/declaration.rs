//! The files of topic declarations, one topic each.
//! Must not be in here: the cluster.

use super::needs::needs;
use crate::kafka::Configs;
use crate::settings::{Document, Fault, RouteSettings, Section, TopicRole, nearest};
use crate::settings::{SettingsErrors, topic_name_fault};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::de::DeValue;

/// Kafka's own bound is a 16-bit number; no cluster is near it.
const REPLICATION_MAX: i64 = 32;

/// How a topic is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicDeclaration {
    /// The file that says so.
    pub file: String,
    /// Its name.
    pub name: String,
    /// What it is to its route.
    pub role: TopicRole,
    /// Replicas of each partition; `None`: the cluster's default.
    pub replication: Option<i32>,
    /// Its configs, those that its role needs included.
    pub config: Configs,
}

/// All declarations, what is wrong with them, and those that no route asks for.
#[derive(Clone, Debug, Default)]
pub struct Declarations {
    /// By topic.
    pub topics: BTreeMap<String, TopicDeclaration>,
    /// What is wrong.
    pub faults: Vec<Fault>,
    /// Files for topics that no route has.
    pub unused: Vec<Fault>,
}

impl Declarations {
    /// Reads all files of a directory. One that is not there declares nothing.
    pub fn read(dir: &Path, routes: &[RouteSettings]) -> Declarations {
        let mut declarations = Declarations::default();
        let files = match files_in(dir) {
            Ok(files) => files,
            Err(fault) => {
                declarations.faults.push(fault);
                return declarations;
            }
        };
        for path in files {
            let file = path.display().to_string();
            match std::fs::read_to_string(&path) {
                Ok(text) => declarations.add(&file, &text, routes),
                Err(error) => declarations.faults.push(unreadable(&path, &error)),
            }
        }
        declarations.faults = SettingsErrors::new(declarations.faults).faults().to_vec();
        declarations
    }

    fn add(&mut self, file: &str, text: &str, routes: &[RouteSettings]) {
        let document = Document::new(file, text);
        let declaration = document.parse().and_then(|table| {
            let declaration = read(file, document.root(&table));
            if let Some((declaration, name_at)) = &declaration {
                if let Some(other) = self.topics.get(&declaration.name) {
                    let what = format!("`{}` is declared twice", declaration.name);
                    document.fault(name_at.clone(), what, format!("see {}", other.file));
                }
                match role_in(&declaration.name, routes) {
                    Some(role) if role != declaration.role => {
                        let what = format!("`role` must be \"{role}\"");
                        let meant =
                            format!("`{}` is the {role} topic of a route", declaration.name);
                        document.fault(name_at.clone(), what, meant);
                    }
                    _ => {}
                }
            }
            declaration
        });
        if let (Some((declaration, name_at)), false) = (declaration, document.is_faulty()) {
            if role_in(&declaration.name, routes).is_none() {
                self.unused.push(unused(&declaration, routes, document.line(name_at.start)));
            }
            self.topics.insert(declaration.name.clone(), declaration);
        }
        self.faults.extend(document.into_faults());
    }
}

fn files_in(dir: &Path) -> Result<Vec<PathBuf>, Fault> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(dir, &error)),
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let paths: Result<Vec<PathBuf>, _> = paths.collect();
    let mut paths = paths.map_err(|error| unreadable(dir, &error))?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    Ok(paths)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Fault {
    let (what, meant) = (format!("cannot be read: {error}"), String::new());
    Fault { file: path.display().to_string(), line: None, what, meant }
}

/// What a topic is to the routes that oncegate writes it for.
fn role_in(topic: &str, routes: &[RouteSettings]) -> Option<TopicRole> {
    let roles = TopicRole::OWN.into_iter().chain([TopicRole::Raw]);
    let mut owned =
        roles.flat_map(|role| routes.iter().map(move |route| (route.topic(role), role)));
    owned.find(|(name, _)| *name == topic).map(|(_, role)| role)
}

fn unused(declaration: &TopicDeclaration, routes: &[RouteSettings], line: usize) -> Fault {
    let own = TopicRole::OWN.into_iter();
    let names = own.flat_map(|role| routes.iter().map(move |route| route.topic(role)));
    let meant = match nearest(&declaration.name, names) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "it is left alone".to_owned(),
    };
    let what = format!("no route has the topic `{}`", declaration.name);
    Fault { file: declaration.file.clone(), line: Some(line), what, meant }
}

fn read(
    file: &str,
    mut section: Section<'_, '_>,
) -> Option<(TopicDeclaration, std::ops::Range<usize>)> {
    let document = section.document();
    let name = section.required_text("name");
    if let Some(name) = &name
        && let Some(fault) = topic_name_fault(name.get_ref())
    {
        document.fault(name.span(), format!("`name` {fault}"), "Kafka would not take it");
    }
    let roles = TopicRole::OWN.map(|role| (role.as_str(), role));
    section.require("role");
    let role = section.choice("role", &roles);
    // As many as the route's raw topic has, or records could not keep their partition.
    section.choice("partitions", &[("raw", ())]);
    let replication = section.count_or("replication", 1..=REPLICATION_MAX, "default");
    let config = section.section("config").map(read_config).unwrap_or_default();
    section.finish();
    let (name, role) = (name?, role?.into_inner());
    let config = with_needs(role, config, document);
    let declaration = TopicDeclaration {
        file: file.to_owned(),
        name: (*name.get_ref()).to_owned(),
        role,
        replication: replication.and_then(|count| i32::try_from(count).ok()),
        config,
    };
    Some((declaration, name.span()))
}

type Placed = BTreeMap<String, (String, std::ops::Range<usize>)>;

fn read_config(section: Section<'_, '_>) -> Placed {
    let document = section.document();
    let mut config = BTreeMap::new();
    for (name, value) in section.pairs() {
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(integer) => integer.to_string(),
            DeValue::Boolean(flag) => flag.to_string(),
            DeValue::Float(float) => float.to_string(),
            _ => {
                let what = format!("`{name}` must be a text, a number or a yes or no");
                document.fault(value.span(), what, "Kafka's configs are single values");
                continue;
            }
        };
        config.insert(name, (text, value.span()));
    }
    config
}

/// Adds what the role needs; a declaration may repeat it, not contradict it.
fn with_needs(role: TopicRole, config: Placed, document: &Document<'_>) -> Configs {
    let mut whole = Configs::new();
    for (name, needed) in needs(role) {
        if let Some((text, at)) = config.get(*name)
            && text != needed
        {
            let what = format!("`{name}` of a {role} topic cannot be this");
            document.fault(at.clone(), what, format!("it must be \"{needed}\""));
        }
        whole.insert((*name).to_owned(), (*needed).to_owned());
    }
    for (name, (text, _)) in config {
        whole.insert(name, text);
    }
    whole
}
