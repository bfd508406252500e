//! The kinds of fault, and in which order a seed lets them come.
//! Must not be in here: how a fault is done.

use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

/// What is done to the gate or the cluster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// SIGKILL of a process, which is started again.
    Kill,
    /// SIGSTOP and SIGCONT of a process, within its time-outs.
    StopShort,
    /// The same for longer than session and transaction time-out: a zombie wakes up.
    StopLong,
    /// SIGTERM of each process in turn, which is started again: a rolling deploy.
    Deploy,
    /// SIGKILL of a broker, which is started again.
    BrokerKill,
    /// SIGTERM of a broker, which is started again.
    BrokerRestart,
    /// All connections to a broker break.
    Cut,
    /// All connections to a broker stand still.
    Stall,
    /// All connections to a broker are slow.
    Delay,
    /// A request that ends a transaction arrives after its retry has succeeded.
    LateEndTxn,
    /// A request that makes offsets part of a transaction arrives so.
    LateOffsets,
    /// A request that writes records arrives so.
    LateProduce,
    /// The stores of a killed process are deleted.
    StoreDeleted,
    /// Bytes of a killed process's stores are flipped, or a file is taken out.
    StoreDamaged,
    /// The group is moved back while no process runs.
    Rewind,
}

impl Fault {
    /// All kinds.
    pub const ALL: [Fault; 15] = [
        Fault::Kill,
        Fault::StopShort,
        Fault::StopLong,
        Fault::Deploy,
        Fault::BrokerKill,
        Fault::BrokerRestart,
        Fault::Cut,
        Fault::Stall,
        Fault::Delay,
        Fault::LateEndTxn,
        Fault::LateOffsets,
        Fault::LateProduce,
        Fault::StoreDeleted,
        Fault::StoreDamaged,
        Fault::Rewind,
    ];

    /// Whether it takes long: a round has it once, and the others twice.
    fn is_long(self) -> bool {
        use Fault::{BrokerKill, BrokerRestart, Deploy, Rewind, StopLong};
        matches!(self, BrokerKill | BrokerRestart | Deploy | Rewind | StopLong)
    }

    /// Its name in lines and tables.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Kill => "kill",
            Fault::StopShort => "stop-short",
            Fault::StopLong => "stop-long",
            Fault::Deploy => "deploy",
            Fault::BrokerKill => "broker-kill",
            Fault::BrokerRestart => "broker-restart",
            Fault::Cut => "cut",
            Fault::Stall => "stall",
            Fault::Delay => "delay",
            Fault::LateEndTxn => "late-end-txn",
            Fault::LateOffsets => "late-offsets",
            Fault::LateProduce => "late-produce",
            Fault::StoreDeleted => "store-deleted",
            Fault::StoreDamaged => "store-damaged",
            Fault::Rewind => "rewind",
        }
    }
}

/// Faults of a round.
pub const ROUND: usize = 25;

/// The faults of a seed: rounds of all kinds, each in an order of its own.
pub struct Plan {
    kinds: Vec<Fault>,
    random: Xoshiro256PlusPlus,
    round: Vec<Fault>,
}

impl Plan {
    /// The plan of a seed, of these kinds.
    pub fn new(seed: u64, kinds: &[Fault]) -> Plan {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Plan { kinds: kinds.to_vec(), random, round: Vec::new() }
    }

    /// The next fault.
    pub fn next(&mut self) -> Fault {
        if self.round.is_empty() {
            let short = self.kinds.iter().filter(|fault| !fault.is_long());
            self.round = self.kinds.iter().chain(short).copied().collect();
            self.round.shuffle(&mut self.random);
        }
        // A round that was just filled is not empty, unless no kind is wanted.
        self.round.pop().unwrap_or(Fault::Kill)
    }

    /// One of `count`.
    pub fn one_of(&mut self, count: usize) -> usize {
        self.random.random_range(0..count)
    }

    /// Milliseconds between two bounds.
    pub fn millis(&mut self, from: u64, to: u64) -> std::time::Duration {
        std::time::Duration::from_millis(self.random.random_range(from..=to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_itself_and_no_kind_is_left_out() {
        let faults = |seed| {
            let mut plan = Plan::new(seed, &Fault::ALL);
            (0..ROUND).map(|_| plan.next()).collect::<Vec<_>>()
        };
        let first = faults(7);
        assert_eq!(first, faults(7));
        assert_ne!(first, faults(8));
        for fault in Fault::ALL {
            let times = first.iter().filter(|one| **one == fault).count();
            assert_eq!(times, if fault.is_long() { 1 } else { 2 }, "{}", fault.name());
        }
    }
}
