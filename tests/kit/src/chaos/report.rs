//! What a run found, as a table and as the line that scripts read.
//! Must not be in here: counting.

use std::fmt::Write;
use std::time::Duration;

use crate::chaos::fault::Fault;
use crate::compare::Comparison;

/// One fault, and what it cost.
#[derive(Clone, Debug)]
pub struct Done {
    /// Its kind.
    pub fault: Fault,
    /// From the moment that its cause was gone until records of every partition came again.
    pub recovery: Duration,
    /// The longest time in which a partition stood still, its own length included.
    pub pause: Duration,
}

/// A whole run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its seed.
    pub seed: u64,
    /// Its faults, in order.
    pub faults: Vec<Done>,
    /// What the clean topic holds against what was sent.
    pub compared: Comparison,
    /// What `reconcile` and `verify` found wrong; empty where both passed.
    pub evidence: Vec<String>,
    /// How often a process ended by itself and was started again.
    pub exits: u64,
}

impl Outcome {
    /// Whether nothing was lost, twice or out of order, and the evidence says so too.
    pub fn is_exact(&self) -> bool {
        self.compared.is_exact() && self.evidence.is_empty()
    }

    /// Faults by kind: how many, median and worst time to recover, longest time without progress.
    pub fn table(&self) -> String {
        let mut text = format!(
            "{:<16}{:>7}{:>18}{:>17}{:>21}\n",
            "fault", "times", "recovery, median", "recovery, worst", "longest without, s"
        );
        for fault in Fault::ALL {
            let of_kind = || self.faults.iter().filter(|done| done.fault == fault);
            let mut recoveries: Vec<Duration> = of_kind().map(|done| done.recovery).collect();
            recoveries.sort();
            let Some(worst) = recoveries.last() else { continue };
            let median = recoveries[recoveries.len() / 2];
            let pause = of_kind().map(|done| done.pause).max().unwrap_or_default();
            let _ = writeln!(
                text,
                "{:<16}{:>7}{:>18.1}{:>17.1}{:>21.1}",
                fault.name(),
                recoveries.len(),
                median.as_secs_f64(),
                worst.as_secs_f64(),
                pause.as_secs_f64()
            );
        }
        text
    }

    /// What scripts read.
    pub fn last_line(&self) -> String {
        let seen = &self.compared;
        format!(
            "chaos: faults={} records={} lost={} twice={} out_of_order={}",
            self.faults.len(),
            seen.sent,
            seen.missing,
            seen.twice,
            seen.out_of_order
        )
    }
}
