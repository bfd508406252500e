//! Instants and their RFC 3339 spellings. Knows no clock.

use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

const DAY_US: i64 = 86_400_000_000;
/// Zones that exist or existed, odd ones among them, within the 14 hours that are allowed.
const OFFSETS_MIN: [i32; 12] = [0, 0, -240, -300, -210, -720, 60, 120, 330, 345, 825, 840];

/// `us` since 1970 in UTC, with `Z`, and as many digits as it needs: none, three or six.
pub(super) fn utc(us: i64) -> String {
    format!("{}Z", naive(us, 'T', needed_digits(us)))
}

/// The same without a zone, which no strict recipe takes.
pub(super) fn without_zone(us: i64) -> String {
    naive(us, 'T', needed_digits(us))
}

/// The same instant in another zone or spelled otherwise.
pub(super) fn respelled(us: i64, rng: &mut Xoshiro256PlusPlus) -> String {
    let offset_min = OFFSETS_MIN[rng.random_range(0..OFFSETS_MIN.len())];
    let separator = ['T', 'T', 'T', 't', ' '][rng.random_range(0..5usize)];
    let digits = [0, 3, 6].into_iter().filter(|d| *d >= needed_digits(us));
    let digits: Vec<usize> = digits.collect();
    let digits = digits[rng.random_range(0..digits.len())];
    let local = naive(us + i64::from(offset_min) * 60_000_000, separator, digits);
    if offset_min == 0 {
        let zone = ["Z", "z", "+00:00", "-00:00"][rng.random_range(0..4usize)];
        return format!("{local}{zone}");
    }
    let sign = if offset_min < 0 { '-' } else { '+' };
    format!("{local}{sign}{:02}:{:02}", offset_min.abs() / 60, offset_min.abs() % 60)
}

fn needed_digits(us: i64) -> usize {
    match us.rem_euclid(1_000_000) {
        0 => 0,
        fraction if fraction % 1_000 == 0 => 3,
        _ => 6,
    }
}

fn naive(us: i64, separator: char, digits: usize) -> String {
    let (year, month, day) = civil(us.div_euclid(DAY_US));
    let in_day = us.rem_euclid(DAY_US);
    let (second, fraction) = (in_day / 1_000_000, in_day % 1_000_000);
    let mut text = format!(
        "{year:04}-{month:02}-{day:02}{separator}{:02}:{:02}:{:02}",
        second / 3600,
        second / 60 % 60,
        second % 60
    );
    if digits > 0 {
        text.push('.');
        text.push_str(&format!("{fraction:06}")[..digits]);
    }
    text
}

/// Year, month and day of a day number since 1970 (Howard Hinnant's `civil_from_days`).
fn civil(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_instants() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(1_768_435_200_000_000), "2026-01-15T00:00:00Z");
        assert_eq!(utc(1_709_251_199_999_000), "2024-02-29T23:59:59.999Z");
        assert_eq!(utc(951_782_400_000_001), "2000-02-29T00:00:00.000001Z");
        assert_eq!(without_zone(1_709_251_200_000_000), "2024-03-01T00:00:00");
    }
}
