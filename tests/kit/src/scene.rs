//! A scene: one route on topics of its own, its configuration, its processes, and what must hold
//! at the end. Knows oncegate's command line and file formats, nothing of its code.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::broker::Broker;
use crate::compare::{Comparison, compare};
use crate::error::{Doing, KitError, Result};
use crate::generator::{Kind, Sent};
use crate::open::OpenTransactions;
use crate::process::{Process, ProcessOptions, default_binary};
use crate::reader::{committed_offset, read_topic, watermarks};
use crate::topics::{Admin, TopicSpec};
use crate::wait::wait_for;

/// How long a scene may take to come to rest.
const REST_TIMEOUT: Duration = Duration::from_secs(120);

/// How a scene differs from the usual.
#[derive(Clone, Debug)]
pub struct SceneOptions {
    /// What the raw topic holds.
    pub kind: Kind,
    /// Its partitions.
    pub partitions: i32,
    /// `batch.records`.
    pub batch_records: usize,
    /// `batch.wait` in milliseconds.
    pub batch_wait_ms: u64,
    /// Session time-out in milliseconds.
    pub session_ms: u64,
    /// Transaction time-out in milliseconds.
    pub transaction_ms: u64,
    /// Workers in each process.
    pub workers: usize,
    /// A raw topic that exists already, in place of one of the scene's own.
    pub raw: Option<String>,
    /// The route's recipe, where it is not the one of `kind`.
    pub recipe: Option<String>,
    /// `memory` of the store.
    pub store_memory: String,
    /// Further lines of the route's table.
    pub route_lines: String,
    /// What the configuration names as `bootstrap.servers`, where the gate is to reach the
    /// cluster another way than the tests.
    pub bootstrap: Option<String>,
    /// Further lines of `[kafka]`.
    pub kafka_lines: String,
}

impl Default for SceneOptions {
    fn default() -> SceneOptions {
        SceneOptions {
            kind: Kind::Lab,
            partitions: 4,
            batch_records: 500,
            batch_wait_ms: 20,
            session_ms: 6_000,
            transaction_ms: 10_000,
            workers: 1,
            raw: None,
            recipe: None,
            store_memory: "64MiB".to_owned(),
            route_lines: String::new(),
            bootstrap: None,
            kafka_lines: String::new(),
        }
    }
}

/// One route on topics of its own.
pub struct Scene {
    /// The cluster's address.
    pub bootstrap: String,
    /// Prefix of group and topics.
    pub name: String,
    /// What it was made with.
    pub options: SceneOptions,
    /// Where configuration, state and logs are; kept while the scene lives.
    pub dir: tempfile::TempDir,
    binary: PathBuf,
}

impl Scene {
    /// Makes raw and own topics and the configuration; `name` is the scene's own in the cluster.
    pub fn new(broker: &Broker, name: &str, options: SceneOptions) -> Result<Scene> {
        let dir = tempfile::tempdir().doing(|| "cannot make a temporary folder".to_owned())?;
        let scene = Scene {
            bootstrap: broker.bootstrap().to_owned(),
            name: name.to_owned(),
            binary: default_binary()?,
            options,
            dir,
        };
        if scene.options.raw.is_none() {
            let raw = TopicSpec::new(scene.raw(), scene.options.partitions);
            Admin::new(&scene.bootstrap)?.create(&[raw.config("retention.ms", -1)])?;
        }
        scene.declare_topics()?;
        scene.write_config("gate.toml", &scene.options)?;
        let (applied, said) = scene.command(&["topics", "apply"])?;
        if !applied {
            return Err(KitError::new(format!("topics apply failed: {said}")));
        }
        Ok(scene)
    }

    /// The raw topic.
    pub fn raw(&self) -> String {
        self.options.raw.clone().unwrap_or_else(|| format!("{}.raw", self.name))
    }

    /// The clean topic.
    pub fn clean(&self) -> String {
        format!("{}.clean", self.name)
    }

    /// The quarantine topic.
    pub fn quarantine(&self) -> String {
        format!("{}.route.quarantine", self.name)
    }

    /// The audit topic.
    pub fn audit(&self) -> String {
        format!("{}.route.audit", self.name)
    }

    /// The journal topic.
    pub fn journal(&self) -> String {
        format!("{}.route.journal", self.name)
    }

    /// The consumer group.
    pub fn group(&self) -> String {
        format!("{}.route", self.name)
    }

    /// The state directory of a process.
    pub fn state_dir(&self, process: &str) -> PathBuf {
        self.dir.path().join(format!("state-{process}"))
    }

    fn declare_topics(&self) -> Result<()> {
        let folder = self.dir.path().join("topics");
        fs::create_dir_all(&folder).doing(|| "cannot make the topics folder".to_owned())?;
        let roles = [
            ("clean", self.clean()),
            ("quarantine", self.quarantine()),
            ("audit", self.audit()),
            ("journal", self.journal()),
        ];
        for (role, topic) in roles {
            let stamp = if role == "journal" {
                "\"message.timestamp.type\" = \"LogAppendTime\"\n"
            } else {
                ""
            };
            let text = format!(
                "name = \"{topic}\"\nrole = \"{role}\"\npartitions = \"raw\"\nreplication = \"default\"\n[config]\n\"cleanup.policy\" = \"delete\"\n\"retention.ms\" = \"-1\"\n\"retention.bytes\" = \"-1\"\n\"max.message.bytes\" = \"1100000\"\n{stamp}",
            );
            let path = folder.join(format!("{topic}.toml"));
            fs::write(&path, text).doing(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    /// Writes a configuration of this scene's route under a file name of its own.
    pub fn write_config(&self, file: &str, options: &SceneOptions) -> Result<PathBuf> {
        let recipes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/recipes");
        let recipes = recipes.canonicalize().doing(|| "the recipes are not there".to_owned())?;
        let text = format!(
            r#"group = "{name}"
state_dir = "state"
recipes_dir = "{recipes}"
topics_dir = "topics"

[http]
listen = "127.0.0.1:0"

[store]
memory = "{memory}"

[kafka]
"bootstrap.servers" = "{bootstrap}"
{kafka_lines}
[[route]]
name = "route"
raw = "{raw}"
clean = "{clean}"
recipe = "{recipe}"
partitioning = "by-source"
workers = {workers}
{lines}
[route.batch]
records = {records}
wait = "{wait}ms"

[route.timeouts]
session = "{session}ms"
transaction = "{transaction}ms"
"#,
            name = self.name,
            recipes = recipes.display(),
            bootstrap = options.bootstrap.as_deref().unwrap_or(&self.bootstrap),
            kafka_lines = options.kafka_lines,
            raw = self.raw(),
            clean = self.clean(),
            recipe = options.recipe.as_deref().unwrap_or(options.kind.recipe()),
            workers = options.workers,
            memory = options.store_memory,
            lines = options.route_lines,
            records = options.batch_records,
            wait = options.batch_wait_ms,
            session = options.session_ms,
            transaction = options.transaction_ms,
        );
        let path = self.dir.path().join(file);
        fs::write(&path, text).doing(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// Runs a subcommand to its end: whether it succeeded, and what it said.
    pub fn command(&self, arguments: &[&str]) -> Result<(bool, String)> {
        self.command_with("gate.toml", arguments)
    }

    /// The same with another configuration of the scene.
    pub fn command_with(&self, config: &str, arguments: &[&str]) -> Result<(bool, String)> {
        let output = std::process::Command::new(&self.binary)
            .args(arguments)
            .arg("--config")
            .arg(self.dir.path().join(config))
            .output()
            .doing(|| format!("cannot run {}", self.binary.display()))?;
        let said = [output.stdout, output.stderr].concat();
        Ok((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
    }

    /// Starts a process of the gate on its own state directory.
    pub fn start(&self, process: &str) -> Result<Process> {
        self.start_with(process, "gate.toml")
    }

    /// The same with another configuration of the scene.
    pub fn start_with(&self, process: &str, config: &str) -> Result<Process> {
        Process::start(&self.process_options(process, config))
    }

    /// How a process of the gate is started, for who starts it otherwise.
    pub fn process_options(&self, process: &str, config: &str) -> ProcessOptions {
        let arguments: Vec<PathBuf> = vec![
            "run".into(),
            "--config".into(),
            self.dir.path().join(config),
            "--state-dir".into(),
            self.state_dir(process),
            "--listen".into(),
            "127.0.0.1:0".into(),
        ];
        let log = self.dir.path().join(format!("{process}.log"));
        let mut options =
            ProcessOptions::new(arguments, log).variable("RUST_LOG", "info,oncegate=debug");
        options.binary = Some(self.binary.clone());
        options
    }

    /// What the process has logged.
    pub fn log(&self, process: &str) -> String {
        fs::read_to_string(self.dir.path().join(format!("{process}.log"))).unwrap_or_default()
    }

    /// Asks the HTTP port of a process that was started last under this name.
    pub fn get(&self, process: &str, path: &str) -> Result<(u16, String)> {
        let log = self.log(process);
        let bound = log.rsplit("bound=").next().and_then(|rest| rest.split_whitespace().next());
        let Some(address) = bound.filter(|_| log.contains("bound=")) else {
            return Err(KitError::new(format!("{process} does not listen yet")));
        };
        crate::http::get(address, path)
    }

    /// Waits until `/readyz` of a process answers with this status and a body that holds `word`.
    pub fn wait_readyz(&self, process: &str, status: u16, word: &str) -> Result<String> {
        let what = format!("/readyz of {process} answers {status} with {word:?}");
        wait_for(REST_TIMEOUT, &what, || match self.get(process, "/readyz") {
            Ok((found, body)) if found == status && body.contains(word) => Ok(body),
            Ok((found, body)) => Err(format!("{found} {body}")),
            Err(error) => Err(error.to_string()),
        })
    }

    /// Waits until every raw partition is committed to its end.
    pub fn wait_until_through(&self) -> Result<()> {
        wait_for(REST_TIMEOUT, "the gate has committed every partition to its end", || {
            let ends = watermarks(&self.bootstrap, &self.raw()).map_err(|e| e.to_string())?;
            for (partition, (_, end)) in ends.iter().enumerate() {
                let committed =
                    committed_offset(&self.bootstrap, &self.group(), &self.raw(), partition as i32)
                        .map_err(|error| error.to_string())?
                        .map_or(-1, |(offset, _)| offset);
                if committed < *end {
                    return Err(format!("partition {partition} is at {committed} of {end}"));
                }
            }
            Ok(())
        })
    }

    /// Looks whether transactions of the gate are open on its journal.
    pub fn open_transactions(&self) -> Result<OpenTransactions> {
        OpenTransactions::watch(&self.bootstrap, &self.journal(), self.options.partitions)
    }

    /// Reads the clean topic and compares it with what was sent.
    pub fn compare(&self, sent: &[Sent]) -> Result<Comparison> {
        let clean = read_topic(&self.bootstrap, &self.clean())?;
        Ok(compare(self.options.kind, sent, &clean))
    }
}
