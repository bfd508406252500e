//! Sizes and durations as people write them.
//! Must not be in here: what a size or a duration is for.

use std::time::Duration;

/// How a size is written, for messages.
pub const SIZE_FORM: &str = "write a size with its unit, like \"512MiB\" or \"64kB\"";
/// How a duration is written, for messages.
pub const DURATION_FORM: &str = "write a duration with its unit, like \"50ms\", \"10s\" or \"30d\"";

const SIZE_UNITS: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

const DAY_S: u64 = 24 * 3600;

/// Bytes of a size such as `512MiB`.
pub fn parse_size(text: &str) -> Option<u64> {
    let (digits, factor) = SIZE_UNITS
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?.trim_end(), *factor)))?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// A size as it would be written.
pub fn size_text(bytes: u64) -> String {
    let (unit, factor) = SIZE_UNITS
        .iter()
        .find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor))
        .unwrap_or(&("B", 1));
    format!("{}{unit}", bytes / factor)
}

/// A duration such as `30d` or `1h 30m`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    humantime::parse_duration(text).ok()
}

/// A duration as it would be written.
pub fn duration_text(duration: Duration) -> String {
    // Beyond days there are only months and years, which have no length of their own.
    if duration.as_secs() >= DAY_S && duration.as_secs().is_multiple_of(DAY_S) {
        return format!("{}d", duration.as_secs() / DAY_S);
    }
    humantime::format_duration(duration).to_string().replace("days", "d").replace("day", "d")
}

/// Microseconds, if they can be counted.
pub fn micros(duration: Duration) -> Option<i64> {
    i64::try_from(duration.as_micros()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_need_a_unit_and_whole_numbers() {
        assert_eq!(parse_size("512MiB"), Some(512 << 20));
        assert_eq!(parse_size("64 kB"), Some(64_000));
        assert_eq!(parse_size("7B"), Some(7));
        for wrong in ["", "B", "512", "512mb", "1.5MiB", "-1B", "+1B", "99999999999999GiB"] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
        assert_eq!(size_text(512 << 20), "512MiB");
        assert_eq!(size_text(1_000_000), "1MB");
        assert_eq!(size_text(0), "0B");
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(parse_duration("30d").and_then(micros), Some(30 * 86_400_000_000));
        assert_eq!(parse_duration("30"), None);
        assert_eq!(duration_text(Duration::from_secs(169 * 3600)), "7d 1h");
        assert_eq!(duration_text(Duration::from_secs(24 * 3600)), "1d");
        assert_eq!(duration_text(Duration::from_secs(400 * 24 * 3600)), "400d");
        assert_eq!(duration_text(Duration::from_millis(50)), "50ms");
    }
}
