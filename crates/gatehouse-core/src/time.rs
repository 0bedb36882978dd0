//! Instants as clients write and read them.
//!
//! Everything is kept in whole milliseconds, which is what answers show: a client that sends back the
//! time it was shown means the same instant.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

/// A text that names no instant; reads on after the field's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be an RFC 3339 time such as `2026-11-01T12:30:00Z` or a date such as `2026-11-01`, \
     not `{0}`"
)]
pub struct BadTime(String);

/// The last instant there is, some hours before the year 9999 ends: later ones mean this one, so that
/// whoever writes `9999-12-31T23:59:59Z` for "never" is understood.
pub const LATEST: Timestamp = Timestamp::constant(253_402_207_200, 0);

/// Reads an instant: RFC 3339 with any offset, none meaning UTC, or a date meaning its midnight UTC.
pub fn parse(text: &str) -> Result<Timestamp, BadTime> {
    let bad = || BadTime(text.chars().take(64).collect());
    let read = match shape(text).ok_or_else(bad)? {
        Shape::Date => {
            text.parse::<Date>().map_err(|_| bad())?.at(0, 0, 0, 0).to_zoned(TimeZone::UTC)
        }
        Shape::Local => text.parse::<DateTime>().map_err(|_| bad())?.to_zoned(TimeZone::UTC),
        Shape::Offset => text.parse::<Timestamp>().map(|it| it.to_zoned(TimeZone::UTC)),
    };
    match read {
        // An offset can lead back before the first year, which no answer could show.
        Ok(instant) if instant.year() < 0 => Err(bad()),
        Ok(instant) => Ok(to_milliseconds(instant.timestamp())),
        // A day that the calendar has, and a timestamp no longer.
        Err(_)
            if text.starts_with("9999-12-3")
                && text[..19.min(text.len())].parse::<DateTime>().is_ok() =>
        {
            Ok(LATEST)
        }
        Err(_) => Err(bad()),
    }
}

/// Writes an instant as answers show it: UTC, with milliseconds and `Z`.
pub fn show(instant: Timestamp) -> String {
    format!("{instant:.3}")
}

/// The instant without what is finer than a millisecond, and no later than [`LATEST`].
pub fn to_milliseconds(instant: Timestamp) -> Timestamp {
    // Rounding down also before 1970, so that order is kept.
    let whole = instant.as_nanosecond().div_euclid(1_000_000);
    let whole = i64::try_from(whole).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    whole.unwrap_or(LATEST).min(LATEST)
}

enum Shape {
    Date,
    Local,
    Offset,
}

/// Tells which of the three forms this is. jiff reads much more of ISO 8601 than the contract allows.
fn shape(text: &str) -> Option<Shape> {
    let bytes = text.as_bytes();
    let fits = |at: usize, pattern: &[u8]| {
        bytes.len() >= at + pattern.len()
            && pattern.iter().zip(&bytes[at..]).all(|(expected, byte)| match expected {
                b'0' => byte.is_ascii_digit(),
                other => other == byte,
            })
    };
    if !fits(0, b"0000-00-00") || bytes.len() > 64 {
        return None;
    }
    if bytes.len() == 10 {
        return Some(Shape::Date);
    }
    if !matches!(bytes[10], b'T' | b't' | b' ') || !fits(11, b"00:00:00") {
        return None;
    }
    let mut rest = &bytes[19..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let n_digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        if !(1..=9).contains(&n_digits) {
            return None;
        }
        rest = &fraction[n_digits..];
    }
    match rest {
        [] => Some(Shape::Local),
        [b'Z' | b'z'] => Some(Shape::Offset),
        [b'+' | b'-', h1 @ b'0'..=b'2', h2, b':', b'0'..=b'5', m2]
            if h2.is_ascii_digit() && m2.is_ascii_digit() && [*h1, *h2] < *b"24" =>
        {
            Some(Shape::Offset)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
