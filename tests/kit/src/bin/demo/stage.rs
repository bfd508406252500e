//! Where the demo plays: the shipped configuration on a broker of its own; on a cluster that is
//! given, a copy of it in which every topic and group bears the run's own prefix.
//! Must not be in here: a recipe, or a setting that differs from the shipped ones.

use std::fs;
use std::path::{Path, PathBuf};

use oncegate_testkit::broker::Broker;
use oncegate_testkit::error::Doing;
use oncegate_testkit::generator::Kind;
use oncegate_testkit::topics::Admin;
use oncegate_testkit::{KitError, Result};

use crate::cases;
use crate::progress::Progress;

/// The group of the shipped configuration.
const GROUP: &str = "demo";
const OWN_ROLES: [&str; 3] = ["quarantine", "audit", "journal"];

/// Names, addresses and folders of this run.
pub struct Stage {
    /// The cluster's address.
    pub bootstrap: String,
    /// The configuration that the processes get.
    pub config: PathBuf,
    /// Logs and state directories are in here.
    pub folder: PathBuf,
    /// On a given cluster: what every name begins with.
    prefix: Option<String>,
}

impl Stage {
    /// Finds the shipped files, and copies them under names of this run where the cluster is
    /// one that others use as well.
    pub fn set(project: &Path, folder: &Path, broker: &Broker) -> Result<Stage> {
        let shipped = project.join("config/oncegate.toml");
        let shipped = shipped.canonicalize().map_err(|error| {
            KitError::new(format!(
                "{}: {error}; run the demo from the project's folder, or name it with --project",
                shipped.display()
            ))
        })?;
        let mut stage = Stage {
            bootstrap: broker.bootstrap().to_owned(),
            config: shipped.clone(),
            folder: folder.to_owned(),
            prefix: None,
        };
        if broker.is_given() {
            let millis = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis());
            stage.prefix = Some(format!("{GROUP}-{millis}-{}", std::process::id()));
            stage.copy_config(&shipped)?;
        }
        Ok(stage)
    }

    /// A topic of the shipped configuration, under the name that it has in this run.
    pub fn named(&self, topic: &str) -> String {
        self.renamed(topic)
    }

    /// A topic of a route whose name begins with the group.
    pub fn of_group(&self, route: &str, role: &str) -> String {
        self.renamed(&format!("{GROUP}.{route}.{role}"))
    }

    /// The raw topic of a kind.
    pub fn raw(&self, kind: Kind) -> String {
        self.renamed(&format!("{kind}.raw"))
    }

    /// The clean topic of a kind.
    pub fn clean(&self, kind: Kind) -> String {
        self.renamed(&format!("{kind}.clean"))
    }

    /// Another topic of a kind's route.
    pub fn own(&self, kind: Kind, role: &str) -> String {
        self.renamed(&format!("{GROUP}.{kind}.{role}"))
    }

    /// The consumer group of a route.
    pub fn group(&self, route: &str) -> String {
        self.renamed(&format!("{GROUP}.{route}"))
    }

    /// Takes the run's topics and groups out of a given cluster; what cannot be taken out is said.
    pub fn strike(&self, admin: &Admin, progress: &Progress) {
        let Some(prefix) = &self.prefix else { return };
        let mut topics = Vec::new();
        for kind in Kind::ALL {
            topics.extend([self.raw(kind), self.clean(kind)]);
            topics.extend(OWN_ROLES.map(|role| self.own(kind, role)));
        }
        topics.extend(["raw", "clean"].map(|role| self.named(&format!("{}.{role}", cases::ROUTE))));
        topics.extend(OWN_ROLES.map(|role| self.of_group(cases::ROUTE, role)));
        let names: Vec<&str> = topics.iter().map(String::as_str).collect();
        let deleted = admin.delete(&names);
        // A static member's group is empty only after its session time-out: left to expire.
        match deleted {
            Ok(()) => progress.say(format!("deleted the topics of this run, {prefix}.*")),
            Err(error) => progress.say(format!("the topics {prefix}.* are left: {error}")),
        }
    }

    /// A name of the shipped files as this run has it.
    fn renamed(&self, name: &str) -> String {
        match &self.prefix {
            None => name.to_owned(),
            Some(prefix) => {
                let of_group = name.strip_prefix(GROUP).filter(|rest| rest.starts_with('.'));
                format!("{prefix}{}", of_group.map_or(format!(".{name}"), str::to_owned))
            }
        }
    }

    /// Copies configuration and declarations with this run's names; recipes are used where they are.
    fn copy_config(&mut self, shipped: &Path) -> Result<()> {
        let shipped_dir = shipped.parent().unwrap_or(Path::new("."));
        let topics = self.folder.join("topics");
        fs::create_dir_all(&topics).doing(|| format!("cannot create {}", topics.display()))?;
        let from = shipped_dir.join("../topics");
        for entry in fs::read_dir(&from).doing(|| format!("cannot read {}", from.display()))? {
            let path = entry.doing(|| format!("cannot read {}", from.display()))?.path();
            let Some(name) = path.file_name() else { continue };
            write(&topics.join(name), &self.adapted(&read(&path)?, shipped_dir))?;
        }
        self.config = self.folder.join("oncegate.toml");
        write(&self.config, &self.adapted(&read(shipped)?, shipped_dir))
    }

    /// Line by line, so that comments and order stay.
    fn adapted(&self, text: &str, shipped_dir: &Path) -> String {
        let mut adapted = String::new();
        let mut in_route = false;
        for line in text.lines() {
            if line.starts_with('[') {
                in_route = line == "[[route]]";
            }
            let (key, value) = match line.split_once('=') {
                Some((key, value)) => (key.trim(), quoted(value)),
                None => ("", None),
            };
            let new = match (key, value) {
                ("group", Some(_)) => self.prefix.clone(),
                ("raw" | "clean", Some(name)) if in_route => Some(self.renamed(name)),
                ("name", Some(name)) if !in_route => Some(self.renamed(name)),
                ("recipes_dir", Some(dir)) => Some(shipped_dir.join(dir).display().to_string()),
                ("topics_dir", Some(_)) => Some("topics".to_owned()),
                ("state_dir", Some(_)) => Some("state".to_owned()),
                _ => None,
            };
            match new {
                Some(new) => adapted.push_str(&format!("{key} = \"{new}\"\n")),
                None => adapted.push_str(&format!("{line}\n")),
            }
        }
        adapted
    }
}

/// The text between the first two double quotes.
fn quoted(value: &str) -> Option<&str> {
    value.split('"').nth(1)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).doing(|| format!("cannot read {}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).doing(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(prefix: Option<&str>) -> Stage {
        Stage {
            bootstrap: String::new(),
            config: PathBuf::new(),
            folder: PathBuf::new(),
            prefix: prefix.map(str::to_owned),
        }
    }

    #[test]
    fn names_are_the_shipped_ones_on_a_broker_of_its_own() {
        let stage = stage(None);
        assert_eq!(stage.raw(Kind::Lab), "lab.raw");
        assert_eq!(stage.own(Kind::Epcis, "journal"), "demo.epcis.journal");
    }

    #[test]
    fn every_name_bears_the_prefix_on_a_given_cluster() {
        let stage = stage(Some("demo-7"));
        assert_eq!(stage.clean(Kind::Lab), "demo-7.lab.clean");
        assert_eq!(stage.group("lab"), "demo-7.lab");
        let text = "group = \"demo\"  # why\nrecipes_dir = \"recipes\"\n[[route]]\n\
                    name = \"lab\"\nraw = \"lab.raw\"\nrecipe = \"lab-result\"\n";
        assert_eq!(
            stage.adapted(text, Path::new("/shipped")),
            "group = \"demo-7\"\nrecipes_dir = \"/shipped/recipes\"\n[[route]]\n\
             name = \"lab\"\nraw = \"demo-7.lab.raw\"\nrecipe = \"lab-result\"\n"
        );
        let declared = "name = \"demo.lab.journal\"\nrole = \"journal\"\n";
        assert_eq!(
            stage.adapted(declared, Path::new("/shipped")),
            "name = \"demo-7.lab.journal\"\nrole = \"journal\"\n"
        );
    }
}
