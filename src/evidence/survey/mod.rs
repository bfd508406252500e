//! `survey`: how many duplicates, conflicts and late events a topic holds, so that recipe and
//! window can be chosen before anything runs. Reads only.
//! Must not be in here: a verdict; no gate has seen the topic.

mod deliveries;
mod intake;
mod report;
mod row;
mod spread;

pub use deliveries::{Lags, Repeats};
pub use intake::PartitionIntake;
pub use report::SurveyReport;
pub use row::{ROW_BYTES, Row};
pub use spread::Spread;

use super::cursor::{EvidenceError, Source};
use super::ends::bounds;
use super::sorter::Sorter;
use crate::gate::RawRecord;
use crate::identity::{Deriver, Recipe};
use std::path::Path;
use std::sync::Arc;

const RECORDS: usize = 20_000;

/// Surveys a topic.
///
/// # Errors
/// [`EvidenceError`] where it could not be read to its captured end.
pub fn survey(
    source: &mut Source<'_>,
    topic: &str,
    recipe: &Arc<Recipe>,
    temp_dir: &Path,
) -> Result<SurveyReport, EvidenceError> {
    let partitions =
        source.ask(|| format!("partitions of {topic}"), |logs| logs.partitions(topic))?;
    let mut rows = Sorter::<ROW_BYTES>::new(temp_dir);
    let mut deriver = Deriver::new(recipe.clone());
    let (mut intakes, mut open) = (Vec::new(), Vec::new());
    for partition in 0..partitions {
        let ends = bounds(source, topic, partition)?;
        if ends.stable < ends.high {
            open.push((partition, ends.stable, ends.high));
        }
        // What a transaction holds open is not decided by anyone yet.
        let mut cursor = source.open(topic, partition, ends.low, ends.stable)?;
        let (mut intake, mut failed) = (PartitionIntake::new(partition), None);
        while !cursor.is_done() {
            let mut show = |record: &RawRecord<'_>| {
                intake.take(record, &mut deriver, &mut |row| {
                    failed = rows.push(row.to_bytes()).err().or(failed.take());
                });
            };
            source.step(&mut cursor, RECORDS, &mut show)?;
            if let Some(error) = failed {
                return Err(error.into());
            }
        }
        intakes.push(intake);
    }
    let mut repeats = Repeats::default();
    for row in rows.finish()? {
        repeats.push(&Row::from_bytes(&row?));
    }
    Ok(SurveyReport {
        topic: topic.to_owned(),
        recipe: format!("{}/{}", recipe.name(), recipe.version()),
        itemized: recipe.granularity() == crate::identity::Granularity::Items,
        has_event_time: recipe.event_time_field().is_some(),
        partitions: intakes,
        repeats,
        open_transactions: open,
    })
}
