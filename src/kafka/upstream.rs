//! Finds partitions that wait for a transaction of somebody else: all that is committed was read,
//! the log goes on, and that does not change.
//! Must not be in here: what is done about it; nothing of ours can end another's transaction.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long an open transaction is none that hangs.
const HANGS_AFTER: Duration = Duration::from_secs(10);
/// One that goes on hanging is told of this often.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// Where the client stands in a partition, as its statistics say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stand {
    /// The partition.
    pub partition: i32,
    /// The next offset to read.
    pub next: i64,
    /// The first offset that belongs to an open transaction, or the end.
    pub stable: i64,
    /// The end of the log.
    pub high: i64,
}

/// What is known of the partitions that wait.
#[derive(Debug, Default)]
pub struct Upstream {
    waiting: BTreeMap<i32, Waiting>,
}

#[derive(Debug)]
struct Waiting {
    at: i64,
    since: Instant,
    told: Option<Instant>,
}

impl Upstream {
    /// Takes where the client stands in all its partitions; gives those to tell of.
    pub fn note(&mut self, stands: &[Stand], now: Instant) -> Vec<Stand> {
        let waits = |stand: &&Stand| {
            stand.stable >= 0 && stand.next >= stand.stable && stand.high > stand.stable
        };
        let waiting: Vec<Stand> = stands.iter().filter(waits).copied().collect();
        self.waiting.retain(|partition, known| {
            waiting.iter().any(|stand| stand.partition == *partition && stand.stable == known.at)
        });
        let mut to_tell = Vec::new();
        for stand in waiting {
            let new = Waiting { at: stand.stable, since: now, told: None };
            let known = self.waiting.entry(stand.partition).or_insert(new);
            let due = known.told.is_none_or(|told| now.duration_since(told) >= TELL_EVERY);
            if due && now.duration_since(known.since) >= HANGS_AFTER {
                known.told = Some(now);
                to_tell.push(stand);
            }
        }
        to_tell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stand(next: i64, stable: i64, high: i64) -> [Stand; 1] {
        [Stand { partition: 2, next, stable, high }]
    }

    #[test]
    fn only_what_stays_open_for_long_is_told_and_not_too_often() {
        let (mut upstream, begun) = (Upstream::default(), Instant::now());
        let mut told =
            |stands: &[Stand], s: u64| upstream.note(stands, begun + Duration::from_secs(s)).len();
        assert_eq!(told(&stand(50, 100, 120), 0), 0, "there is more to read");
        assert_eq!(told(&stand(100, 100, 100), 5), 0, "read to the end");
        assert_eq!(told(&stand(100, 100, 120), 10), 0);
        assert_eq!(told(&stand(110, 110, 120), 19), 0, "another transaction is open");
        assert_eq!(told(&stand(110, 110, 130), 28), 0);
        assert_eq!(told(&stand(110, 110, 130), 29), 1);
        assert_eq!(told(&stand(110, 110, 130), 60), 0);
        assert_eq!(told(&stand(110, 110, 130), 89), 1);
        assert_eq!(told(&stand(140, 140, 140), 95), 0);
        assert_eq!(told(&stand(140, 140, 150), 100), 0, "it begins anew");
        assert_eq!(told(&[], 200), 0, "it is read by another");
    }
}
