//! What the demo says while it works, and the wait for the gate to decide all records.
//! Must not be in here: a result.

use std::cell::Cell;
use std::time::{Duration, Instant};

use oncegate_testkit::Result;
use oncegate_testkit::error::Doing;
use oncegate_testkit::generator::Kind;
use oncegate_testkit::reader::watermarks;
use oncegate_testkit::wait::wait_for;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use crate::cases;
use crate::stage::Stage;

/// Lines of one kind come at most this often.
const SAY_EVERY: Duration = Duration::from_secs(3);
const THROUGH_TIMEOUT: Duration = Duration::from_secs(120);
const ASK_TIMEOUT: Duration = Duration::from_secs(5);

/// The voice of the demo, with the time since its start.
pub struct Progress {
    started: Instant,
    last: Cell<Instant>,
}

impl Progress {
    /// From now on.
    pub fn start() -> Progress {
        let now = Instant::now();
        Progress { started: now, last: Cell::new(now) }
    }

    /// Says it.
    pub fn say(&self, text: String) {
        self.last.set(Instant::now());
        println!("{:6.1} s  {text}", self.started.elapsed().as_secs_f64());
    }

    /// Says it if nothing was said for a while.
    pub fn now_and_then(&self, text: impl FnOnce() -> String) {
        if self.last.get().elapsed() >= SAY_EVERY {
            self.say(text());
        }
    }
}

/// A group's committed offsets, and where they must arrive.
struct Followed {
    consumer: BaseConsumer,
    topic: String,
    ends: Vec<i64>,
}

impl Followed {
    fn new(stage: &Stage, route: &str) -> Result<Followed> {
        let topic = stage.named(&format!("{route}.raw"));
        let ends = watermarks(&stage.bootstrap, &topic)?.into_iter().map(|(_, end)| end).collect();
        let consumer = ClientConfig::new()
            .set("bootstrap.servers", &stage.bootstrap)
            .set("group.id", stage.group(route))
            // Waits for a transaction that is about to commit an offset.
            .set("isolation.level", "read_committed")
            .set("enable.auto.commit", "false")
            .create()
            .doing(|| format!("cannot make a consumer for {}", stage.bootstrap))?;
        Ok(Followed { consumer, topic, ends })
    }

    /// Records that are not yet decided.
    fn behind(&self) -> Result<i64> {
        let what = || format!("the committed offsets of {} are not to be had", self.topic);
        let mut asked = TopicPartitionList::new();
        for partition in 0..self.ends.len() {
            asked.add_partition(&self.topic, partition as i32);
        }
        let answer = self.consumer.committed_offsets(asked, ASK_TIMEOUT).doing(what)?;
        let mut behind = 0;
        for element in answer.elements_for_topic(&self.topic) {
            element.error().doing(what)?;
            let committed = match element.offset() {
                Offset::Offset(offset) => offset,
                _ => 0,
            };
            behind += self.ends[element.partition() as usize] - committed;
        }
        Ok(behind)
    }
}

/// Waits until the committed offsets of every route have reached the ends of the raw topics.
/// `alive` ends the wait early with its error.
pub fn wait_until_through(
    stage: &Stage,
    progress: &Progress,
    mut alive: impl FnMut() -> Result<()>,
) -> Result<()> {
    let names = Kind::ALL.map(Kind::name).into_iter().chain([cases::ROUTE]);
    let routes: Vec<Followed> =
        names.map(|route| Followed::new(stage, route)).collect::<Result<_>>()?;
    wait_for(THROUGH_TIMEOUT, "the gate has committed every partition to its end", || {
        if let Err(error) = alive() {
            return Ok(Err(error));
        }
        let behind = routes.iter().map(Followed::behind).sum::<Result<i64>>();
        let behind = behind.map_err(|error| error.to_string())?;
        progress.now_and_then(|| format!("{behind} records are still to be decided"));
        if behind == 0 { Ok(Ok(())) } else { Err(format!("{behind} records are undecided")) }
    })?
}
