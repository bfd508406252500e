//! A reader of the clean topic that notes when records of each partition came: what the faults
//! cost is told by what readers saw.
//! Must not be in here: a fault, or what a record says.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rdkafka::Message;
use rdkafka::consumer::Consumer;

use crate::error::{Doing, Result};
use crate::reader::{new_consumer, partitions_from_start};

const POLL: Duration = Duration::from_millis(50);
/// Times of one partition that are closer than this are one.
const GRAIN: Duration = Duration::from_millis(20);

/// When committed records of each partition came, in order.
type Times = Vec<Vec<Instant>>;

/// Watches a topic from a thread of its own.
pub struct Watch {
    times: Arc<Mutex<Times>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Reads the topic from its beginning on.
    pub fn start(bootstrap: &str, topic: &str, partitions: i32) -> Result<Watch> {
        let consumer = new_consumer(bootstrap, "oncegate-testkit-watch", "read_committed")?;
        consumer
            .assign(&partitions_from_start(topic, partitions)?)
            .doing(|| format!("cannot read {topic}"))?;
        let times = Arc::new(Mutex::new(vec![Vec::new(); partitions as usize]));
        let stop = Arc::new(AtomicBool::new(false));
        let (noted, stopped) = (Arc::clone(&times), Arc::clone(&stop));
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                // Errors pass: the client goes on by itself once the broker is back.
                if let Some(Ok(message)) = consumer.poll(POLL) {
                    let mut times: MutexGuard<'_, Times> = lock(&noted);
                    let times = &mut times[message.partition() as usize];
                    let now = Instant::now();
                    if times.last().is_none_or(|last| now - *last >= GRAIN) {
                        times.push(now);
                    }
                }
            }
        });
        Ok(Watch { times, stop, thread: Some(thread) })
    }

    /// When, after `since`, records of every partition had come; none before they have.
    pub fn all_moved(&self, since: Instant) -> Option<Instant> {
        let times = lock(&self.times);
        let first = |times: &Vec<Instant>| {
            let place = times.partition_point(|time| *time <= since);
            times.get(place).copied()
        };
        times.iter().map(first).collect::<Option<Vec<Instant>>>()?.into_iter().max()
    }

    /// Partitions of which no record came after `since`.
    pub fn standing(&self, since: Instant) -> Vec<usize> {
        let times = lock(&self.times);
        let stands = |times: &Vec<Instant>| times.last().is_none_or(|last| *last <= since);
        times.iter().enumerate().filter(|(_, times)| stands(times)).map(|(p, _)| p).collect()
    }

    /// The longest time in which a partition stood still, of those that touch `[from, to]`.
    pub fn longest_pause(&self, from: Instant, to: Instant) -> Duration {
        let times = lock(&self.times);
        let of_partition = |times: &Vec<Instant>| longest_pause(times, from, to);
        times.iter().map(of_partition).max().unwrap_or_default()
    }

    /// The same for each partition.
    pub fn pauses(&self, from: Instant, to: Instant) -> Vec<Duration> {
        lock(&self.times).iter().map(|times| longest_pause(times, from, to)).collect()
    }

    /// When, after `since`, the first record of a partition came.
    pub fn moved(&self, partition: usize, since: Instant) -> Option<Instant> {
        let times = lock(&self.times);
        let of_partition = times.get(partition)?;
        of_partition.get(of_partition.partition_point(|time| *time <= since)).copied()
    }
}

fn longest_pause(times: &[Instant], from: Instant, to: Instant) -> Duration {
    let begin = times.partition_point(|time| *time <= from).saturating_sub(1);
    let end = times.partition_point(|time| *time < to);
    let mut longest = Duration::ZERO;
    for pair in times[begin.min(times.len())..].windows(2).take(end.saturating_sub(begin)) {
        longest = longest.max(pair[1] - pair[0]);
    }
    match times.last() {
        Some(last) if *last < to => longest.max(to - *last),
        _ => longest,
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock(times: &Mutex<Times>) -> MutexGuard<'_, Times> {
    times.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_touch_the_window() {
        let zero = Instant::now();
        let at = |ms: u64| zero + Duration::from_millis(ms);
        let times: Vec<Instant> = [0, 10, 500, 510, 900].map(at).to_vec();
        let longest = |from, to| longest_pause(&times, at(from), at(to)).as_millis();
        assert_eq!(longest(20, 30), 490, "the window lies in it");
        assert_eq!(longest(505, 600), 390);
        assert_eq!(longest(0, 8), 10);
        assert_eq!(longest(901, 1_500), 600, "it still stands");
        assert_eq!(longest_pause(&[], at(0), at(5)).as_millis(), 0);
    }
}
