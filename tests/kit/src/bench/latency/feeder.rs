//! Sends raw records at a rate, or as fast as they come out again.
//! Must not be in here: what is measured of them.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::passes;
use crate::bench::Contender;
use crate::error::Result;
use crate::generator::Sent;
use crate::produce::{PlainProducer, Timestamps};
use crate::wait::wait_until;

/// Between two portions: a small part of what a transaction takes.
const PACE: Duration = Duration::from_millis(1);
/// Records that may be on their way where no rate is set: several full transactions.
const WINDOW: u64 = 100_000;
/// Records sent at once where no rate is set.
const PORTION: usize = 1_000;
const SEEN_TIMEOUT: Duration = Duration::from_secs(120);

/// Sends to one raw topic, and knows how much must come out.
pub(super) struct Feeder {
    producer: PlainProducer,
    topic: String,
    contender: Contender,
    /// How many must come out of those that were sent.
    due: Cell<u64>,
    /// How many did.
    seen: Arc<AtomicU64>,
}

impl Feeder {
    pub(super) fn new(
        bootstrap: &str,
        topic: &str,
        contender: Contender,
        seen: Arc<AtomicU64>,
    ) -> Result<Feeder> {
        let producer = PlainProducer::new(bootstrap)?;
        Ok(Feeder { producer, topic: topic.to_owned(), contender, due: Cell::new(0), seen })
    }

    pub(super) fn send(&self, records: &[Sent]) -> Result<()> {
        let due = records.iter().filter(|one| passes(self.contender, one)).count() as u64;
        self.due.set(self.due.get() + due);
        self.producer.enqueue(&self.topic, records, Timestamps::Now)
    }

    /// Sends all records, so many a second; returns how many a second it were.
    pub(super) fn at_a_rate(&self, records: &[Sent], rate: f64) -> Result<f64> {
        let began = Instant::now();
        let mut sent = 0;
        while sent < records.len() {
            let due = ((began.elapsed().as_secs_f64() * rate) as usize).min(records.len());
            self.send(&records[sent..due])?;
            sent = due;
            thread::sleep(PACE);
        }
        Ok(records.len() as f64 / began.elapsed().as_secs_f64())
    }

    /// Sends whenever fewer than a window's records are on their way, for so long at most; returns
    /// how many a second were sent once the window was full.
    pub(super) fn as_fast_as_it_goes(&self, records: &[Sent], time: Duration) -> Result<f64> {
        let began = Instant::now();
        let mut full: Option<(Instant, usize)> = None;
        let mut sent = 0;
        while sent < records.len() && began.elapsed() < time {
            if self.due.get() - self.seen.load(Ordering::Relaxed) < WINDOW {
                let next = records.len().min(sent + PORTION);
                self.send(&records[sent..next])?;
                sent = next;
            } else {
                full.get_or_insert((Instant::now(), sent));
                thread::sleep(PACE);
            }
        }
        let (since, before) = full.unwrap_or((began, 0));
        Ok((sent - before) as f64 / since.elapsed().as_secs_f64())
    }

    pub(super) fn finish(&self) -> Result<()> {
        self.producer.finish(&self.topic)
    }

    pub(super) fn wait_until_seen(&self) -> Result<()> {
        let what = format!("all {} records that are due are seen", self.due.get());
        wait_until(SEEN_TIMEOUT, &what, || self.seen.load(Ordering::Relaxed) >= self.due.get())
    }
}
