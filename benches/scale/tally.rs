//! Rates, and two of them taken in turns.
//! Must not be in here: what was done in the time.

use std::time::Duration;

/// How many keys took how long.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    keys: u64,
    time: Duration,
}

impl Tally {
    /// Adds to it.
    pub fn add(&mut self, keys: u64, time: Duration) {
        self.keys += keys;
        self.time += time;
    }

    /// Adds another one.
    pub fn merge(&mut self, other: Tally) {
        self.add(other.keys, other.time);
    }

    /// Keys a second; none where nothing was done.
    pub fn rate(&self) -> Option<f64> {
        (self.keys > 0).then(|| self.keys as f64 / self.time.as_secs_f64().max(1e-9))
    }
}

/// The large store and a small one, measured in turns: what disturbs the machine meets both.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    /// The large one.
    pub large: Tally,
    /// The one beside it.
    pub small: Tally,
    /// Large over small, a round each.
    ratios: Vec<f64>,
}

impl Turns {
    /// Adds a round.
    pub fn add(&mut self, large: Tally, small: Tally) {
        self.large.merge(large);
        self.small.merge(small);
        if let (Some(large), Some(small)) = (large.rate(), small.rate()) {
            self.ratios.push(large / small);
        }
    }

    /// Large over small, of all rounds together: a long wait in one of them counts.
    pub fn ratio(&self) -> f64 {
        self.large.rate().zip(self.small.rate()).map_or(f64::NAN, |(large, small)| large / small)
    }

    /// Minimum, median and maximum of the rounds' ratios.
    pub fn ratios(&self) -> [f64; 3] {
        let mut sorted = self.ratios.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
        let last = sorted.len().saturating_sub(1);
        [at(0), (at(last / 2) + at(last.div_ceil(2))) / 2.0, at(last)]
    }
}
