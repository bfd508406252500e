//! `kill -9` in the middle of a transaction: watches until one is open, kills, and then looks
//! whether it was open indeed. Must not be in here: a fault that the gate is told of.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use oncegate_testkit::generator::Kind;
use oncegate_testkit::open::OpenTransactions;
use oncegate_testkit::{KitError, Result};

use crate::PARTITIONS;
use crate::gate::{Gate, Member};
use crate::progress::Progress;
use crate::stage::Stage;

/// A transaction takes some milliseconds: the signal may come too late, and is sent again.
const KILLS_MAX: usize = 10;
const OPEN_TIMEOUT: Duration = Duration::from_secs(20);
/// The route with the largest records, whose transactions take longest.
const WATCHED: Kind = Kind::Inventory;

/// Kills a process while a transaction of its is open, as often as it takes, and starts it again
/// each time on the same state directory.
pub fn kill_in_transaction(
    stage: &Stage,
    gate: &Gate,
    member: &mut Member,
    progress: &Progress,
) -> Result<()> {
    let watched: Vec<(String, OpenTransactions)> = Kind::ALL
        .iter()
        .map(|kind| {
            let topic = stage.clean(*kind);
            let open = OpenTransactions::watch(&stage.bootstrap, &topic, PARTITIONS)?;
            Ok((topic, open))
        })
        .collect::<Result<_>>()?;
    for _ in 0..KILLS_MAX {
        let held = Kind::ALL.map(|kind| member.partitions(kind));
        hunt(&watched, &held, member)?;
        let id = member.id();
        member.kill9()?;
        // The process is gone, nobody else has its partitions before its session ends, and only
        // its transactions write to them: what is open now was open when it died.
        let left = left_open(&watched, &held)?;
        progress.say(match left.is_empty() {
            true => format!("kill -9 {id} came between two transactions; once more"),
            false => format!("kill -9 {id} left open transactions on {}", left.join(", ")),
        });
        *member = gate.start(member.name())?;
        gate.wait_ready(member)?;
        if !left.is_empty() {
            progress.say(format!("started again as {}, and ready", member.id()));
            return Ok(());
        }
    }
    Err(KitError::new(format!(
        "no transaction was open at any of {KILLS_MAX} kills: the machine may be too slow, or \
         the gate did no work; see its log"
    )))
}

/// Watches until a transaction is open on a partition that the process holds. Asks again without
/// a pause: a transaction is over in milliseconds.
fn hunt(
    watched: &[(String, OpenTransactions)],
    held: &[BTreeSet<i32>],
    member: &mut Member,
) -> Result<()> {
    let place = Kind::ALL.iter().position(|kind| *kind == WATCHED).unwrap_or(0);
    let (topic, open) = &watched[place];
    let until = Instant::now() + OPEN_TIMEOUT;
    while Instant::now() < until && member.is_running() {
        for partition in &held[place] {
            if open.on(*partition)? {
                return Ok(());
            }
        }
    }
    Err(KitError::new(format!(
        "process {} opened no transaction on {topic} within {} s; {}",
        member.name(),
        OPEN_TIMEOUT.as_secs(),
        member.end_of_log()
    )))
}

/// The places on which a transaction is open, of those that a dead process held.
fn left_open(
    watched: &[(String, OpenTransactions)],
    held: &[BTreeSet<i32>],
) -> Result<Vec<String>> {
    let mut left = Vec::new();
    for ((topic, open), held) in watched.iter().zip(held) {
        for partition in held {
            if open.on(*partition)? {
                left.push(format!("{topic}/{partition}"));
            }
        }
    }
    Ok(left)
}
