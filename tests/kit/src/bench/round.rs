//! One round of one contender: topics, group and state of its own, a process, what was measured,
//! and the proof that the topic it wrote holds exactly what it should.
//! Must not be in here: in which order rounds follow each other.

use crate::bench::Contender;
use crate::bench::load::Loaded;
use crate::bench::standing::Standing;
use crate::bench::streams::StreamsApp;
use crate::bench::watch::{Run, Watched};
use crate::broker::Broker;
use crate::error::{Doing, KitError, Result};
use crate::process::{Process, ProcessOptions};
use crate::scene::{Scene, SceneOptions};
use crate::topics::Admin;

/// How the contenders write their transactions: oncegate's own defaults.
pub const BATCH_WAIT_MS: u64 = 50;
const SESSION_MS: u64 = 10_000;
/// A slow machine must not end a transaction that is under way.
const TRANSACTION_MS: u64 = 30_000;
/// Enough for some millions of keys: their filters take a hundredth of it, and a quarter holds the
/// rows that are not in files yet.
const STORE_MEMORY: &str = "128MiB";

/// How the contenders run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Records in a transaction of the bare pipe and of oncegate.
    pub batch_records: usize,
    /// How long these two wait for a transaction to fill.
    pub batch_wait_ms: u64,
    /// Workers of these two, threads of Kafka Streams.
    pub workers: usize,
    /// The commit interval of Kafka Streams.
    pub commit_ms: u64,
}

/// Where contenders meet.
pub struct Arena<'a> {
    /// The cluster.
    pub broker: &'a Broker,
    /// How they run.
    pub plan: Plan,
    /// The Kafka Streams application, where it takes part.
    pub streams: Option<&'a StreamsApp>,
}

impl Arena<'_> {
    /// Runs one contender over the raw topic; `name` is this round's own in the cluster.
    pub fn run(&self, loaded: &Loaded, contender: Contender, name: &str) -> Result<Run> {
        let scene = self.scene(name, &loaded.topic)?;
        let size = (loaded.partitions, loaded.all.records());
        let watched = Watched::new(self.broker, &scene.group(), &loaded.topic, size)?;
        let mut process = self.start(contender, &scene)?;
        let run = watched.run(&mut process)?;
        process.kill9()?;
        self.prove(loaded, contender, &scene, &process)?;
        forget(contender, &scene)?;
        Ok(run)
    }

    /// A scene over a raw topic that is there.
    pub fn scene(&self, name: &str, raw: &str) -> Result<Scene> {
        let options = SceneOptions {
            partitions: crate::bench::load::PARTITIONS,
            batch_records: self.plan.batch_records,
            batch_wait_ms: self.plan.batch_wait_ms,
            session_ms: SESSION_MS,
            transaction_ms: TRANSACTION_MS,
            workers: self.plan.workers,
            raw: Some(raw.to_owned()),
            store_memory: STORE_MEMORY.to_owned(),
            ..SceneOptions::default()
        };
        Scene::new(self.broker, name, options)
    }

    /// Starts a contender as a process of its own.
    pub fn start(&self, contender: Contender, scene: &Scene) -> Result<Process> {
        match (contender, self.streams) {
            (Contender::Bare, _) => start_bare(scene),
            (Contender::Oncegate, _) => scene.start("gate"),
            (Contender::Streams, Some(streams)) => streams.start(scene, self.plan),
            (Contender::Streams, None) => {
                Err(KitError::new("the Kafka Streams application was not built"))
            }
        }
    }

    fn prove(
        &self,
        loaded: &Loaded,
        contender: Contender,
        scene: &Scene,
        process: &Process,
    ) -> Result<()> {
        let found = Standing::of_topic(&scene.bootstrap, &scene.clean(), loaded.partitions)?;
        let (expected, right) = match contender {
            Contender::Bare => (&loaded.all, found.is(&loaded.all)),
            Contender::Oncegate => (&loaded.distinct, found.is(&loaded.distinct)),
            // Its producer chooses partitions by key, so the order across sources is its own.
            Contender::Streams => (&loaded.distinct, found.is_in_any_order(&loaded.distinct)),
        };
        if right {
            return Ok(());
        }
        Err(KitError::new(format!(
            "{} wrote other records than it should: {found}, not {expected} (records by \
             partition, hash); {}",
            contender.name(),
            process.end_of_log()
        )))
    }
}

/// Deletes what a contender wrote.
pub fn forget(contender: Contender, scene: &Scene) -> Result<()> {
    let mut topics = vec![scene.clean(), scene.quarantine(), scene.audit(), scene.journal()];
    if contender == Contender::Streams {
        topics.push(StreamsApp::changelog(scene));
    }
    let names: Vec<&str> = topics.iter().map(String::as_str).collect();
    Admin::new(&scene.bootstrap)?.delete(&names)
}

fn start_bare(scene: &Scene) -> Result<Process> {
    let own =
        std::env::current_exe().doing(|| "cannot tell the path of this program".to_owned())?;
    let arguments = ["bare".into(), "--config".into(), scene.dir.path().join("gate.toml")];
    let mut options = ProcessOptions::new(arguments, scene.dir.path().join("bare.log"));
    // `bench` has the pipe as a hidden part, whichever program of the kit runs this.
    options.binary = Some(own.with_file_name("bench"));
    Process::start(&options)
}
