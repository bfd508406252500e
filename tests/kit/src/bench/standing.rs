//! What stands in a topic, as a count and a hash for each partition: enough to tell that a topic
//! holds exactly the records that it should, in order and unchanged, however many they are. For
//! who promises no order across partitions, also as a sum that no order changes.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::error::Result;
use crate::reader::for_each_record;
use rdkafka::Message;

/// Counts and hashes of the records of a topic, by partition.
pub struct Standing {
    partitions: Vec<(u64, Sha256)>,
    /// The hashes of all records, added up in four parts: a record that is missing, comes twice
    /// or is another changes it, wherever it stands.
    sum: [u64; 4],
}

impl Standing {
    /// Of nothing yet.
    pub fn new(partitions: i32) -> Standing {
        Standing { partitions: (0..partitions).map(|_| (0, Sha256::new())).collect(), sum: [0; 4] }
    }

    /// Of the committed records of a topic.
    pub fn of_topic(bootstrap: &str, topic: &str, partitions: i32) -> Result<Standing> {
        let mut standing = Standing::new(partitions);
        for_each_record(bootstrap, topic, |record| {
            standing.add(record.partition(), record.key(), record.payload());
        })?;
        Ok(standing)
    }

    /// Adds the next record of a partition.
    pub fn add(&mut self, partition: i32, key: Option<&[u8]>, payload: Option<&[u8]>) {
        let partition = partition as usize;
        if self.partitions.len() <= partition {
            self.partitions.resize_with(partition + 1, || (0, Sha256::new()));
        }
        let mut record = Sha256::new();
        for part in [key, payload] {
            record.update(part.map_or(-1, |bytes| bytes.len() as i64).to_be_bytes());
            record.update(part.unwrap_or_default());
        }
        let record = record.finalize();
        for (sum, part) in self.sum.iter_mut().zip(record.chunks_exact(8)) {
            *sum = sum.wrapping_add(part.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)));
        }
        let (count, hash) = &mut self.partitions[partition];
        *count += 1;
        hash.update(record);
    }

    /// Records over all partitions.
    pub fn records(&self) -> u64 {
        self.partitions.iter().map(|(count, _)| count).sum()
    }

    /// Whether two topics hold the same records in the same order.
    pub fn is(&self, other: &Standing) -> bool {
        let hash = |(count, hash): &(u64, Sha256)| (*count, hash.clone().finalize());
        self.partitions.iter().map(hash).eq(other.partitions.iter().map(hash))
    }

    /// Whether two topics hold the same records as often, in whatever order and partition.
    pub fn is_in_any_order(&self, other: &Standing) -> bool {
        self.records() == other.records() && self.sum == other.sum
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (count, hash)) in self.partitions.iter().enumerate() {
            let hash = hash.clone().finalize();
            let digits: String = hash[..4].iter().map(|byte| format!("{byte:02x}")).collect();
            write!(f, "{}{number}: {count} ({digits})", if number == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(records: &[(i32, &str)]) -> Standing {
        let mut standing = Standing::new(2);
        for (partition, payload) in records {
            standing.add(*partition, Some(b"k"), Some(payload.as_bytes()));
        }
        standing
    }

    #[test]
    fn order_partition_and_bytes_all_count() {
        let expected = of(&[(0, "a"), (0, "b"), (1, "c")]);
        assert!(expected.is(&of(&[(1, "c"), (0, "a"), (0, "b")])), "partitions are apart");
        for other in [
            of(&[(0, "b"), (0, "a"), (1, "c")]),
            of(&[(0, "a"), (0, "b"), (0, "c")]),
            of(&[(0, "a"), (0, "b"), (1, "c"), (1, "c")]),
            of(&[(0, "a"), (0, "b")]),
            of(&[(0, "a"), (0, "b"), (1, "d")]),
        ] {
            assert!(!expected.is(&other), "{expected} and {other}");
        }
    }

    #[test]
    fn without_order_only_the_records_count() {
        let expected = of(&[(0, "a"), (0, "b"), (1, "c")]);
        assert!(expected.is_in_any_order(&of(&[(0, "c"), (0, "b"), (1, "a")])));
        for other in [
            of(&[(0, "a"), (0, "b")]),
            of(&[(0, "a"), (0, "b"), (1, "c"), (1, "c")]),
            of(&[(0, "a"), (0, "b"), (1, "b")]),
        ] {
            assert!(!expected.is_in_any_order(&other), "{expected} and {other}");
        }
    }
}
