//! A series: one raw topic, and rounds of all contenders over it in turns.
//! Must not be in here: what a round is, and how figures look.

use std::time::Instant;

use crate::bench::Contender;
use crate::bench::load::{self, Load};
use crate::bench::report::{Round, round_line};
use crate::bench::round::Arena;
use crate::error::{KitError, Result};
use crate::topics::Admin;

/// Loads a raw topic, runs so many rounds over it, says a line about each, and deletes it.
/// `name` is the series' own in the cluster.
pub fn run(
    arena: &Arena<'_>,
    load: Load,
    (contenders, rounds): (&[Contender], usize),
    name: &str,
) -> Result<Vec<Round>> {
    if rounds == 0 || arena.plan.batch_records == 0 || load.records / 4 < arena.plan.batch_records {
        return Err(KitError::new(
            "it takes at least one round, and records for at least four transactions",
        ));
    }
    let began = Instant::now();
    let bootstrap = arena.broker.bootstrap();
    let loaded = load::load(bootstrap, &format!("{name}.raw"), load)?;
    println!(
        "loaded: {} lab results of {} bytes on average, {} distinct, in {:.1} s",
        loaded.all.records(),
        loaded.bytes / loaded.all.records(),
        loaded.distinct.records(),
        began.elapsed().as_secs_f64()
    );
    let mut done = Vec::new();
    for number in 1..=rounds {
        // Each begins once, then another: none always has the machine as its neighbour left it.
        for place in 0..contenders.len() {
            let contender = contenders[(place + number - 1) % contenders.len()];
            let name = format!("{name}.{}{number}", contender.name());
            let run = arena.run(&loaded, contender, &name)?;
            let round = Round { number, contender, run };
            println!("{}", round_line(&round));
            done.push(round);
        }
    }
    Admin::new(bootstrap)?.delete(&[&loaded.topic])?;
    Ok(done)
}
