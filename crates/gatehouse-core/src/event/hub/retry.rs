//! How long to wait before a message is sent again.

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// Pauses after the first failed attempts; from then on it is always the last one.
const PAUSES: [i64; 9] = [
    5 * SECOND,
    30 * SECOND,
    2 * MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    RETRY_PAUSE_MAX_MILLISECONDS,
];

/// The longest pause.
pub const RETRY_PAUSE_MAX_MILLISECONDS: i64 = 4 * HOUR;

/// Attempts that a message has at least, however short it is tried for.
const ATTEMPTS_MIN: i64 = 8;

/// The pause after the last of so many failed attempts in a row, for messages that are tried for so long. `spread`, of 0
/// to 255, lengthens the pause by up to a tenth, so that messages that failed together don't come again together.
pub fn retry_pause_milliseconds(n_failures: u64, retried_for: i64, spread: u8) -> i64 {
    let n = usize::try_from(n_failures.saturating_sub(1)).unwrap_or(usize::MAX);
    let pause = PAUSES.get(n).copied().unwrap_or(RETRY_PAUSE_MAX_MILLISECONDS);
    let pause = pause.min(retried_for / ATTEMPTS_MIN);
    pause + pause * i64::from(spread) / 2560
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest() {
        const DAYS: i64 = 3 * 24 * HOUR;
        let pauses: Vec<i64> = (1..20).map(|n| retry_pause_milliseconds(n, DAYS, 0)).collect();
        assert!(pauses.is_sorted(), "{pauses:?}");
        assert_eq!((pauses[0], pauses[18]), (5_000, RETRY_PAUSE_MAX_MILLISECONDS));
        assert_eq!(retry_pause_milliseconds(0, DAYS, 0), 5_000);
        assert_eq!(retry_pause_milliseconds(1, DAYS, 255), 5_498);
        assert_eq!(retry_pause_milliseconds(u64::MAX, DAYS, 0), RETRY_PAUSE_MAX_MILLISECONDS);
        assert_eq!(retry_pause_milliseconds(1, 8 * SECOND, 0), SECOND);
    }
}
