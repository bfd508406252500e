//! What stands in a clean topic against what the generator sent: nothing twice, nothing missing,
//! in order, unchanged. Trusts the generator's truth only, no key and no header of oncegate's.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use crate::generator::{Kind, Sent, Truth, event_id_of};
use crate::reader::Record;

const DIFFERENCES_SHOWN: usize = 8;

/// The differences between a clean topic and what it should hold, as counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Raw records.
    pub sent: usize,
    /// Events among them.
    pub distinct: usize,
    /// Later deliveries of these events.
    pub again: usize,
    /// Broken raw records.
    pub broken: usize,
    /// Clean records.
    pub clean: usize,
    /// Clean records beyond the first of their event.
    pub twice: usize,
    /// Events that have no clean record.
    pub missing: usize,
    /// Clean records that stand behind one which came later on the raw partition.
    pub out_of_order: usize,
    /// Clean records of no sent event, or of an event of another partition.
    pub unknown: usize,
    /// Clean records whose key or value is not that of the first delivery.
    pub altered: usize,
    /// The first few differences, for a person.
    pub differences: Vec<String>,
}

impl Comparison {
    /// Whether the clean topic is exactly what it should be.
    pub fn is_exact(&self) -> bool {
        self.twice + self.missing + self.out_of_order + self.unknown + self.altered == 0
            && self.clean == self.distinct
    }

    /// Adds another topic's counts.
    pub fn add(&mut self, other: &Comparison) {
        self.sent += other.sent;
        self.distinct += other.distinct;
        self.again += other.again;
        self.broken += other.broken;
        self.clean += other.clean;
        self.twice += other.twice;
        self.missing += other.missing;
        self.out_of_order += other.out_of_order;
        self.unknown += other.unknown;
        self.altered += other.altered;
        self.differences.extend(other.differences.iter().cloned());
    }

    fn differs(&mut self, what: impl FnOnce() -> String) {
        if self.differences.len() < DIFFERENCES_SHOWN {
            self.differences.push(what());
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "sent={} distinct={} again={} broken={} clean={} twice={} missing={} \
             out_of_order={} unknown={} altered={}",
            self.sent,
            self.distinct,
            self.again,
            self.broken,
            self.clean,
            self.twice,
            self.missing,
            self.out_of_order,
            self.unknown,
            self.altered
        )?;
        self.differences.iter().try_for_each(|difference| write!(f, "\n  {difference}"))
    }
}

/// Where an event was first delivered.
struct First<'a> {
    partition: i32,
    rank: usize,
    sent: &'a Sent,
    clean_offset: Option<i64>,
}

/// Compares a clean topic, by partition, with what was sent to its raw topic, in raw order within
/// each partition. Records of one kind; those of other topics are left to their own comparison.
pub fn compare(kind: Kind, sent: &[Sent], clean: &[Vec<Record>]) -> Comparison {
    let mut found = Comparison { sent: sent.len(), ..Comparison::default() };
    let mut firsts: HashMap<u64, First<'_>> = HashMap::new();
    for (rank, one) in sent.iter().enumerate() {
        match one.truth {
            Truth::Broken { .. } => found.broken += 1,
            Truth::Event { event_id, .. } => match firsts.entry(event_id) {
                Entry::Occupied(_) => found.again += 1,
                Entry::Vacant(place) => {
                    place.insert(First {
                        partition: one.partition,
                        rank,
                        sent: one,
                        clean_offset: None,
                    });
                }
            },
        }
    }
    found.distinct = firsts.len();
    for records in clean {
        compare_partition(kind, records, &mut firsts, &mut found);
    }
    let mut missing: Vec<(&u64, &First<'_>)> =
        firsts.iter().filter(|(_, first)| first.clean_offset.is_none()).collect();
    missing.sort_by_key(|(_, first)| first.rank);
    found.missing = missing.len();
    for (event_id, first) in missing {
        found.differs(|| {
            format!(
                "missing: {kind} event {event_id}, sent as record {} to partition {}",
                first.rank, first.partition
            )
        });
    }
    found
}

fn compare_partition(
    kind: Kind,
    records: &[Record],
    firsts: &mut HashMap<u64, First<'_>>,
    found: &mut Comparison,
) {
    let mut highest: Option<(usize, u64)> = None;
    for record in records {
        found.clean += 1;
        let place = || format!("clean {}/{}", record.partition, record.offset);
        let event_id = record.payload.as_deref().and_then(|payload| event_id_of(kind, payload));
        let known = event_id.and_then(|id| firsts.get_mut(&id).map(|first| (id, first)));
        let Some((event_id, first)) = known else {
            found.unknown += 1;
            found.differs(|| format!("unknown: {} is of no event that was sent", place()));
            continue;
        };
        if first.partition != record.partition {
            found.unknown += 1;
            let sent_to = first.partition;
            found.differs(|| {
                format!("unknown: {} is {kind} event {event_id} of partition {sent_to}", place())
            });
            continue;
        }
        if let Some(earlier) = first.clean_offset {
            found.twice += 1;
            found.differs(|| {
                format!("twice: {} is {kind} event {event_id}, as is offset {earlier}", place())
            });
            continue;
        }
        first.clean_offset = Some(record.offset);
        if let Some((_, before)) = highest.filter(|(rank, _)| *rank > first.rank) {
            found.out_of_order += 1;
            found.differs(|| {
                format!(
                    "out of order: {} is {kind} event {event_id} and stands behind {before}, \
                     which was sent later",
                    place()
                )
            });
        }
        if highest.is_none_or(|(rank, _)| rank < first.rank) {
            highest = Some((first.rank, event_id));
        }
        let same = record.payload == first.sent.payload
            && record.key.as_deref() == Some(first.sent.key.as_slice());
        if !same {
            found.altered += 1;
            found.differs(|| {
                format!("altered: {} is not as {kind} event {event_id} was first sent", place())
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::{Sample, SampleOptions};

    const SEED: u64 = 7;

    fn sent() -> Vec<Sent> {
        let options = SampleOptions {
            seed: SEED,
            records: 600,
            kinds: vec![Kind::Lab],
            partitions: 2,
            broken_share: 0.05,
            ..SampleOptions::default()
        };
        Sample::new(options).unwrap().sent(Kind::Lab)
    }

    fn clean_of(sent: &[Sent]) -> Vec<Vec<Record>> {
        let mut clean = vec![Vec::new(), Vec::new()];
        for one in sent.iter().filter(|one| one.first_of().is_some()) {
            let partition: &mut Vec<Record> = &mut clean[one.partition as usize];
            partition.push(Record {
                partition: one.partition,
                offset: partition.len() as i64,
                timestamp_ms: None,
                key: Some(one.key.clone()),
                payload: one.payload.clone(),
                headers: Vec::new(),
            });
        }
        clean
    }

    #[test]
    fn an_exact_topic_is_exact() {
        let sent = sent();
        let found = compare(Kind::Lab, &sent, &clean_of(&sent));
        assert!(found.is_exact(), "seed {SEED}: {found}");
        assert_eq!(found.sent, found.distinct + found.again + found.broken, "seed {SEED}");
        assert!(found.again > 50 && found.broken > 10, "seed {SEED}: {found}");
    }

    #[test]
    fn each_difference_is_counted_and_named() {
        let sent = sent();
        let mut clean = clean_of(&sent);
        let twice = clean[0][3].clone();
        clean[0].push(twice);
        clean[0].remove(10);
        clean[1].swap(5, 6);
        let stray = clean[1].pop().unwrap();
        clean[0].push(Record { partition: 0, ..stray });
        clean[1][0].payload.as_mut().unwrap().push(b' ');
        let found = compare(Kind::Lab, &sent, &clean);
        let counts = (found.twice, found.missing, found.out_of_order, found.unknown, found.altered);
        assert_eq!(counts, (1, 2, 1, 1, 1), "seed {SEED}: {found}");
        assert!(!found.is_exact());
        let text = found.to_string();
        for word in ["twice:", "missing:", "out of order:", "unknown:", "altered:"] {
            assert!(text.contains(word), "seed {SEED}: {text}");
        }
    }
}
