//! The load: one producer that sends a sample at a steady rate, past the proxies.
//! Must not be in here: what becomes of the records.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::{KitError, Result};
use crate::generator::{Kind, Sample, Sent};
use crate::produce::{PlainProducer, Timestamps};

/// Records that are sent at once.
const AT_ONCE: usize = 60;

/// A thread that sends until it is told to stop.
pub struct Feed {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Vec<Sent>>>>,
}

impl Feed {
    /// Sends the sample's records of a kind, so many a second.
    pub fn start(bootstrap: &str, topic: String, sample: Sample, kind: Kind, rate: u32) -> Feed {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, bootstrap) = (Arc::clone(&stop), bootstrap.to_owned());
        let thread = thread::spawn(move || {
            let producer = PlainProducer::new(&bootstrap)?;
            let mut stream = sample.stream(kind);
            let mut sent: Vec<Sent> = Vec::new();
            let began = Instant::now();
            while !stopped.load(Ordering::Relaxed) {
                let some: Vec<Sent> = stream.by_ref().take(AT_ONCE).collect();
                if some.is_empty() {
                    return Err(KitError::new("the sample was too short for the run"));
                }
                producer.enqueue(&topic, &some, Timestamps::EventTime)?;
                sent.extend(some);
                let due = Duration::from_secs_f64(sent.len() as f64 / f64::from(rate));
                thread::sleep(due.saturating_sub(began.elapsed()));
            }
            producer.finish(&topic)?;
            Ok(sent)
        });
        Feed { stop, thread: Some(thread) }
    }

    /// Stops, and gives what was sent once all of it was acknowledged.
    pub fn stop(mut self) -> Result<Vec<Sent>> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take();
        let joined = thread.map(JoinHandle::join);
        joined
            .and_then(std::result::Result::ok)
            .unwrap_or_else(|| Err(KitError::new("the producer of the load panicked")))
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
