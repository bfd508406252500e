//! The window: how far back, by event time, a key is remembered.
//! Must not be in here: a wall clock. Time comes only from events and from the record's arrival.

use super::sighting::EventMicros;

/// The bounds that a route sets on event time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Microseconds of event time that the store looks back. `None`: nothing is ever forgotten.
    pub span_micros: Option<i64>,
    /// How far an event's time may lie beyond its record's arrival, in microseconds.
    pub future_micros_max: i64,
}

/// Clock and horizon of one partition. Both only rise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowState {
    /// The highest event time accepted so far; `i64::MIN` before the first.
    pub clock_micros: EventMicros,
    /// Events below can no longer be proven new; `i64::MIN` without a window.
    pub horizon_micros: EventMicros,
}

/// Where an event's time lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Between the horizon and the arrival: the store can answer for it.
    Inside,
    /// Below the horizon: the store may have forgotten it.
    Late,
    /// Further beyond the record's arrival than the route allows.
    Future,
}

impl WindowState {
    /// The state of a partition that has seen nothing.
    pub const EMPTY: WindowState =
        WindowState { clock_micros: EventMicros::MIN, horizon_micros: EventMicros::MIN };

    /// Places an event. `arrival_ms` is the record's own timestamp in milliseconds; `None` where
    /// the record has none, and then no event counts as being in the future.
    pub fn place(&self, window: &Window, event: EventMicros, arrival_ms: Option<i64>) -> Placement {
        if event < self.horizon_micros {
            return Placement::Late;
        }
        let latest =
            arrival_ms.map(|ms| ms.saturating_mul(1000).saturating_add(window.future_micros_max));
        match latest {
            Some(latest) if event > latest => Placement::Future,
            _ => Placement::Inside,
        }
    }

    /// The state after an event of this time was let through.
    #[must_use]
    pub fn after(self, window: &Window, event: EventMicros) -> WindowState {
        let clock_micros = self.clock_micros.max(event);
        let horizon_micros = match window.span_micros {
            None => self.horizon_micros,
            Some(span) => self.horizon_micros.max(clock_micros.saturating_sub(span)),
        };
        WindowState { clock_micros, horizon_micros }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000;
    const WINDOW: Window = Window { span_micros: Some(HOUR), future_micros_max: 60_000_000 };

    #[test]
    fn horizon_follows_the_clock_and_never_falls() {
        let state = WindowState::EMPTY.after(&WINDOW, 10 * HOUR);
        assert_eq!(state.horizon_micros, 9 * HOUR);
        assert_eq!(state.after(&WINDOW, 9 * HOUR), state);
        let longer = Window { span_micros: Some(5 * HOUR), ..WINDOW };
        assert_eq!(state.after(&longer, 10 * HOUR).horizon_micros, 9 * HOUR);
    }

    #[test]
    fn edges_belong_to_the_inside() {
        let state = WindowState::EMPTY.after(&WINDOW, 10 * HOUR);
        assert_eq!(state.place(&WINDOW, 9 * HOUR, Some(i64::MAX)), Placement::Inside);
        assert_eq!(state.place(&WINDOW, 9 * HOUR - 1, None), Placement::Late);
        let arrival_ms = 10 * HOUR / 1000;
        let edge = 10 * HOUR + WINDOW.future_micros_max;
        assert_eq!(state.place(&WINDOW, edge, Some(arrival_ms)), Placement::Inside);
        assert_eq!(state.place(&WINDOW, edge + 1, Some(arrival_ms)), Placement::Future);
    }

    #[test]
    fn without_a_window_nothing_is_late() {
        let open = Window { span_micros: None, ..WINDOW };
        let state = WindowState::EMPTY.after(&open, i64::MAX);
        assert_eq!(state.place(&open, i64::MIN, None), Placement::Inside);
    }
}
