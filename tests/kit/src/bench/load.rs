//! Loads the raw topic of the bench from a seed, and notes what must stand in the copies of it.
//! Holds a small part of the sample at a time, so that its size is no matter of memory.

use crate::bench::standing::Standing;
use crate::error::Result;
use crate::generator::{Kind, Sample, SampleOptions, Sent, SentStream};
use crate::produce::{Timestamps, produce};
use crate::topics::{Admin, TopicSpec};

const SEED: u64 = 1;
/// Partitions of every raw topic of the bench.
pub const PARTITIONS: i32 = 4;
const LOADED_AT_ONCE: usize = 50_000;

/// What a raw topic is to hold.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Load {
    /// How many records.
    pub records: usize,
    /// About the share of them that are later deliveries.
    pub again_share: f64,
    /// About how many bytes each has; without it, as many as a result needs.
    pub bytes: Option<usize>,
}

/// A raw topic, and what is known of it.
pub struct Loaded {
    /// Its name.
    pub topic: String,
    /// Its partitions.
    pub partitions: i32,
    /// Bytes of all values.
    pub bytes: u64,
    /// All records.
    pub all: Standing,
    /// The first delivery of each event: what the gate lets through.
    pub distinct: Standing,
}

/// The laboratory results of a load, the same each time.
pub fn sample(load: Load) -> Result<SentStream> {
    let sample = Sample::new(SampleOptions {
        seed: SEED,
        records: load.records,
        kinds: vec![Kind::Lab],
        partitions: PARTITIONS,
        again_share: load.again_share,
        broken_share: 0.0,
        lab_bytes: load.bytes,
        ..SampleOptions::default()
    })?;
    Ok(sample.stream(Kind::Lab))
}

/// Creates the topic and produces the results.
pub fn load(bootstrap: &str, topic: &str, load: Load) -> Result<Loaded> {
    let spec = TopicSpec::new(topic, PARTITIONS).config("retention.ms", -1);
    Admin::new(bootstrap)?.create(&[spec])?;
    let mut stream = sample(load)?;
    let mut loaded = Loaded {
        topic: topic.to_owned(),
        partitions: PARTITIONS,
        bytes: 0,
        all: Standing::new(PARTITIONS),
        distinct: Standing::new(PARTITIONS),
    };
    loop {
        let some: Vec<Sent> = stream.by_ref().take(LOADED_AT_ONCE).collect();
        if some.is_empty() {
            return Ok(loaded);
        }
        for one in &some {
            let (key, payload) = (Some(one.key.as_slice()), one.payload.as_deref());
            loaded.bytes += payload.map_or(0, <[u8]>::len) as u64;
            loaded.all.add(one.partition, key, payload);
            if one.first_of().is_some() {
                loaded.distinct.add(one.partition, key, payload);
            }
        }
        produce(bootstrap, topic, &some, Timestamps::EventTime)?;
    }
}
