//! The clock of the status: takes a sample of every route in turn, and tells the status of now.
//! Must not be in here: what a status says, or how it is served.

use super::board::Board;
use super::history::{History, Reading, SAMPLE_EVERY_SECONDS, Sample};
use super::logging;
use super::status::{About, Moment, Status};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What the status of the process is made of.
pub struct Sampler {
    about: About,
    board: Arc<Board>,
    started: Instant,
    histories: Mutex<BTreeMap<String, History>>,
}

impl Sampler {
    /// For a process that has just begun.
    pub fn new(about: About, board: Arc<Board>) -> Sampler {
        Sampler { about, board, started: Instant::now(), histories: Mutex::default() }
    }

    /// Takes samples until the process ends; in step with them, the log says what it left out.
    pub async fn keep(&self) {
        let mut ticks = tokio::time::interval(Duration::from_secs(SAMPLE_EVERY_SECONDS));
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.sample();
            logging::tell_left_out();
        }
    }

    fn sample(&self) {
        let seen = self.board.partitions();
        let at = since_1970().as_secs();
        let elapsed_ms = self.started.elapsed().as_millis() as u64;
        // Samples are plain values; one that was half taken is the next one's beginning.
        let mut histories = self.histories.lock().unwrap_or_else(PoisonError::into_inner);
        for route in self.about.routes.iter().map(|route| route.name.as_str()) {
            let lags =
                seen.iter().filter(|seen| seen.route == route).map(|seen| seen.lag_records());
            let lag_records = lags.flatten().reduce(|sum, lag| sum + lag);
            let records = self.board.records(route);
            let history = histories.entry(route.to_owned()).or_default();
            history.take(Reading { at, elapsed_ms, records, lag_records });
        }
    }

    /// The status of now.
    pub fn status(&self) -> Status {
        let moment = Moment {
            now_ms: since_1970().as_millis() as i64,
            uptime_seconds: self.started.elapsed().as_secs(),
        };
        let heard = self.board.heard();
        Status::new(&self.about, &heard, |route| self.samples(route), moment)
    }

    fn samples(&self, route: &str) -> Vec<Sample> {
        let histories = self.histories.lock().unwrap_or_else(PoisonError::into_inner);
        histories.get(route).map(History::samples).unwrap_or_default()
    }
}

/// A clock before 1970 is one that nobody has set.
fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::status::RouteNames;

    #[test]
    fn what_is_committed_becomes_a_rate() {
        let names = ["lab", "serials"].map(|name| RouteNames {
            name: name.to_owned(),
            raw: "raw".to_owned(),
            clean: "clean".to_owned(),
        });
        let about = About { instance: "i".into(), group: "g".into(), routes: names.into() };
        let board = Arc::new(Board::new(1));
        let sampler = Sampler::new(about, board.clone());
        sampler.sample();
        board.count("lab", 1_000);
        board.count("lab", 1);
        std::thread::sleep(Duration::from_millis(20));
        sampler.sample();
        let status = sampler.status();
        let rate = |nth: usize| status.routes[nth].history[0].records_per_second;
        assert!(rate(0) > 0.0 && rate(0) <= 1_001.0 / 0.02, "{}", rate(0));
        assert_eq!(rate(1), 0.0);
        assert_eq!(board.records("lab"), 1_001);
    }
}
