//! What one raw topic is sent: samples of an hour, one after the other, in step with the clock;
//! now and then an event that is late, or one whose content changed. Knows no cluster and no clock.

use std::time::Duration;

use oncegate_testkit::Result;
use oncegate_testkit::generator::{Delivery, Kind, Sample, SampleOptions, Sent, SentStream, Truth};

/// The raw topics of the shipped configuration and what they hold.
const TOPICS: [(&str, Kind); 4] = [
    ("lab.raw", Kind::Lab),
    ("epcis.raw", Kind::Epcis),
    ("inventory.raw", Kind::Inventory),
    ("dispense.raw", Kind::Inventory),
];
const SAMPLE_SECONDS: u32 = 3_600;
/// The one route with a window, of 30 days.
const WITH_WINDOW: &str = "dispense.raw";
const LATE_BY_MS: i64 = 40 * 86_400_000;
/// One in so many records is late.
const LATE_EVERY: u64 = 400;
/// One in so many later deliveries has other content.
const AMENDED_EVERY: u64 = 40;

/// The names of the raw topics.
pub fn topics() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|(topic, _)| *topic)
}

/// The records of one topic.
pub struct Flow {
    topic: &'static str,
    kind: Kind,
    rate: f64,
    partitions: i32,
    /// Records that are due and not sent, a fraction among them.
    owed: f64,
    sample: SentStream,
    late: SentStream,
    records: u64,
    again: u64,
}

impl Flow {
    /// One for each topic; `rate` is that of all together.
    pub fn all(rate: u32, partitions: i32, now_ms: i64) -> Result<Vec<Flow>> {
        let rate = f64::from(rate) / TOPICS.len() as f64;
        let flow = |(topic, kind)| {
            Ok(Flow {
                topic,
                kind,
                rate,
                partitions,
                owed: 0.0,
                sample: sample(topic, kind, rate, partitions, now_ms)?,
                late: sample(topic, kind, rate, partitions, now_ms - LATE_BY_MS)?,
                records: 0,
                again: 0,
            })
        };
        TOPICS.into_iter().map(flow).collect()
    }

    /// Where the records go.
    pub fn topic(&self) -> &'static str {
        self.topic
    }

    /// The records of so much time.
    pub fn step(&mut self, time: Duration, now_ms: i64) -> Result<Vec<Sent>> {
        self.owed += self.rate * time.as_secs_f64();
        let whole = self.owed.floor();
        self.owed -= whole;
        (0..whole as u64).map(|_| self.next(now_ms)).collect()
    }

    fn next(&mut self, now_ms: i64) -> Result<Sent> {
        self.records += 1;
        if self.topic == WITH_WINDOW && self.records.is_multiple_of(LATE_EVERY) {
            if let Some(sent) = self.late.next() {
                return Ok(sent);
            }
            self.late = self.fresh(now_ms - LATE_BY_MS)?;
        }
        let mut sent = match self.sample.next() {
            Some(sent) => sent,
            None => {
                self.sample = self.fresh(now_ms)?;
                return self.next(now_ms);
            }
        };
        if matches!(sent.truth, Truth::Event { delivery: Delivery::Again, .. }) {
            self.again += 1;
            if self.kind == Kind::Lab && self.again.is_multiple_of(AMENDED_EVERY) {
                sent.payload = sent.payload.map(amended);
            }
        }
        Ok(sent)
    }

    fn fresh(&self, start_ms: i64) -> Result<SentStream> {
        sample(self.topic, self.kind, self.rate, self.partitions, start_ms)
    }
}

/// An hour of events from `start_ms` on, at the rate at which they are sent. The time is part of
/// every event's identity, so the numbers of events may come round again.
fn sample(
    topic: &str,
    kind: Kind,
    rate: f64,
    partitions: i32,
    start_ms: i64,
) -> Result<SentStream> {
    let start = start_ms.unsigned_abs();
    let mut options = SampleOptions {
        // Topics of the same kind differ.
        seed: start.wrapping_mul(31).wrapping_add(topic.len() as u64),
        records: (rate * f64::from(SAMPLE_SECONDS)).ceil() as usize,
        kinds: vec![kind],
        partitions,
        // Nine digits at most: a serial has room for no more.
        first_event_id: 1 + start / 1_000 % 9_000_000 * 100,
        start_ms,
        ..SampleOptions::default()
    };
    let fresh_rate = rate * (1.0 - options.again_share);
    options.step_ms_max = ((2_000.0 / fresh_rate) as u32).max(1);
    Ok(Sample::new(options)?.stream(kind))
}

/// The same event with a member that it did not have: content beside the identity.
fn amended(mut payload: Vec<u8>) -> Vec<u8> {
    if let Some(end) = payload.iter().rposition(|byte| *byte == b'}') {
        payload.splice(end..end, *b",\"amended\":true");
    }
    payload
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_790_000_000_000;

    /// Sends so many seconds in steps of a tenth; gives all records of a topic.
    fn sent(rate: u32, seconds: u32, topic: &str) -> Vec<Sent> {
        let flows = Flow::all(rate, 4, NOW_MS).unwrap();
        let mut flow = flows.into_iter().find(|flow| flow.topic() == topic).unwrap();
        let step = |tenth: u32| {
            flow.step(Duration::from_millis(100), NOW_MS + i64::from(tenth) * 100).unwrap()
        };
        (0..seconds * 10).flat_map(step).collect()
    }

    #[test]
    fn the_rate_is_kept_and_event_time_is_the_clocks() {
        let hours = 3 * SAMPLE_SECONDS;
        let all = sent(8, hours, "epcis.raw");
        let due = 2 * hours as usize;
        assert!(all.len().abs_diff(due) <= 1, "{} of {due}", all.len());
        let latest = all.iter().map(|sent| sent.event_time_ms).max().unwrap();
        let ahead_ms = latest - (NOW_MS + i64::from(hours) * 1_000);
        assert!(ahead_ms.abs() < 600_000, "{ahead_ms} ms ahead of the clock");
    }

    #[test]
    fn all_that_a_dashboard_shows_comes_along() {
        let lab = sent(400, 300, "lab.raw");
        let again =
            |sent: &&Sent| matches!(sent.truth, Truth::Event { delivery: Delivery::Again, .. });
        let amended = lab.iter().filter(again).filter(|sent| {
            let payload = sent.payload.as_deref().unwrap_or_default();
            let document: serde_json::Value = serde_json::from_slice(payload).unwrap();
            document["amended"] == true
        });
        assert!(amended.count() > 10);
        assert!(lab.iter().any(Sent::is_broken));
        let late = |sent: &&Sent| sent.event_time_ms < NOW_MS - 30 * 86_400_000;
        assert!(sent(400, 300, "dispense.raw").iter().filter(late).count() > 10);
        assert_eq!(lab.iter().filter(late).count(), 0);
    }
}
