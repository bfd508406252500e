//! Counts what stands in the clean, audit and quarantine topics, and holds it against what the
//! generator sent, record by record. Logs and metrics of the gate are not asked.
//! Must not be in here: a key.

use std::collections::BTreeMap;

use oncegate_testkit::compare::{Comparison, compare};
use oncegate_testkit::generator::{Delivery, Kind, Sent, Truth};
use oncegate_testkit::reader::{Record, for_each_record, read_topic};
use oncegate_testkit::{KitError, Result};
use rdkafka::Message;
use serde_json::Value;

use crate::stage::Stage;
use crate::{PARTITIONS, Samples};

/// What became of a raw record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Clean,
    Absorbed,
    Quarantined,
}

/// The counts of one route, or of all.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The route, empty for all.
    pub route: String,
    /// The clean topic against the generator's list.
    pub compared: Comparison,
    /// Audit records that tell of an absorbed duplicate.
    pub absorbed: usize,
    /// Quarantine records.
    pub quarantined: usize,
    /// Quarantine records by reason.
    pub reasons: BTreeMap<String, usize>,
    /// Raw records that none of the three topics names.
    pub nowhere: usize,
    /// Raw records that are named more than once.
    pub several: usize,
    /// Raw records that ended elsewhere than the generator's truth says.
    pub misjudged: usize,
}

/// Counts the topics of every route.
pub fn of_all(stage: &Stage, samples: &Samples) -> Result<Vec<Tally>> {
    samples.iter().map(|(kind, sent)| of_route(stage, *kind, sent)).collect()
}

fn of_route(stage: &Stage, kind: Kind, sent: &[Sent]) -> Result<Tally> {
    let mut fates = Fates::new(sent);
    let mut tally = Tally { route: kind.name().to_owned(), ..Tally::default() };

    let clean = read_topic(&stage.bootstrap, &stage.clean(kind))?;
    for record in clean.iter().flatten() {
        fates.note(source_of(record)?, Fate::Clean);
    }
    tally.compared = compare(kind, sent, &clean);
    drop(clean);

    for record in read_topic(&stage.bootstrap, &stage.own(kind, "quarantine"))?.iter().flatten() {
        fates.note(source_of(record)?, Fate::Quarantined);
        tally.quarantined += 1;
        let reason = record.header("oncegate-reason").unwrap_or("no reason");
        *tally.reasons.entry(reason.to_owned()).or_default() += 1;
    }

    let mut unread = None;
    for_each_record(&stage.bootstrap, &stage.own(kind, "audit"), |message| {
        match absorbed_at(message.payload().unwrap_or_default()) {
            Ok(Some(place)) => {
                fates.note(place, Fate::Absorbed);
                tally.absorbed += 1;
            }
            // A conflict stands in quarantine as well, and is counted there.
            Ok(None) => {}
            Err(error) => unread = Some(error),
        }
    })?;
    if let Some(error) = unread {
        return Err(error);
    }
    (tally.nowhere, tally.several, tally.misjudged) = fates.judged();
    Ok(tally)
}

impl Tally {
    /// All routes as one.
    pub fn total(tallies: &[Tally]) -> Tally {
        let mut total = Tally { route: "all".to_owned(), ..Tally::default() };
        for tally in tallies {
            total.compared.add(&tally.compared);
            total.absorbed += tally.absorbed;
            total.quarantined += tally.quarantined;
            total.nowhere += tally.nowhere;
            total.several += tally.several;
            total.misjudged += tally.misjudged;
            for (reason, count) in &tally.reasons {
                *total.reasons.entry(reason.clone()).or_default() += count;
            }
        }
        total
    }

    /// Everything that is not as it must be, a sentence each.
    pub fn faults(&self) -> Vec<String> {
        let seen = &self.compared;
        let mut faults = Vec::new();
        if !seen.is_exact() {
            faults.push(format!("the clean topics are not exact: {seen}"));
        }
        let sum = seen.clean + self.absorbed + self.quarantined;
        if sum != seen.sent {
            faults.push(format!(
                "clean, absorbed and quarantined are {sum} records, {} were sent",
                seen.sent
            ));
        }
        for (count, what) in [
            (self.nowhere, "are named by no clean, audit or quarantine record"),
            (self.several, "are named by more than one of them"),
            (self.misjudged, "ended elsewhere than the generator says"),
        ] {
            if count > 0 {
                faults.push(format!("{count} raw records {what}"));
            }
        }
        faults
    }
}

/// What became of each raw record, by partition and offset. The raw log was written by one
/// producer without transactions: the n-th record of a partition stands at offset n.
struct Fates {
    expected: Vec<Vec<Fate>>,
    seen: Vec<Vec<Vec<Fate>>>,
    /// Positions that no record was sent to.
    astray: usize,
}

impl Fates {
    fn new(sent: &[Sent]) -> Fates {
        let mut expected = vec![Vec::new(); PARTITIONS as usize];
        for one in sent {
            expected[one.partition as usize].push(match one.truth {
                Truth::Event { delivery: Delivery::First, .. } => Fate::Clean,
                Truth::Event { delivery: Delivery::Again, .. } => Fate::Absorbed,
                Truth::Broken { .. } => Fate::Quarantined,
            });
        }
        let seen = expected.iter().map(|records| vec![Vec::new(); records.len()]).collect();
        Fates { expected, seen, astray: 0 }
    }

    fn note(&mut self, (partition, offset): (usize, usize), fate: Fate) {
        match self.seen.get_mut(partition).and_then(|records| records.get_mut(offset)) {
            Some(seen) => seen.push(fate),
            None => self.astray += 1,
        }
    }

    /// How many records are nowhere, in several places, and elsewhere than they should be.
    fn judged(&self) -> (usize, usize, usize) {
        let (mut nowhere, mut several, mut misjudged) = (0, 0, self.astray);
        for (seen, expected) in self.seen.iter().flatten().zip(self.expected.iter().flatten()) {
            match seen.as_slice() {
                [] => nowhere += 1,
                [fate] if fate == expected => {}
                [_] => misjudged += 1,
                _ => several += 1,
            }
        }
        (nowhere, several, misjudged)
    }
}

/// Partition and offset in the header `oncegate-source`: `topic/partition/offset`.
fn source_of(record: &Record) -> Result<(usize, usize)> {
    let header = record.header("oncegate-source").unwrap_or_default();
    let mut parts = header.split('/').skip(1).map(str::parse);
    match (parts.next(), parts.next()) {
        (Some(Ok(partition)), Some(Ok(offset))) => Ok((partition, offset)),
        _ => Err(KitError::new(format!(
            "the record at {}/{} has no sound header oncegate-source: {header:?}",
            record.partition, record.offset
        ))),
    }
}

/// Where the duplicate stands that an audit record tells of; none for another verdict.
fn absorbed_at(payload: &[u8]) -> Result<Option<(usize, usize)>> {
    let unsound = || {
        let text = String::from_utf8_lossy(payload);
        KitError::new(format!("an audit record is not as it should be: {text}"))
    };
    let told: Value = serde_json::from_slice(payload).map_err(|_| unsound())?;
    if told["verdict"] != "duplicate" {
        return Ok(None);
    }
    let number = |name: &str| told["this"][name].as_u64().map(|number| number as usize);
    Ok(Some((number("partition").ok_or_else(unsound)?, number("offset").ok_or_else(unsound)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(truth: Truth) -> Sent {
        Sent {
            kind: Kind::Lab,
            partition: 0,
            key: Vec::new(),
            payload: None,
            event_time_ms: 0,
            truth,
        }
    }

    #[test]
    fn each_raw_record_is_judged_by_its_place() {
        let event = |delivery| Truth::Event { event_id: 1, delivery };
        let broken = Truth::Broken { why: oncegate_testkit::generator::Broken::NotJson };
        let sent =
            [event(Delivery::First), event(Delivery::Again), broken, broken].map(one).to_vec();
        let mut fates = Fates::new(&sent);
        for (offset, fate) in [(0, Fate::Clean), (1, Fate::Absorbed), (2, Fate::Quarantined)] {
            fates.note((0, offset), fate);
        }
        assert_eq!(fates.judged(), (1, 0, 0), "the fourth is nowhere");
        fates.note((0, 3), Fate::Absorbed);
        fates.note((0, 1), Fate::Clean);
        fates.note((3, 9), Fate::Clean);
        assert_eq!(fates.judged(), (0, 1, 2));
    }

    #[test]
    fn only_duplicates_count_as_absorbed() {
        let told = |verdict: &str| {
            format!(r#"{{"verdict":"{verdict}","this":{{"partition":2,"offset":7}}}}"#)
        };
        assert_eq!(absorbed_at(told("duplicate").as_bytes()), Ok(Some((2, 7))));
        assert_eq!(absorbed_at(told("conflict").as_bytes()), Ok(None));
        assert!(absorbed_at(b"{").is_err());
    }
}
