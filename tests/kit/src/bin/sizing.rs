//! `make sizing`: what an event costs on disk, in the journal, on the clean topic and in memory,
//! measured over laboratory results of a seed.
//! Must not be in here: a bound that fails a run.

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use oncegate_testkit::Result;
use oncegate_testkit::broker::{Broker, BrokerOptions};
use oncegate_testkit::error::Doing;
use oncegate_testkit::generator::{Kind, Sample, SampleOptions};
use oncegate_testkit::produce::{Timestamps, produce};
use oncegate_testkit::reader::for_each_record;
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::usage::peak_mib;
use rdkafka::message::{Headers, Message};

/// Measures what an event costs.
#[derive(Parser)]
#[command(name = "sizing")]
struct Arguments {
    /// How many records
    #[arg(long, default_value_t = 1_000_000)]
    records: usize,
    /// Memory of all stores together
    #[arg(long, default_value = "256MiB")]
    store_memory: String,
}

/// Records and bytes of a topic, before compression.
#[derive(Default)]
struct Volume {
    records: u64,
    values: u64,
    headers: u64,
}

fn main() -> ExitCode {
    match measure(&Arguments::parse()) {
        Ok(line) => {
            println!("sizing: {line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("sizing: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> Result<String> {
    let broker = Broker::start(BrokerOptions::default())?;
    let options =
        SceneOptions { store_memory: arguments.store_memory.clone(), ..SceneOptions::default() };
    let scene = Scene::new(&broker, &format!("sizing-{}", std::process::id()), options)?;
    let options = SampleOptions {
        seed: 1,
        records: arguments.records,
        kinds: vec![Kind::Lab],
        ..SampleOptions::default()
    };
    let sent = Sample::new(options)?.sent(Kind::Lab);
    produce(&scene.bootstrap, &scene.raw(), &sent, Timestamps::EventTime)?;
    drop(sent);
    let mut gate = scene.start("one")?;
    scene.wait_until_through()?;
    let resident_mib = peak_mib(gate.id())?;
    gate.terminate()?;
    gate.wait(std::time::Duration::from_secs(60))?;
    let raw = volume(&scene, &scene.raw())?;
    let clean = volume(&scene, &scene.clean())?;
    let journal = volume(&scene, &scene.journal())?;
    let store = size_of(&scene.state_dir("one").join("stores"))?;
    let per = |bytes: u64, count: u64| bytes as f64 / count.max(1) as f64;
    Ok(format!(
        "records={} keys={} store_bytes_per_key={:.1} journal_bytes_per_record={:.1} clean_headers_per_record={:.0} raw_bytes_per_record={:.0} resident_mib={resident_mib:.0}",
        raw.records,
        clean.records,
        per(store, clean.records),
        per(journal.values, raw.records),
        per(clean.headers, clean.records),
        per(raw.values, raw.records),
    ))
}

fn volume(scene: &Scene, topic: &str) -> Result<Volume> {
    let mut volume = Volume::default();
    for_each_record(&scene.bootstrap, topic, |record| {
        volume.records += 1;
        volume.values += record.payload().map_or(0, |value| value.len() as u64);
        for header in record.headers().into_iter().flat_map(|headers| headers.iter()) {
            volume.headers += (header.key.len() + header.value.map_or(0, <[u8]>::len)) as u64;
        }
    })?;
    Ok(volume)
}

/// Bytes of all files below a folder.
fn size_of(folder: &Path) -> Result<u64> {
    let reading = || format!("cannot read {}", folder.display());
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).doing(reading)? {
        let entry = entry.doing(reading)?;
        let about = entry.metadata().doing(reading)?;
        bytes += if about.is_dir() { size_of(&entry.path())? } else { about.len() };
    }
    Ok(bytes)
}
