//! How long records have waited in a raw partition, as far as this process can tell.
//! Must not be in here: a clock.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Ends of the log that are remembered; at one a second, the last ten minutes.
const ENDS_MAX: usize = 600;

/// When the end of a raw partition was seen to move.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    /// When each end was first seen, ascending.
    ends: VecDeque<(Instant, i64)>,
}

impl Arrivals {
    /// Takes where the log ends, and what is committed of it.
    pub fn note(&mut self, now: Instant, end: i64, committed_next: i64) {
        while self.ends.back().is_some_and(|(_, last)| *last > end) {
            self.ends.pop_back();
        }
        if self.ends.back().is_none_or(|(_, last)| *last < end) {
            let full = self.ends.len() >= ENDS_MAX;
            match self.ends.back_mut().filter(|_| full) {
                // What arrives now counts as old as the one before.
                Some((_, last)) => *last = end,
                None => self.ends.push_back((now, end)),
            }
        }
        while self.ends.front().is_some_and(|(_, end)| *end <= committed_next) {
            self.ends.pop_front();
        }
    }

    /// For how long the first record that is not committed has been there at least.
    pub fn age(&self, now: Instant) -> Duration {
        self.ends.front().map_or(Duration::ZERO, |(seen, _)| now.saturating_duration_since(*seen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_is_not_committed_counts() {
        let (mut arrivals, begun) = (Arrivals::default(), Instant::now());
        let at = |s: u64| begun + Duration::from_secs(s);
        let age = |arrivals: &Arrivals, s: u64| arrivals.age(at(s)).as_secs();
        arrivals.note(at(0), 10, 10);
        assert_eq!(age(&arrivals, 5), 0, "all is committed");
        arrivals.note(at(5), 20, 10);
        arrivals.note(at(6), 20, 12);
        arrivals.note(at(7), 30, 12);
        assert_eq!(age(&arrivals, 9), 4);
        arrivals.note(at(9), 30, 20);
        assert_eq!(age(&arrivals, 9), 2);
        arrivals.note(at(10), 30, 30);
        assert_eq!(age(&arrivals, 10), 0);
        arrivals.note(at(11), 5, 0);
        assert_eq!(age(&arrivals, 13), 2, "the log lost its tail");
    }

    #[test]
    fn what_is_remembered_is_bounded_and_never_younger_than_it_is() {
        let (mut arrivals, begun) = (Arrivals::default(), Instant::now());
        for s in 0..2 * ENDS_MAX as u64 {
            arrivals.note(begun + Duration::from_secs(s), s as i64 + 1, 0);
        }
        assert_eq!(arrivals.ends.len(), ENDS_MAX);
        arrivals.note(begun + Duration::from_secs(2000), 2000, 1999);
        assert!(arrivals.age(begun + Duration::from_secs(2000)) >= Duration::from_secs(1));
    }
}
