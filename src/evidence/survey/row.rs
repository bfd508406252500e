//! The row that one delivery of an event gives, of one width so that it can be sorted.
//! Must not be in here: what deliveries of one event mean.

use crate::identity::{ContentDigest, EventKey};

/// Bytes of a row.
pub const ROW_BYTES: usize = 88;

/// One delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Event key.
    pub key: EventKey,
    /// Raw partition.
    pub partition: i32,
    /// Raw offset.
    pub offset: i64,
    /// Index of the event within its record.
    pub item: u32,
    /// Content digest.
    pub digest: ContentDigest,
    /// When its record arrived, in milliseconds.
    pub arrival_ms: i64,
    /// Which event of its partition, in order.
    pub nth: u64,
    /// How far it lies behind the partition's clock, in microseconds; negative without an event
    /// time.
    pub behind_micros: i64,
}

impl Row {
    /// Key, then raw position: deliveries of one event stand together, in order.
    pub fn to_bytes(&self) -> [u8; ROW_BYTES] {
        let mut bytes = [0; ROW_BYTES];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        put(self.key.as_bytes());
        put(&self.partition.to_be_bytes());
        put(&self.offset.to_be_bytes());
        put(&self.item.to_be_bytes());
        put(self.digest.as_bytes());
        put(&self.arrival_ms.to_be_bytes());
        put(&self.nth.to_be_bytes());
        put(&self.behind_micros.to_be_bytes());
        bytes
    }

    /// Reads a row that [`Row::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8; ROW_BYTES]) -> Row {
        Row {
            key: EventKey::new(part(bytes, 0)),
            partition: i32::from_be_bytes(part(bytes, 32)),
            offset: i64::from_be_bytes(part(bytes, 36)),
            item: u32::from_be_bytes(part(bytes, 44)),
            digest: ContentDigest::new(part(bytes, 48)),
            arrival_ms: i64::from_be_bytes(part(bytes, 64)),
            nth: u64::from_be_bytes(part(bytes, 72)),
            behind_micros: i64::from_be_bytes(part(bytes, 80)),
        }
    }
}

/// The `M` bytes at `at`; the callers' places lie within a row.
fn part<const M: usize>(bytes: &[u8; ROW_BYTES], at: usize) -> [u8; M] {
    let mut out = [0; M];
    out.copy_from_slice(&bytes[at..at + M]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_what_they_hold() {
        let row = Row {
            key: EventKey::new([1; 32]),
            partition: 2,
            offset: 3,
            item: 4,
            digest: ContentDigest::new([5; 16]),
            arrival_ms: 6,
            nth: 7,
            behind_micros: -1,
        };
        assert_eq!(Row::from_bytes(&row.to_bytes()), row);
        assert!(row.to_bytes() < Row { offset: 4, ..row }.to_bytes());
    }
}
