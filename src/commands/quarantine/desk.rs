//! A person's desk before the quarantine topic of one route: reads what is held.
//! Must not be in here: printing what is held, or appending.

use crate::cli::{Outcome, QuarantineArgs};
use crate::commands::{load, route_named};
use crate::evidence::{Reading, Source};
use crate::gate::RawRecord;
use crate::kafka::KafkaLogs;
use crate::quarantine::{Copies, Held, HeldId, NotHeld, Selection, Standings};
use crate::settings::{RouteSettings, Settings};
use std::time::Duration;

/// The quarantine topic of a route, and what its logs are read with.
pub(super) struct Desk {
    pub settings: Settings,
    pub route: RouteSettings,
    /// `group/route`.
    pub label: String,
    logs: KafkaLogs,
    timeout: Duration,
}

impl Desk {
    /// Reads the settings and connects.
    pub fn open(args: &QuarantineArgs) -> Result<Desk, Outcome> {
        let settings = load(&args.config.config, &args.config.overrides())?;
        let route = route_named(&settings, &args.route)?.clone();
        let logs = KafkaLogs::connect(&settings.kafka, &route.group_id).map_err(|error| {
            eprintln!("quarantine: {error}");
            Outcome::Wrong
        })?;
        let label = format!("{}/{}", settings.group, route.name);
        Ok(Desk { settings, route, label, logs, timeout: args.timeout })
    }

    /// How long to wait for an answer.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Shows every held record that is meant, partition by partition, up to where the topic ended
    /// when the reading began. Gives the records that oncegate did not write.
    pub fn each(
        &mut self,
        selection: &Selection,
        sink: &mut dyn FnMut(Held),
    ) -> Result<Vec<NotHeld>, String> {
        let topic = self.route.quarantine.clone();
        let mut foreign = Vec::new();
        let range = |partition: i32, low: i64, stable: i64| selection.range(partition, low, stable);
        self.read(&topic, &range, &mut |record| {
            let id = HeldId { partition: record.partition, offset: record.offset };
            if !selection.reaches(id) {
                return;
            }
            match Held::read(record) {
                Ok(held) if selection.holds(&held) => sink(held),
                Ok(_) => {}
                Err(error) => foreign.push(error),
            }
        })?;
        Ok(foreign)
    }

    /// Which held records still wait, of one partition or of all. Reads the quarantine topic, again
    /// where it holds redriven records, and the audit topic where it holds late ones.
    pub fn standings(&mut self, only: Option<i32>) -> Result<Standings, String> {
        let (quarantine, audit) = (self.route.quarantine.clone(), self.route.audit.clone());
        let mut copies = Copies::new(&quarantine, &self.route.raw, &self.label);
        let all = Selection { partition: only, ..Selection::default() };
        // What oncegate did not write is told where records are listed.
        self.each(&all, &mut |held| copies.mark(&held))?;
        if copies.wants_named() {
            self.each(&all, &mut |held| copies.named(&held))?;
        }
        let wanted = copies.late_partitions();
        if !wanted.is_empty() {
            let range = |partition: i32, low: i64, stable: i64| {
                (if wanted.contains(&partition) { low } else { stable }, stable)
            };
            self.read(&audit, &range, &mut |record| {
                if let Some(told) = record.payload {
                    copies.admitted(told);
                }
            })?;
        }
        Ok(copies.finish())
    }

    /// Shows the records of a topic, partition by partition, in the part of `[low, end)` that
    /// `range` gives, up to where the topic ended when the reading began.
    fn read(
        &mut self,
        topic: &str,
        range: &dyn Fn(i32, i64, i64) -> (i64, i64),
        sink: &mut dyn FnMut(&RawRecord<'_>),
    ) -> Result<(), String> {
        let mut observer = |_: &Reading<'_>| {};
        let mut source = Source::new(&mut self.logs, self.timeout, &mut observer);
        let what = || format!("partitions of {topic}");
        let partitions =
            source.ask(what, |logs| logs.partitions(topic)).map_err(|error| error.to_string())?;
        for partition in 0..partitions {
            let what = || format!("begin and end of {topic}/{partition}");
            let bounds = source
                .ask(what, |logs| logs.bounds(topic, partition))
                .map_err(|error| error.to_string())?;
            let (from, until) = range(partition, bounds.low, bounds.stable);
            let mut cursor =
                source.open(topic, partition, from, until).map_err(|error| error.to_string())?;
            source.read_all(&mut cursor, sink).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// The value of the record at exactly this place, if it is still there.
    pub fn payload_at(
        &mut self,
        topic: &str,
        partition: i32,
        offset: i64,
    ) -> Result<Option<Vec<u8>>, String> {
        let mut observer = |_: &Reading<'_>| {};
        let mut source = Source::new(&mut self.logs, self.timeout, &mut observer);
        let what = || format!("begin and end of {topic}/{partition}");
        let bounds = source
            .ask(what, |logs| logs.bounds(topic, partition))
            .map_err(|error| error.to_string())?;
        if !(bounds.low..bounds.stable).contains(&offset) {
            return Ok(None);
        }
        let mut found = None;
        let mut cursor =
            source.open(topic, partition, offset, offset + 1).map_err(|error| error.to_string())?;
        source
            .read_all(&mut cursor, &mut |record| found = record.payload.map(<[u8]>::to_vec))
            .map_err(|error| error.to_string())?;
        Ok(found)
    }
}

/// Says which records oncegate did not write; whether there are none.
pub(super) fn tell_foreign(foreign: &[NotHeld]) -> bool {
    const TOLD: usize = 20;
    for error in foreign.iter().take(TOLD) {
        eprintln!("quarantine: {error}");
    }
    if foreign.len() > TOLD {
        eprintln!("quarantine: and {} more that oncegate did not write", foreign.len() - TOLD);
    }
    foreign.is_empty()
}
