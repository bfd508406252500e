//! The figures of a bench, as text. Measures nothing.

use std::fmt::Write;

use crate::bench::Contender;
use crate::bench::watch::Run;

/// One round of one contender.
pub struct Round {
    /// Its number, from 1.
    pub number: usize,
    /// Who ran.
    pub contender: Contender,
    /// What was measured.
    pub run: Run,
}

/// One line about a round.
pub fn round_line(round: &Round) -> String {
    let Round { number, contender, run } = round;
    format!(
        "round {number}  {:<9} {:>9.0} records/s  ({} records in {:.2} s)  client CPU {:.2} s a million",
        contender.name(),
        run.rate(),
        run.records,
        run.seconds,
        run.cpu_seconds_a_million(),
    )
}

/// The summary; its last line is `bench: oncegate=N bare=N ratio=N.NN`.
pub fn summary(rounds: &[Round]) -> String {
    let mut text = format!(
        "{:<9} {:>10} {:>10} {:>10}   client CPU s a million\n",
        "records/s", "minimum", "median", "maximum"
    );
    for contender in [Contender::Bare, Contender::Oncegate] {
        let rates = of(rounds, contender, Run::rate);
        let cpu = of(rounds, contender, Run::cpu_seconds_a_million);
        // Writing to a `String` does not fail.
        let _ = writeln!(
            text,
            "{:<9} {:>10.0} {:>10.0} {:>10.0}   {:.2} / {:.2} / {:.2}",
            contender.name(),
            rates[0],
            median(&rates),
            rates[rates.len() - 1],
            cpu[0],
            median(&cpu),
            cpu[cpu.len() - 1],
        );
    }
    let rate = |contender| median(&of(rounds, contender, Run::rate));
    let (oncegate, bare) = (rate(Contender::Oncegate), rate(Contender::Bare));
    let _ =
        write!(text, "bench: oncegate={oncegate:.0} bare={bare:.0} ratio={:.2}", oncegate / bare);
    text
}

/// A figure of all rounds of a contender, in order of size.
fn of(rounds: &[Round], contender: Contender, figure: impl Fn(&Run) -> f64) -> Vec<f64> {
    let rounds = rounds.iter().filter(|round| round.contender == contender);
    let mut figures: Vec<f64> = rounds.map(|round| figure(&round.run)).collect();
    figures.sort_by(f64::total_cmp);
    figures
}

/// The middle one, or the mean of the two in the middle.
fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { (sorted[half - 1] + sorted[half]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_of_medians() {
        let round = |number, contender, seconds| Round {
            number,
            contender,
            run: Run { records: 1_000, seconds, cpu_seconds: 0.002 },
        };
        let rounds = [
            round(1, Contender::Bare, 1.0),
            round(1, Contender::Oncegate, 4.0),
            round(2, Contender::Bare, 9.0),
            round(2, Contender::Oncegate, 2.0),
            round(3, Contender::Bare, 0.5),
            round(3, Contender::Oncegate, 2.5),
        ];
        let text = summary(&rounds);
        assert_eq!(text.lines().last(), Some("bench: oncegate=400 bare=1000 ratio=0.40"));
        assert!(text.contains("2.00 / 2.00 / 2.00"), "{text}");
    }
}
