//! `oncegate verify`: keys, chain, and that clean and journal hold the same events.
//! Must not be in here: a proof.

use super::evidence::of_route;
use crate::cli::{Outcome, VerifyArgs};
use crate::evidence::verify::{VerifyOptions, VerifyReport, verify as prove};

/// Verifies and prints.
pub fn verify(args: &VerifyArgs) -> Outcome {
    let options = VerifyOptions {
        heads: args.heads.clone(),
        temp_dir: args.route.evidence.temp_dir(),
        cut_allowed: args.allow_cut,
    };
    of_route(
        "verify",
        &args.route,
        |source, route| prove(source, route, &options),
        VerifyReport::is_sound,
    )
}
