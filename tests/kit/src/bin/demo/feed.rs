//! Sends the sample bit by bit from a thread of its own, so that there is load while the gate
//! starts, dies and comes back. Must not be in here: what is sent, or what becomes of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use oncegate_testkit::produce::{PlainProducer, Timestamps};
use oncegate_testkit::wait::wait_for;
use oncegate_testkit::{KitError, Result};

use crate::Samples;
use crate::progress::Progress;
use crate::stage::Stage;

/// Records of each kind in one step.
const STEP: usize = 2_000;
/// The same while a transaction is hunted for: the load must outlast the hunt.
const SLOW_STEP: usize = 800;
/// A step takes at least this long.
const STEP_TIME: Duration = Duration::from_millis(200);

/// A sample under way.
pub struct Feed {
    thread: JoinHandle<Result<Samples>>,
    shared: Arc<Shared>,
    total: usize,
}

#[derive(Default)]
struct Shared {
    sent: AtomicUsize,
    slow: AtomicBool,
}

impl Feed {
    /// Starts to send to the raw topics.
    pub fn start(stage: &Stage, samples: Samples) -> Feed {
        let shared = Arc::new(Shared::default());
        let total = samples.iter().map(|(_, sent)| sent.len()).sum();
        let topics: Vec<String> = samples.iter().map(|(kind, _)| stage.raw(*kind)).collect();
        let (bootstrap, told) = (stage.bootstrap.clone(), shared.clone());
        let thread = std::thread::spawn(move || {
            send(&bootstrap, &topics, &samples, &told)?;
            Ok(samples)
        });
        Feed { thread, shared, total }
    }

    /// Sends less at a time, or as much as before.
    pub fn slow(&self, slow: bool) {
        self.shared.slow.store(slow, Ordering::Relaxed);
    }

    /// Waits until this share of the sample is sent.
    pub fn wait_until_share(
        &self,
        share: f64,
        progress: &Progress,
        timeout: Duration,
    ) -> Result<()> {
        let wanted = (self.total as f64 * share) as usize;
        let what = format!("{wanted} records are sent");
        wait_for(timeout, &what, || {
            let sent = self.shared.sent.load(Ordering::Relaxed);
            progress.now_and_then(|| format!("sent {sent} of {}", self.total));
            // A thread that has ended says why in `finish`.
            if sent >= wanted || self.thread.is_finished() {
                return Ok(());
            }
            Err(format!("{sent} are sent"))
        })
    }

    /// Waits until all is sent, and gives the sample back.
    pub fn finish(self, progress: &Progress, timeout: Duration) -> Result<Samples> {
        self.wait_until_share(1.0, progress, timeout)?;
        self.thread.join().map_err(|_| KitError::new("the thread that sends panicked"))?
    }
}

fn send(bootstrap: &str, topics: &[String], samples: &Samples, shared: &Shared) -> Result<()> {
    let producer = PlainProducer::new(bootstrap)?;
    let mut at = vec![0; samples.len()];
    loop {
        let due = Instant::now() + STEP_TIME;
        let step = if shared.slow.load(Ordering::Relaxed) { SLOW_STEP } else { STEP };
        let mut sent_any = false;
        for ((at, topic), (_, sent)) in at.iter_mut().zip(topics).zip(samples) {
            let some = &sent[*at..sent.len().min(*at + step)];
            if some.is_empty() {
                continue;
            }
            producer.send(topic, some, Timestamps::EventTime)?;
            *at += some.len();
            sent_any = true;
            shared.sent.fetch_add(some.len(), Ordering::Relaxed);
        }
        if !sent_any {
            return Ok(());
        }
        // A pace, not a guess: nothing is expected to have happened after it.
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}
