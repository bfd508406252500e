//! What must hold at the end: the clean topic against what was sent, and what `reconcile` and
//! `verify` say of the logs.
//! Must not be in here: faults.

use crate::chaos::stage::{MEMBERS, Stage};
use crate::compare::Comparison;
use crate::error::Result;
use crate::generator::Sent;

/// Waits until all is through, ends the processes, and judges.
pub fn judge(stage: &mut Stage, sent: &[Sent]) -> Result<(Comparison, Vec<String>)> {
    (0..MEMBERS).try_for_each(|member| stage.wait_ready(member))?;
    stage.scene.wait_until_through()?;
    (0..MEMBERS).try_for_each(|member| stage.end(member))?;
    let mut evidence = Vec::new();
    for command in ["reconcile", "verify"] {
        let (passed, said) = stage.scene.command(&[command, "route"])?;
        if !passed {
            evidence.push(format!("{command} did not pass:\n{said}"));
        }
    }
    Ok((stage.scene.compare(sent)?, evidence))
}
