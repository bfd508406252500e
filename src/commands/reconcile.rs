//! `oncegate reconcile`: the counts of the journal, and whether the topics hold what they say.
//! Must not be in here: a proof.

use super::evidence::of_route;
use crate::cli::{Outcome, ReconcileArgs};
use crate::evidence::reconcile::{
    OffsetRange, ReconcileOptions, ReconcileReport, reconcile as prove,
};

/// Reconciles and prints.
pub fn reconcile(args: &ReconcileArgs) -> Outcome {
    let range = args.partition.map(|partition| OffsetRange {
        partition,
        from: args.from.unwrap_or(0),
        to: args.to.unwrap_or(i64::MAX),
    });
    if range.is_some_and(|range| range.from >= range.to) {
        eprintln!("reconcile: --from must be below --to");
        return Outcome::Faulty;
    }
    let options = ReconcileOptions { range, cut_allowed: args.allow_cut };
    of_route(
        "reconcile",
        &args.route,
        |source, route| prove(source, route, &options),
        ReconcileReport::is_sound,
    )
}
