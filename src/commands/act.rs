//! What the acts of a person share: who and why, the state directory, and a member that acts.
//! Must not be in here: an act.

use super::{load, route_named};
use crate::check::{RouteFacts, check};
use crate::cli::{ActArgs, Outcome, UndecidedArgs};
use crate::kafka::config::member_id;
use crate::kafka::{KafkaBroker, KafkaWitnesses};
use crate::processor::act::{ActError, Actor, Signature, Undecided};
use crate::processor::instance::Instance;
use crate::processor::restore::{JobKind, TakenOver};
use crate::processor::restorer::RestorerThread;
use crate::processor::transaction::TransactionLimits;
use crate::service::{join, route_of, witnesses};
use crate::settings::{RouteSettings, Settings};
use crate::store::{RocksStore, RocksStores, StoreBudget};
use std::time::Duration;

/// Longest name or reason, so that an entry stays a small record.
const TEXT_BYTES_MAX: usize = 1000;

pub(super) type RouteActor = Actor<KafkaBroker, RestorerThread<RocksStore>>;
pub(super) type Taken = TakenOver<RocksStore>;

/// A partition of a route that is acted on.
pub(super) struct Place<'a> {
    pub settings: &'a Settings,
    pub route: &'a RouteSettings,
    pub partition: i32,
    /// How long to wait for the partition and for answers.
    pub timeout: Duration,
}

/// Who and why, where both are said.
pub(super) fn signature(args: &ActArgs) -> Result<Signature<'_>, Outcome> {
    for (name, text) in [("--by", &args.by), ("--because", &args.reason)] {
        if text.trim().is_empty() || text.len() > TEXT_BYTES_MAX {
            eprintln!("{name} must be a text of at most {TEXT_BYTES_MAX} bytes");
            return Err(Outcome::Faulty);
        }
    }
    Ok(Signature { by: &args.by, reason: &args.reason })
}

impl Place<'_> {
    /// Joins the group, lets `act` do its part, and leaves. The second argument reads the journal.
    ///
    /// # Errors
    /// For the operator.
    pub fn act<V>(
        &self,
        args: &ActArgs,
        act: impl FnOnce(&mut RouteActor, &mut KafkaWitnesses) -> Result<V, ActError>,
    ) -> Result<V, String> {
        let facts = self.facts()?;
        let state_dir = args.state_dir.as_deref().unwrap_or(&self.settings.state_dir);
        let wanted = self.settings.instance.as_deref().filter(|_| args.state_dir.is_none());
        let instance = Instance::take(state_dir, wanted).map_err(|error| {
            format!("{error}. Stop the process that serves the partition first, or name an empty --state-dir")
        })?;
        let budget = StoreBudget {
            memory_bytes: self.settings.store_memory_bytes,
            left_bytes_max: self.settings.store_left_bytes,
            ..StoreBudget::default()
        };
        let stores = RocksStores::open(state_dir, budget).map_err(|error| error.to_string())?;
        let member = member_id(&self.settings.group, &self.route.name, instance.id(), 0);
        let properties = &self.settings.kafka;
        let broker = join(properties, self.route, &facts, &member)?;
        let route = route_of(&self.settings.group, self.route, &facts);
        let asked = witnesses(properties, self.route)?;
        let takeovers = RestorerThread::spawn(route.clone(), asked, stores)
            .map_err(|error| error.to_string())?;
        let limits = TransactionLimits { timeout_ms: u64::from(self.route.transaction_timeout_ms) };
        let mut actor = Actor::new(route, self.partition, broker, takeovers, limits);
        let mut journal = witnesses(properties, self.route)?;
        act(&mut actor, &mut journal).map_err(|error| error.to_string())
    }

    /// What the cluster says of the route; only where `run` would start too.
    fn facts(&self) -> Result<RouteFacts, String> {
        let report = check(self.settings, self.timeout).map_err(|error| error.to_string())?;
        if !report.is_sound() {
            let findings: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
            return Err(format!("the configuration does not hold:\n{}", findings.join("\n")));
        }
        let facts = report.routes.into_iter().find(|facts| facts.name == self.route.name);
        let facts = facts.ok_or_else(|| "the cluster says nothing of the route".to_owned())?;
        if self.partition < 0 || self.partition >= facts.raw_partitions {
            let (topic, count) = (&self.route.raw, facts.raw_partitions);
            return Err(format!("{topic} has {count} partitions, from 0 on"));
        }
        Ok(facts)
    }
}

/// Takes one partition over as `kind`, lets `act` do its part, and prints what it says.
pub(super) fn on_partition(
    command: &str,
    args: &UndecidedArgs,
    kind: &JobKind,
    act: impl FnOnce(&mut RouteActor, Taken, Signature<'_>, &RouteSettings) -> Result<String, ActError>,
) -> Outcome {
    let settings = match load(&args.config.config, &args.config.overrides()) {
        Ok(settings) => settings,
        Err(outcome) => return outcome,
    };
    let (route, signature) = match (route_named(&settings, &args.route), signature(&args.act)) {
        (Ok(route), Ok(signature)) => (route, signature),
        (Err(outcome), _) | (_, Err(outcome)) => return outcome,
    };
    let (partition, timeout) = (args.partition, args.timeout);
    let place = Place { settings: &settings, route, partition, timeout };
    let patience_ms = timeout.as_millis() as u64;
    let done = place.act(&args.act, |actor, _| {
        let taken = actor.take_over(kind, patience_ms)?;
        act(actor, taken, signature, route)
    });
    match done {
        Ok(said) => {
            println!("{command}: {said}");
            Outcome::Fine
        }
        Err(message) => {
            eprintln!("{command}: {message}");
            Outcome::Wrong
        }
    }
}

/// `skip` and `accept-gap`: goes on behind records that stay undecided.
pub(super) fn leave_undecided(
    command: &str,
    args: &UndecidedArgs,
    undecided: Undecided,
) -> Outcome {
    let kind = match undecided {
        Undecided::Skip { .. } => JobKind::Takeover,
        Undecided::Gap => JobKind::AcceptGap,
    };
    on_partition(command, args, &kind, |actor, taken, signature, route| {
        let from = taken.position.as_ref().map_or(0, |position| position.committed_next());
        let position = actor.leave_undecided(taken, undecided, signature)?;
        Ok(format!(
            "{}/{} goes on at {}; [{from}, {}) stays undecided, by journal entry {} of {}",
            route.raw,
            args.partition,
            position.header.to,
            position.header.to,
            position.number,
            route.journal
        ))
    })
}
