//! The figures as text: three tables with a row a milestone, what follows for ten billion keys, and
//! the last line.
//! Must not be in here: a measurement.

use super::GIB;
use super::keys::{KINDS, USUAL};
use super::milestone::Milestone;
use super::tally::Turns;
use std::fmt::Write;

/// Keys of a large cluster, and of one of its partitions.
const CLUSTER_KEYS: f64 = 1e10;
const PARTITION_KEYS: f64 = 1e8;
const MIB: f64 = (1 << 20) as f64;

/// The three tables.
pub fn tables(milestones: &[Milestone]) -> String {
    [
        table(&WRITING, milestones, writing),
        table(&look_up_columns(), milestones, look_ups),
        table(&SIZE, milestones, size),
    ]
    .join("\n")
}

const WRITING: [&str; 9] = [
    "keys",
    "written/s, stretch",
    "last million",
    "longest batch, ms",
    "looked up/s before",
    "a million more, written/s",
    "beside a new store",
    "restored/s",
    "beside a new store",
];

const SIZE: [&str; 9] = [
    "keys",
    "disk, GiB",
    "bytes a key",
    "right after writing",
    "filters, bytes a key",
    "indexes, bytes a key",
    "budget in use, MiB",
    "resident, MiB",
    "peak, MiB",
];

fn look_up_columns() -> Vec<&'static str> {
    std::iter::once("keys; looked up/s").chain(KINDS.iter().map(|kind| kind.name)).collect()
}

fn writing(at: &Milestone) -> Vec<String> {
    let stretch = &at.stretch;
    vec![
        rate(stretch.write.rate()),
        rate(stretch.last.rate()),
        format!("{:.0}", stretch.longest.as_secs_f64() * 1_000.0),
        rate(stretch.look_up.rate()),
        rate(at.writes.large.rate()),
        ratios(&at.writes, at.writes.ratio()),
        rate(at.restores.large.rate()),
        ratios(&at.restores, at.restores.ratio()),
    ]
}

fn look_ups(at: &Milestone) -> Vec<String> {
    let cell = |turns: &Turns| format!("{}: {}", rate(turns.large.rate()), of_rounds(turns));
    at.look_ups.iter().map(cell).collect()
}

fn size(at: &Milestone) -> Vec<String> {
    let [flushed, settled] = at.disk_bytes;
    vec![
        format!("{:.2}", settled as f64 / GIB),
        format!("{:.1}", bytes_per_key(at)),
        format!("{:.1}", flushed as f64 / at.keys as f64),
        format!("{:.2}", at.besides.filter_bytes as f64 / at.keys as f64),
        format!("{:.2}", at.besides.index_bytes as f64 / at.keys as f64),
        format!("{:.0}", at.budget_bytes as f64 / MIB),
        format!("{:.0}", at.memory.resident_mib),
        format!("{:.0}", at.memory.peak_mib),
    ]
}

/// What the figures of a milestone mean for ten billion keys.
pub fn ten_billion(at: &Milestone) -> String {
    let gib = |bytes_per_key: f64| bytes_per_key * CLUSTER_KEYS / GIB;
    let per_key = |bytes: u64| bytes as f64 / at.keys as f64;
    let partitions = CLUSTER_KEYS / PARTITION_KEYS;
    let (filter, index) = (per_key(at.besides.filter_bytes), per_key(at.besides.index_bytes));
    let restore = PARTITION_KEYS / at.restores.large.rate().unwrap_or(f64::NAN);
    format!(
        "ten billion: disk {:.0} GiB, filters {:.0} GiB, at 100 million keys a partition: \
         {partitions:.0} partitions, restore of one partition {restore:.0} s\n\
         ten billion: indexes {:.0} GiB, a partition: disk {:.1} GiB, filters and indexes {:.0} MiB\n\
         ten billion: journal {:.0} GiB before compression, at one entry in 10,000 events\n",
        gib(bytes_per_key(at)),
        gib(filter),
        gib(index),
        gib(bytes_per_key(at)) / partitions,
        gib(filter + index) / partitions * 1024.0,
        gib(at.journal_bytes_per_event),
    )
}

/// The last line, of the largest milestone; the peak is that of all.
pub fn last_line(milestones: &[Milestone]) -> String {
    let Some(at) = milestones.last() else { return String::new() };
    let peak = milestones.iter().map(|at| at.memory.peak_mib).fold(0.0, f64::max);
    let lowest = at.look_ups.iter().map(median).fold(f64::INFINITY, f64::min);
    format!(
        "scale: keys={} lookup_ratio={:.2} write_ratio={:.2} bytes_per_key={:.1} restore={:.0} \
         peak_mib={peak:.0} lookup_ratio_lowest={lowest:.2}",
        at.keys,
        at.look_ups.get(USUAL).map_or(f64::NAN, median),
        at.writes.ratio(),
        bytes_per_key(at),
        at.restores.large.rate().unwrap_or(f64::NAN),
    )
}

/// Bytes on disk, when merging was over.
pub fn bytes_per_key(at: &Milestone) -> f64 {
    at.disk_bytes[1] as f64 / at.keys as f64
}

/// A number with commas.
pub fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn table(columns: &[&str], milestones: &[Milestone], row: fn(&Milestone) -> Vec<String>) -> String {
    let mut text = format!("| {} |\n|{}\n", columns.join(" | "), " ---: |".repeat(columns.len()));
    for at in milestones {
        // Writing to a `String` does not fail.
        let _ = writeln!(text, "| {} | {} |", grouped(at.keys as f64), row(at).join(" | "));
    }
    text
}

fn rate(keys_per_second: Option<f64>) -> String {
    keys_per_second.map_or("-".into(), grouped)
}

fn median(turns: &Turns) -> f64 {
    turns.ratios()[1]
}

fn of_rounds(turns: &Turns) -> String {
    let [min, median, max] = turns.ratios();
    format!("{median:.2} ({min:.2} to {max:.2})")
}

fn ratios(turns: &Turns, ratio: f64) -> String {
    let [min, median, max] = turns.ratios();
    format!("{ratio:.2} (turns {min:.2}, {median:.2}, {max:.2})")
}
