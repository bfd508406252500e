//! How values spread over many orders of magnitude, in little room.
//! Must not be in here: what the values are.

use serde::{Serialize, Serializer};

/// Buckets within one doubling: a quantile is at most an eighth too high.
const STEPS: usize = 8;
const BUCKETS: usize = 64 * STEPS;

/// Counts of values from 0 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    buckets: Vec<u64>,
    count: u64,
    max: u64,
}

impl Default for Spread {
    fn default() -> Spread {
        Spread { buckets: vec![0; BUCKETS], count: 0, max: 0 }
    }
}

impl Spread {
    /// Adds a value.
    pub fn add(&mut self, value: u64) {
        self.buckets[bucket(value)] += 1;
        self.count += 1;
        self.max = self.max.max(value);
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The highest.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// A bound that this share of the values, in thousandths, does not exceed.
    pub fn quantile(&self, thousandths: u64) -> u64 {
        let rank = (self.count * thousandths).div_ceil(1000);
        let mut below = 0;
        for (nth, count) in self.buckets.iter().enumerate() {
            below += count;
            if below >= rank && *count > 0 {
                return highest(nth).min(self.max);
            }
        }
        self.max
    }

    /// Adds another's values.
    pub fn merge(&mut self, other: &Spread) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.count += other.count;
        self.max = self.max.max(other.max);
    }
}

fn bucket(value: u64) -> usize {
    if value < STEPS as u64 {
        return value as usize;
    }
    let log = value.ilog2() as usize;
    let step = (value >> (log - 3)) as usize - STEPS;
    (log - 2) * STEPS + step
}

/// The highest value of a bucket.
fn highest(bucket: usize) -> u64 {
    if bucket < STEPS {
        return bucket as u64;
    }
    let (log, step) = (bucket / STEPS + 2, bucket % STEPS);
    let width = 1u64 << (log - 3);
    ((STEPS + step) as u64 * width).saturating_add(width - 1)
}

impl Serialize for Spread {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written {
            count: u64,
            p50: u64,
            p90: u64,
            p99: u64,
            p999: u64,
            max: u64,
        }
        Written {
            count: self.count,
            p50: self.quantile(500),
            p90: self.quantile(900),
            p99: self.quantile(990),
            p999: self.quantile(999),
            max: self.max,
        }
        .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_bucket_that_bounds_it_closely() {
        for value in (0..2_000).chain([1 << 40, u64::MAX / 3, u64::MAX]) {
            let bound = highest(bucket(value));
            assert!(bound >= value && bound - value <= value / 8, "{value} {bound}");
        }
    }

    #[test]
    fn quantiles_bound_their_share() {
        let mut spread = Spread::default();
        (1..=1_000).for_each(|value| spread.add(value));
        let [p50, p99] = [spread.quantile(500), spread.quantile(990)];
        assert!((500..570).contains(&p50) && (990..=1_000).contains(&p99), "{p50} {p99}");
        assert_eq!((spread.quantile(1_000), spread.max()), (1_000, 1_000));
        assert_eq!(Spread::default().quantile(990), 0);
    }
}
