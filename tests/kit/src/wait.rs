//! Waiting for a condition. The only place of the kit that may pause between two looks:
//! nothing else sleeps for a guess.

use std::time::{Duration, Instant};

use crate::error::{KitError, Result};

const PAUSE_MIN: Duration = Duration::from_millis(2);
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// Waits until `condition` holds, or says what did not come within `timeout`.
pub fn wait_until(
    timeout: Duration,
    what: &str,
    mut condition: impl FnMut() -> bool,
) -> Result<()> {
    wait_for(timeout, what, || if condition() { Ok(()) } else { Err(String::new()) })
}

/// Waits until `look` gives a value. Its `Err` says how far things are; the last one stands in
/// the error, so that a time-out tells what was seen instead.
pub fn wait_for<T>(
    timeout: Duration,
    what: &str,
    look: impl FnMut() -> std::result::Result<T, String>,
) -> Result<T> {
    wait_closely(timeout, PAUSE_MAX, what, look)
}

/// The same with a longest pause between two looks, for those who measure when it came.
pub fn wait_closely<T>(
    timeout: Duration,
    pause_max: Duration,
    what: &str,
    mut look: impl FnMut() -> std::result::Result<T, String>,
) -> Result<T> {
    let started = Instant::now();
    let mut pause = PAUSE_MIN;
    loop {
        let seen = match look() {
            Ok(value) => return Ok(value),
            Err(seen) => seen,
        };
        if started.elapsed() >= timeout {
            let seen = if seen.is_empty() { seen } else { format!("; last seen: {seen}") };
            return Err(KitError::new(format!(
                "waited {:.1} s in vain until {what}{seen}",
                started.elapsed().as_secs_f64()
            )));
        }
        std::thread::sleep(pause.min(timeout.saturating_sub(started.elapsed())));
        pause = (pause * 2).min(pause_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_did_not_come_and_what_was_seen() {
        let error = wait_for::<()>(Duration::from_millis(5), "the moon is full", || {
            Err("half a moon".to_owned())
        })
        .unwrap_err()
        .to_string();
        assert!(error.contains("until the moon is full; last seen: half a moon"), "{error}");
    }

    #[test]
    fn returns_as_soon_as_it_holds() {
        let mut looks = 0;
        wait_until(Duration::from_secs(5), "three looks were taken", || {
            looks += 1;
            looks == 3
        })
        .unwrap();
        assert_eq!(looks, 3);
    }
}
