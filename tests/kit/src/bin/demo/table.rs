//! The table at the end of the demo, and its last line.
//! Must not be in here: counting.

use std::fmt::Write;

use crate::tally::Tally;

/// One line a route and one for all, then the reasons of quarantine and the further checks.
pub fn text(tallies: &[Tally]) -> String {
    let total = Tally::total(tallies);
    let names = ["sent", "distinct", "clean", "absorbed", "quarantined", "twice", "missing"];
    let mut text = format!("\n{:<10}", "route");
    for name in names {
        let _ = write!(text, "{name:>12}");
    }
    text.push('\n');
    for tally in tallies.iter().chain([&total]) {
        let seen = &tally.compared;
        let counts = [
            seen.sent,
            seen.distinct,
            seen.clean,
            tally.absorbed,
            tally.quarantined,
            seen.twice,
            seen.missing,
        ];
        let _ = write!(text, "{:<10}", tally.route);
        for count in counts {
            let _ = write!(text, "{count:>12}");
        }
        text.push('\n');
    }
    let reasons: Vec<String> =
        total.reasons.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    let seen = &total.compared;
    let _ = writeln!(text, "\nquarantined by reason: {}", reasons.join(", "));
    let _ = writeln!(
        text,
        "clean + absorbed + quarantined = {}; out of order = {}, altered = {}, unknown = {}; \
         raw records in no topic = {}, in several = {}, in the wrong one = {}\n",
        seen.clean + total.absorbed + total.quarantined,
        seen.out_of_order,
        seen.altered,
        seen.unknown,
        total.nowhere,
        total.several,
        total.misjudged
    );
    text
}

/// What scripts read.
pub fn last_line(total: &Tally) -> String {
    let seen = &total.compared;
    format!(
        "demo: sent={} distinct={} clean={} absorbed={} quarantined={} twice={} missing={}",
        seen.sent,
        seen.distinct,
        seen.clean,
        total.absorbed,
        total.quarantined,
        seen.twice,
        seen.missing
    )
}
