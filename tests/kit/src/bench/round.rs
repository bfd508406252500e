//! One round of one contender: topics, group and state of its own, a process, what was measured,
//! and the proof that the topic it wrote holds exactly what it should.

use crate::bench::Contender;
use crate::bench::load::Loaded;
use crate::bench::standing::Standing;
use crate::bench::watch::{Run, Watched};
use crate::broker::Broker;
use crate::error::{Doing, KitError, Result};
use crate::process::{Process, ProcessOptions};
use crate::scene::{Scene, SceneOptions};
use crate::topics::Admin;

/// How a contender writes its transactions: oncegate's own defaults.
const BATCH_WAIT_MS: u64 = 50;
const SESSION_MS: u64 = 10_000;
/// A slow machine must not end a transaction that is under way.
const TRANSACTION_MS: u64 = 30_000;
const STORE_MEMORY: &str = "512MiB";

/// Runs one contender over the raw topic; `name` is this round's own in the cluster.
pub fn run(
    broker: &Broker,
    loaded: &Loaded,
    contender: Contender,
    (name, batch_records): (&str, usize),
) -> Result<Run> {
    let options = SceneOptions {
        partitions: loaded.partitions,
        batch_records,
        batch_wait_ms: BATCH_WAIT_MS,
        session_ms: SESSION_MS,
        transaction_ms: TRANSACTION_MS,
        workers: 1,
        raw: Some(loaded.topic.clone()),
        store_memory: STORE_MEMORY.to_owned(),
        ..SceneOptions::default()
    };
    let scene = Scene::new(broker, name, options)?;
    let size = (loaded.partitions, loaded.all.records());
    let watched = Watched::new(&scene.bootstrap, &scene.group(), &loaded.topic, size)?;
    let mut process = match contender {
        Contender::Bare => start_bare(&scene)?,
        Contender::Oncegate => scene.start("gate")?,
    };
    let run = watched.run(&mut process)?;
    process.kill9()?;
    let expected = match contender {
        Contender::Bare => &loaded.all,
        Contender::Oncegate => &loaded.distinct,
    };
    let found = Standing::of_topic(&scene.bootstrap, &scene.clean(), loaded.partitions)?;
    if !found.is(expected) {
        return Err(KitError::new(format!(
            "{} wrote other records than it should: {found}, not {expected} (records by \
             partition, hash); {}",
            contender.name(),
            process.end_of_log()
        )));
    }
    let topics = [scene.clean(), scene.quarantine(), scene.audit(), scene.journal()];
    Admin::new(&scene.bootstrap)?.delete(&topics.each_ref().map(String::as_str))?;
    Ok(run)
}

fn start_bare(scene: &Scene) -> Result<Process> {
    let own =
        std::env::current_exe().doing(|| "cannot tell the path of this program".to_owned())?;
    let arguments = ["bare".into(), "--config".into(), scene.dir.path().join("gate.toml")];
    let mut options = ProcessOptions::new(arguments, scene.dir.path().join("bare.log"));
    options.binary = Some(own);
    Process::start(&options)
}
