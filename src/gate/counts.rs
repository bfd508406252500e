//! Counts of records and of events by verdict: the entries' counts are the reconciliation.
//! Must not be in here: rates, clocks or anything that a restart would change.

use super::verdict::Verdict;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Records, and their events by verdict. Every event of every record is in exactly one count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records read.
    pub records: u64,
    /// Events let through.
    pub first: u64,
    /// Events absorbed as duplicates.
    pub duplicate: u64,
    /// Events absorbed because they were decided before and are too old to look up.
    pub replayed: u64,
    /// Events with a known key and other content, let through as corrections.
    pub correction: u64,
    /// Events with a known key and other content, absorbed by the route's policy.
    pub conflict: u64,
    /// Events quarantined before and let through by a person; not among the events of a range.
    pub admitted: u64,
    /// Events quarantined, by the reason's name; conflicts that the route quarantines among them.
    pub quarantined: BTreeMap<Cow<'static, str>, u64>,
}

impl Counts {
    /// Counts one event.
    pub fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::First => self.first += 1,
            Verdict::Duplicate => self.duplicate += 1,
            Verdict::Replayed => self.replayed += 1,
            Verdict::Correction => self.correction += 1,
            Verdict::ConflictAbsorbed => self.conflict += 1,
            Verdict::Admitted => self.admitted += 1,
            Verdict::Conflict => self.add_quarantined(super::reason::Reason::Conflict.as_str()),
            Verdict::Rejected(reason) => self.add_quarantined(reason.as_str()),
        }
    }

    fn add_quarantined(&mut self, reason: &'static str) {
        *self.quarantined.entry(Cow::Borrowed(reason)).or_default() += 1;
    }

    /// Adds another range's counts to these.
    pub fn merge(&mut self, other: &Counts) {
        self.records += other.records;
        self.first += other.first;
        self.duplicate += other.duplicate;
        self.replayed += other.replayed;
        self.correction += other.correction;
        self.conflict += other.conflict;
        self.admitted += other.admitted;
        for (reason, count) in &other.quarantined {
            *self.quarantined.entry(reason.clone()).or_default() += count;
        }
    }

    /// Events absorbed, for whichever cause.
    pub fn absorbed(&self) -> u64 {
        self.duplicate + self.replayed + self.conflict
    }

    /// Events quarantined, over all reasons.
    pub fn quarantined_total(&self) -> u64 {
        self.quarantined.values().sum()
    }

    /// Events let through to the clean topic, those of a person's acts included.
    pub fn let_through(&self) -> u64 {
        self.first + self.correction + self.admitted
    }

    /// All events of the records counted.
    pub fn events(&self) -> u64 {
        self.first + self.correction + self.absorbed() + self.quarantined_total()
    }
}
