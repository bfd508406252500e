//! What a process uses, as the kernel tells it: CPU time and the most memory it ever had.
//! Must not be in here: what the process is, and how long to wait for it.

use crate::error::{Doing, KitError, Result};

/// User and system time of a process, its threads together.
pub fn cpu_seconds(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/stat");
    let text = std::fs::read_to_string(&path).doing(|| format!("cannot read {path}"))?;
    // The name in parentheses may hold anything; user and system time are the 14th and 15th
    // field, the 12th and 13th behind the name.
    let behind_name = text.rsplit(')').next().unwrap_or_default();
    let ticks: Vec<u64> =
        behind_name.split_whitespace().skip(11).take(2).filter_map(|t| t.parse().ok()).collect();
    // SAFETY: sysconf has no memory effects.
    let ticks_a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    match ticks[..] {
        [user, system] if ticks_a_second > 0 => Ok((user + system) as f64 / ticks_a_second as f64),
        _ => Err(KitError::new(format!("{path} tells no CPU time"))),
    }
}

/// The most memory that a process had in RAM at a time, in MiB (`VmHWM`).
pub fn peak_mib(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/status");
    let status = std::fs::read_to_string(&path).doing(|| format!("cannot read {path}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kib.map(|kib| kib as f64 / 1024.0)
        .ok_or_else(|| KitError::new(format!("{path} tells no VmHWM")))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn cpu_time_of_this_process_goes_on() {
        let before = cpu_seconds(std::process::id()).unwrap();
        let began = Instant::now();
        let mut sum = 0u64;
        while began.elapsed() < Duration::from_millis(200) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let used = cpu_seconds(std::process::id()).unwrap() - before;
        assert!(used > 0.0 && used < 60.0, "{used}");
    }

    #[test]
    fn this_process_has_memory() {
        assert!(peak_mib(std::process::id()).unwrap() > 1.0);
    }
}
