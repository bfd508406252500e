//! Which log lines are left out because they repeat: a fault that lasts would fill the disk with
//! one line, and hide every other.
//! Must not be in here: a clock, or what a line looks like.
//!
//! Two lines are the same where they come from one place in the code with the same fields, and
//! their messages differ by digits at most (a client's message has times and counts in it). Of the
//! same line ten a minute are let through, of one place three hundred whatever the fields are.
//! What was left out is told at the end of the minute.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// From the first of a line to the end of its count.
pub const SPAN: Duration = Duration::from_secs(60);
/// Of one line in a span.
const OF_LINE_MAX: u32 = 10;
/// Of one place in the code in a span.
const OF_PLACE_MAX: u32 = 300;
/// Lines that are known at a time; with more, only places are counted.
const KNOWN_MAX: usize = 4_096;

/// A place in the code, and what a line of it says, as a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LineId {
    /// The place.
    pub place: usize,
    /// Its fields and its message without digits.
    pub said: u64,
}

/// Repetitions that were left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut<L> {
    /// The line, as it was first said.
    pub line: L,
    /// How many.
    pub count: u64,
}

struct Span<L> {
    begun: Instant,
    passed: u32,
    left_out: u64,
    line: L,
}

impl<L> Span<L> {
    fn has_ended(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.begun) >= SPAN
    }
}

/// The lines of the last minute. `L` is what is told of a line that was left out.
pub struct Repeats<L> {
    lines: HashMap<LineId, Span<L>>,
    places: HashMap<usize, Span<L>>,
    /// Ended counts that are not told yet.
    ended: Vec<LeftOut<L>>,
}

impl<L> Default for Repeats<L> {
    fn default() -> Repeats<L> {
        Repeats { lines: HashMap::new(), places: HashMap::new(), ended: Vec::new() }
    }
}

impl<L: Clone> Repeats<L> {
    /// Whether a line is let through.
    pub fn passes(&mut self, id: LineId, now: Instant, line: impl Fn() -> L) -> bool {
        if self.lines.len() >= KNOWN_MAX && !self.lines.contains_key(&id) {
            self.end(now);
        }
        let has_room = self.lines.len() < KNOWN_MAX || self.lines.contains_key(&id);
        let of_line =
            !has_room || pass(&mut self.lines, &mut self.ended, (id, OF_LINE_MAX), now, &line);
        // What was left out as a line does not use up its place.
        of_line && pass(&mut self.places, &mut self.ended, (id.place, OF_PLACE_MAX), now, &line)
    }

    /// What was left out in the spans that have ended, each told once.
    pub fn left_out(&mut self, now: Instant) -> Vec<LeftOut<L>> {
        self.end(now);
        std::mem::take(&mut self.ended)
    }

    fn end(&mut self, now: Instant) {
        let ended = &mut self.ended;
        self.lines.retain(|_, span| keep(span, ended, now));
        self.places.retain(|_, span| keep(span, ended, now));
    }
}

/// Whether a span is still under way; what it left out otherwise goes to those that have ended.
fn keep<L: Clone>(span: &Span<L>, ended: &mut Vec<LeftOut<L>>, now: Instant) -> bool {
    let goes_on = !span.has_ended(now);
    if !goes_on && span.left_out > 0 {
        ended.push(LeftOut { line: span.line.clone(), count: span.left_out });
    }
    goes_on
}

fn pass<K: std::hash::Hash + Eq, L: Clone>(
    spans: &mut HashMap<K, Span<L>>,
    ended: &mut Vec<LeftOut<L>>,
    (key, max): (K, u32),
    now: Instant,
    line: impl Fn() -> L,
) -> bool {
    let fresh = || Span { begun: now, passed: 0, left_out: 0, line: line() };
    let span = spans.entry(key).or_insert_with(fresh);
    if !keep(span, ended, now) {
        *span = fresh();
    }
    match span.passed < max {
        true => span.passed += 1,
        false => span.left_out += 1,
    }
    span.left_out == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: LineId = LineId { place: 1, said: 7 };

    fn say(repeats: &mut Repeats<&'static str>, id: LineId, now: Instant, times: usize) -> usize {
        (0..times).filter(|_| repeats.passes(id, now, || "line")).count()
    }

    #[test]
    fn ten_a_minute_pass_and_the_rest_is_told_once() {
        let (mut repeats, begun) = (Repeats::default(), Instant::now());
        assert_eq!(say(&mut repeats, LINE, begun, 50), 10);
        assert_eq!(say(&mut repeats, LineId { said: 8, ..LINE }, begun, 3), 3, "another line");
        assert!(repeats.left_out(begun + SPAN / 2).is_empty(), "the minute is not over");
        let told = repeats.left_out(begun + SPAN);
        assert_eq!(told, [LeftOut { line: "line", count: 40 }]);
        assert!(repeats.left_out(begun + SPAN * 2).is_empty());
        assert_eq!(say(&mut repeats, LINE, begun + SPAN * 2, 50), 10, "a new minute");
    }

    #[test]
    fn a_line_that_comes_back_after_its_minute_begins_a_new_one() {
        let (mut repeats, begun) = (Repeats::default(), Instant::now());
        say(&mut repeats, LINE, begun, 12);
        assert_eq!(say(&mut repeats, LINE, begun + SPAN, 12), 10);
        let counts: Vec<u64> = repeats.left_out(begun + SPAN).iter().map(|of| of.count).collect();
        assert_eq!(counts, [2], "of the first minute; the second is not over");
        assert_eq!(repeats.left_out(begun + SPAN * 2)[0].count, 2);
    }

    #[test]
    fn one_place_is_bounded_whatever_it_says() {
        let (mut repeats, begun) = (Repeats::default(), Instant::now());
        let passed = (0..20_000)
            .filter(|said| repeats.passes(LineId { place: 1, said: *said }, begun, || "line"))
            .count();
        assert_eq!(passed, OF_PLACE_MAX as usize);
        assert_eq!(repeats.lines.len(), KNOWN_MAX, "memory is bounded as well");
        assert_eq!(say(&mut repeats, LineId { place: 2, said: 0 }, begun, 1), 1, "another place");
        let counts: u64 = repeats.left_out(begun + SPAN).iter().map(|of| of.count).sum();
        assert_eq!(counts, 20_000 - u64::from(OF_PLACE_MAX), "each is told");
    }
}
