//! The figures as a picture: an SVG with three small charts of bars, legible on light and dark.
//! Must not be in here: a figure that the table does not have.

use std::fmt::Write;
use std::path::Path;

use crate::bench::Contender;
use crate::bench::report::{Spread, Summary};
use crate::error::{Doing, Result};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 330.0;
const TOP: f64 = 84.0;
const FLOOR: f64 = 262.0;
const CHART: f64 = 290.0;
const BAR: f64 = 56.0;

const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#1f2328}.small{font-size:11px;\
fill:#59636e}.title{font-size:16px;font-weight:600}.head{font-weight:600}.back{fill:#ffffff}\
.axis{stroke:#8c959f}.whisker{stroke:#1f2328;stroke-width:1.5}\
.bare{fill:#8c959f}.oncegate{fill:#1a7f37}.streams{fill:#bf8700}.upper{fill-opacity:.45}\
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.small{fill:#9198a1}.back{fill:#0d1117}\
.whisker{stroke:#f0f6fc}}";

/// One bar: what lies at its foot, and what is stacked on it.
struct Bar {
    contender: Contender,
    foot: f64,
    upper: f64,
    label: String,
    whisker: Option<Spread>,
}

/// Writes the picture; `caption` says what was measured and with which command.
pub fn write(path: &Path, summaries: &[Summary], caption: &str) -> Result<()> {
    std::fs::write(path, svg(summaries, caption))
        .doing(|| format!("cannot write {}", path.display()))
}

fn svg(summaries: &[Summary], caption: &str) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"{}\">\n<style>{STYLE}</style>\n\
         <rect class=\"back\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\"/>\n\
         <text class=\"title\" x=\"20\" y=\"30\">Exactly-once deduplication beside its peers</text>\n",
        escaped(caption)
    );
    let bars = |bar: fn(&Summary) -> Bar| summaries.iter().map(bar).collect::<Vec<Bar>>();
    let charts = [
        ("records a second", "median; lines from minimum to maximum", bars(rate)),
        ("CPU seconds a million records", "client below, broker above", bars(cpu)),
        ("peak memory of the client, MiB", "median", bars(memory)),
    ];
    for (place, (head, note, bars)) in charts.iter().enumerate() {
        chart(&mut svg, 20.0 + place as f64 * CHART, (head, note), bars);
    }
    // Writing to a `String` does not fail.
    let _ = writeln!(
        svg,
        "<text class=\"small\" x=\"20\" y=\"{}\">{}</text>\n</svg>",
        HEIGHT - 16.0,
        escaped(caption)
    );
    svg
}

fn rate(one: &Summary) -> Bar {
    Bar {
        contender: one.contender,
        foot: one.rate.median,
        upper: 0.0,
        label: format!("{:.0},000", one.rate.median / 1_000.0),
        whisker: Some(one.rate),
    }
}

fn cpu(one: &Summary) -> Bar {
    let broker = one.broker_cpu.map_or(0.0, |cpu| cpu.median);
    let client = one.client_cpu.median;
    let label = format!("{client:.1} + {broker:.1}");
    Bar { contender: one.contender, foot: client, upper: broker, label, whisker: None }
}

fn memory(one: &Summary) -> Bar {
    let mib = one.peak_mib.median;
    Bar {
        contender: one.contender,
        foot: mib,
        upper: 0.0,
        label: format!("{mib:.0}"),
        whisker: None,
    }
}

fn chart(svg: &mut String, left: f64, (head, note): (&str, &str), bars: &[Bar]) {
    let highest = |bar: &Bar| bar.whisker.map_or(bar.foot + bar.upper, |spread| spread.max);
    let most = bars.iter().map(highest).fold(f64::MIN_POSITIVE, f64::max);
    let height = |value: f64| value / most * (FLOOR - TOP - 22.0);
    let _ = writeln!(
        svg,
        "<text class=\"head\" x=\"{left}\" y=\"58\">{head}</text>\n\
         <text class=\"small\" x=\"{left}\" y=\"74\">{note}</text>\n\
         <line class=\"axis\" x1=\"{left}\" x2=\"{}\" y1=\"{FLOOR}\" y2=\"{FLOOR}\"/>",
        left + CHART - 30.0
    );
    for (place, bar) in bars.iter().enumerate() {
        let x = left + 14.0 + place as f64 * (BAR + 28.0);
        let middle = x + BAR / 2.0;
        let (foot, upper) = (height(bar.foot), height(bar.upper));
        let class = bar.contender.name();
        let mut top = FLOOR - foot - upper;
        let _ = writeln!(
            svg,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{:.1}\" width=\"{BAR}\" height=\"{foot:.1}\"/>\n\
             <rect class=\"{class} upper\" x=\"{x}\" y=\"{top:.1}\" width=\"{BAR}\" height=\"{upper:.1}\"/>",
            FLOOR - foot
        );
        if let Some(spread) = bar.whisker {
            let (low, high) = (FLOOR - height(spread.min), FLOOR - height(spread.max));
            top = top.min(high);
            let _ = writeln!(
                svg,
                "<line class=\"whisker\" x1=\"{middle}\" x2=\"{middle}\" y1=\"{low:.1}\" y2=\"{high:.1}\"/>"
            );
        }
        let _ = writeln!(
            svg,
            "<text text-anchor=\"middle\" x=\"{middle}\" y=\"{:.1}\">{}</text>\n\
             <text text-anchor=\"middle\" class=\"small\" x=\"{middle}\" y=\"{}\">{}</text>",
            top - 6.0,
            bar.label,
            FLOOR + 18.0,
            bar.contender.title(),
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_contender_has_a_bar_in_each_chart() {
        let spread = |median| Spread { min: median, median, max: median };
        let one = |contender| Summary {
            contender,
            rate: spread(100_000.0),
            client_cpu: spread(2.0),
            broker_cpu: Some(spread(1.5)),
            peak_mib: spread(80.0),
        };
        let svg = svg(&Contender::ALL.map(one), "three & \"more\"");
        for contender in Contender::ALL {
            assert_eq!(svg.matches(&format!(">{}<", contender.title())).count(), 3, "{svg}");
        }
        assert!(svg.contains("three &amp; &quot;more&quot;") && svg.ends_with("</svg>\n"), "{svg}");
    }
}
