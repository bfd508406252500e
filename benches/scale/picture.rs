//! The figures as a picture: an SVG with three small charts over the number of keys, legible on
//! light and dark.
//! Must not be in here: a figure that the tables do not have.

use super::Done;
use super::keys::{HARDEST, USUAL};
use super::milestone::Milestone;
use super::report::{bytes_per_key, grouped};
use std::fmt::Write;
use std::path::Path;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 340.0;
const TOP: f64 = 104.0;
const FLOOR: f64 = 262.0;
const CHART: f64 = 290.0;
const LINE: f64 = 220.0;

const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#1f2328}.small{font-size:11px;\
fill:#59636e}.title{font-size:16px;font-weight:600}.head{font-weight:600}.back{fill:#ffffff}\
.axis{stroke:#8c959f}polyline{fill:none;stroke-width:2}\
.a{stroke:#1a7f37}.b{stroke:#bf8700}.c{stroke:#8c959f}\
circle.a,text.a{fill:#1a7f37;stroke:none}circle.b,text.b{fill:#bf8700;stroke:none}\
circle.c,text.c{fill:#8c959f;stroke:none}\
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.small{fill:#9198a1}.back{fill:#0d1117}}";

/// A line of a chart.
struct Line {
    class: char,
    name: &'static str,
    /// A milestone each.
    values: Vec<Option<f64>>,
}

/// Writes the picture; `caption` says what was measured.
pub fn write(path: &Path, milestones: &[Milestone], caption: &str) -> Done<()> {
    std::fs::write(path, svg(milestones, caption))
        .map_err(|error| format!("cannot write {}: {error}", path.display()).into())
}

fn svg(milestones: &[Milestone], caption: &str) -> String {
    let line = |class, name, value: &dyn Fn(&Milestone) -> Option<f64>| Line {
        class,
        name,
        values: milestones.iter().map(value).collect(),
    };
    let looked_up = |kind: usize| move |at: &Milestone| at.look_ups.get(kind)?.large.rate();
    let charts = [
        (
            "keys a second, one partition",
            vec![
                line('a', "looked up, 10 % recent", &looked_up(USUAL)),
                line('b', "looked up, 90 % anywhere", &looked_up(HARDEST)),
                line('c', "written", &|at| at.stretch.write.rate()),
            ],
        ),
        (
            "bytes a key on disk",
            vec![line('a', "when merging was over", &|at| Some(bytes_per_key(at)))],
        ),
        (
            "memory, MiB",
            vec![
                line('a', "resident", &|at| Some(at.memory.resident_mib)),
                line('b', "of the budget", &|at| Some(at.budget_bytes as f64 / 1_048_576.0)),
            ],
        ),
    ];
    let keys: Vec<f64> = milestones.iter().map(|at| at.keys as f64).collect();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"{0}\">\n<style>{STYLE}</style>\n\
         <rect class=\"back\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\"/>\n\
         <text class=\"title\" x=\"20\" y=\"30\">How the store of one partition grows</text>\n",
        escaped(caption)
    );
    for (place, (head, lines)) in charts.iter().enumerate() {
        chart(&mut svg, 20.0 + place as f64 * CHART, head, &keys, lines);
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

/// One chart: keys on a logarithmic axis, values from nought.
fn chart(svg: &mut String, left: f64, head: &str, keys: &[f64], lines: &[Line]) {
    let most = lines.iter().flat_map(|line| line.values.iter().flatten());
    let most = most.copied().fold(f64::MIN_POSITIVE, f64::max);
    let (first, last) =
        (keys.first().map_or(0.0, |k| k.log10()), keys.last().map_or(1.0, |k| k.log10()));
    let x = |keys: f64| left + 14.0 + (keys.log10() - first) / (last - first).max(1e-9) * LINE;
    let y = |value: f64| FLOOR - value / most * (FLOOR - TOP - 14.0);
    let _ = writeln!(
        svg,
        "<text class=\"head\" x=\"{left}\" y=\"58\">{head}</text>\n\
         <line class=\"axis\" x1=\"{left}\" x2=\"{}\" y1=\"{FLOOR}\" y2=\"{FLOOR}\"/>",
        left + CHART - 30.0
    );
    let _ = writeln!(
        svg,
        "<text class=\"small\" x=\"{left}\" y=\"{}\">millions of keys</text>",
        FLOOR + 34.0
    );
    for keys in keys {
        let _ = writeln!(
            svg,
            "<text text-anchor=\"middle\" class=\"small\" x=\"{:.1}\" y=\"{}\">{:.0}</text>",
            x(*keys),
            FLOOR + 18.0,
            keys / 1e6
        );
    }
    for (nth, Line { class, name, values }) in lines.iter().enumerate() {
        let _ = writeln!(
            svg,
            "<text class=\"small {class}\" x=\"{left}\" y=\"{}\">{name}: {}</text>",
            74.0 + 14.0 * nth as f64,
            from_to(values)
        );
        let points = keys.iter().zip(values).filter_map(|(keys, value)| Some((*keys, (*value)?)));
        let points: Vec<(f64, f64)> = points.map(|(keys, value)| (x(keys), y(value))).collect();
        polyline(svg, *class, &points);
    }
}

/// The first and the last value of a line, in words.
fn from_to(values: &[Option<f64>]) -> String {
    let text = |value: &f64| match *value {
        value if value < 1_000.0 => format!("{value:.1}"),
        value => grouped(value),
    };
    let known: Vec<&f64> = values.iter().flatten().collect();
    match known[..] {
        [] => "not measured".into(),
        [only] => text(only),
        [first, .., last] => format!("{} to {}", text(first), text(last)),
    }
}

/// A line through its points.
fn polyline(svg: &mut String, class: char, points: &[(f64, f64)]) {
    let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(svg, "<polyline class=\"{class}\" points=\"{}\"/>", path.join(" "));
    for (x, y) in points {
        let _ = writeln!(svg, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>");
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
