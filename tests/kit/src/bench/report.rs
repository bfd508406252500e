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
        "round {number}  {:<9} {:>9.0} records/s  ({} records in {:.2} s)  CPU s a million: \
         client {:.2}, broker {}  peak {:.0} MiB",
        contender.name(),
        run.rate(),
        run.records,
        run.seconds,
        run.cpu_seconds_a_million(),
        run.broker_cpu_seconds_a_million().map_or("-".to_owned(), |cpu| format!("{cpu:.2}")),
        run.peak_mib,
    )
}

/// A figure of all rounds of a contender.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// The smallest.
    pub min: f64,
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// Of these figures; none where there are none.
    pub fn of(mut figures: Vec<f64>) -> Option<Spread> {
        figures.sort_by(f64::total_cmp);
        let half = figures.len() / 2;
        let median = match figures.len() {
            0 => return None,
            odd if odd % 2 == 1 => figures[half],
            _ => (figures[half - 1] + figures[half]) / 2.0,
        };
        Some(Spread { min: figures[0], median, max: figures[figures.len() - 1] })
    }
}

/// A contender's rounds, summed up.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// Who ran.
    pub contender: Contender,
    /// Records a second.
    pub rate: Spread,
    /// CPU seconds of the client a million records.
    pub client_cpu: Spread,
    /// CPU seconds of the brokers a million records, where they are known.
    pub broker_cpu: Option<Spread>,
    /// Peak memory of the client in MiB.
    pub peak_mib: Spread,
}

/// Sums up the rounds of each contender that took part, in the order of [`Contender::ALL`].
pub fn summaries(rounds: &[Round]) -> Vec<Summary> {
    let of = |contender| {
        let runs: Vec<&Run> =
            rounds.iter().filter(|r| r.contender == contender).map(|r| &r.run).collect();
        let spread = |figure: fn(&Run) -> f64| Spread::of(runs.iter().map(|r| figure(r)).collect());
        let broker = runs.iter().filter_map(|run| run.broker_cpu_seconds_a_million()).collect();
        Some(Summary {
            contender,
            rate: spread(Run::rate)?,
            client_cpu: spread(Run::cpu_seconds_a_million)?,
            broker_cpu: Spread::of(broker),
            peak_mib: spread(|run| run.peak_mib)?,
        })
    };
    Contender::ALL.into_iter().filter_map(of).collect()
}

/// Minimum, median and maximum of the rates, and medians of what they cost.
pub fn table(summaries: &[Summary]) -> String {
    let mut text = format!(
        "{:<10}{:>10} {:>10} {:>10}   {:>14} {:>8}   {:>8}\n{:<10}{:>10} {:>10} {:>10}   {:>14} {:>8}   {:>8}\n",
        "",
        "records/s",
        "",
        "",
        "CPU s/million",
        "",
        "peak",
        "",
        "minimum",
        "median",
        "maximum",
        "client",
        "broker",
        "MiB",
    );
    for one in summaries {
        // Writing to a `String` does not fail.
        let _ = writeln!(
            text,
            "{:<10}{:>10.0} {:>10.0} {:>10.0}   {:>14.2} {:>8}   {:>8.0}",
            one.contender.name(),
            one.rate.min,
            one.rate.median,
            one.rate.max,
            one.client_cpu.median,
            one.broker_cpu.map_or("-".to_owned(), |cpu| format!("{:.2}", cpu.median)),
            one.peak_mib.median,
        );
    }
    text
}

/// `oncegate=N bare=N streams=N ratio_bare=N.NN ratio_streams=N.NN`: medians of the rates, and
/// how the gate's is to each; without Kafka Streams `oncegate=N bare=N ratio=N.NN`.
pub fn verdict(summaries: &[Summary]) -> String {
    let rate = |contender| {
        let found = summaries.iter().find(|one| one.contender == contender);
        found.map(|one| one.rate.median)
    };
    let (gate, bare) = (rate(Contender::Oncegate), rate(Contender::Bare));
    let (gate, bare) = (gate.unwrap_or(f64::NAN), bare.unwrap_or(f64::NAN));
    match rate(Contender::Streams) {
        None => format!("oncegate={gate:.0} bare={bare:.0} ratio={:.2}", gate / bare),
        Some(streams) => format!(
            "oncegate={gate:.0} bare={bare:.0} streams={streams:.0} ratio_bare={:.2} \
             ratio_streams={:.2}",
            gate / bare,
            gate / streams
        ),
    }
}

/// What the gate costs above the bare pipe, and its memory to that of Kafka Streams.
pub fn costs(summaries: &[Summary]) -> String {
    let find = |contender| summaries.iter().find(|one| one.contender == contender);
    let mut text = Vec::new();
    if let (Some(gate), Some(bare)) = (find(Contender::Oncegate), find(Contender::Bare)) {
        let above = gate.client_cpu.median - bare.client_cpu.median;
        text.push(format!("client CPU above the bare copy: {above:.2} us a record"));
    }
    if let (Some(gate), Some(streams)) = (find(Contender::Oncegate), find(Contender::Streams)) {
        let share = gate.peak_mib.median / streams.peak_mib.median;
        text.push(format!("peak memory to Kafka Streams: {share:.2}"));
    }
    text.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(number: usize, contender: Contender, seconds: f64) -> Round {
        let run = Run {
            records: 1_000,
            seconds,
            cpu_seconds: 0.002,
            broker_cpu_seconds: Some(0.001),
            peak_mib: 100.0,
        };
        Round { number, contender, run }
    }

    #[test]
    fn the_verdict_is_of_medians() {
        let mut rounds = vec![
            round(1, Contender::Bare, 1.0),
            round(1, Contender::Oncegate, 4.0),
            round(2, Contender::Bare, 9.0),
            round(2, Contender::Oncegate, 2.0),
            round(3, Contender::Bare, 0.5),
            round(3, Contender::Oncegate, 2.5),
        ];
        let two = summaries(&rounds);
        assert_eq!(verdict(&two), "oncegate=400 bare=1000 ratio=0.40");
        assert!(table(&two).contains("2.00     1.00"), "{}", table(&two));
        rounds.push(round(1, Contender::Streams, 10.0));
        assert_eq!(
            verdict(&summaries(&rounds)),
            "oncegate=400 bare=1000 streams=100 ratio_bare=0.40 ratio_streams=4.00"
        );
    }

    #[test]
    fn the_middle_of_an_even_number_lies_between() {
        let spread = Spread { min: 1.0, median: 2.5, max: 9.0 };
        assert_eq!(Spread::of(vec![9.0, 1.0, 3.0, 2.0]), Some(spread));
        assert_eq!(Spread::of(Vec::new()), None);
    }
}
