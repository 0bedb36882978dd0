//! Instants as clients write and read them.
//!
//! Instants are stored in whole milliseconds, which is what responses show: a client that sends a shown time back means
//! that instant.

mod shown;
pub mod span;
pub mod zone;

pub use shown::ShownTime;

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use jiff::civil::{DateTime, date};

/// An instant in UTC, in whole milliseconds, from the year 0000 to the end of 9999.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A text that is no instant; continues after the field's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be an RFC 3339 time such as `2026-11-01T12:30:00Z` or a date such as `2026-11-01`, \
     not `{0}`"
)]
pub struct BadTime(String);

/// A number of milliseconds outside the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an instant before the year 0000 or after 9999")]
pub struct TimeOutOfRange;

impl Timestamp {
    /// The beginning of 1970, from which milliseconds are counted.
    pub const EPOCH: Self = Self(0);
    /// The first instant that a response can show.
    pub const EARLIEST: Self = Self(-62_167_219_200_000);
    /// The last instant that a response can show.
    pub const LATEST: Self = Self(253_402_300_799_999);

    /// The instant this many milliseconds after the epoch.
    pub fn from_millisecond(milliseconds: i64) -> Result<Self, TimeOutOfRange> {
        let instant = Self(milliseconds);
        if (Self::EARLIEST..=Self::LATEST).contains(&instant) {
            Ok(instant)
        } else {
            Err(TimeOutOfRange)
        }
    }

    /// Milliseconds since the epoch.
    pub fn as_millisecond(self) -> i64 {
        self.0
    }

    /// Milliseconds since the epoch, as identifiers store them; 0 before 1970.
    pub fn unix_milliseconds(self) -> u64 {
        u64::try_from(self.0).unwrap_or_default()
    }

    /// Whole seconds since the epoch.
    pub fn as_second(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// The day in UTC, in days since the epoch.
    pub fn day(self) -> i64 {
        self.0.div_euclid(MILLISECONDS_A_DAY)
    }

    /// The first instant of a day, given in days since the epoch.
    pub fn of_day(day: i64) -> Result<Self, TimeOutOfRange> {
        Self::from_millisecond(day.saturating_mul(MILLISECONDS_A_DAY))
    }

    /// The instant this many milliseconds later, within the calendar.
    pub fn plus_milliseconds(self, milliseconds: i64) -> Self {
        Self(self.0.saturating_add(milliseconds).clamp(Self::EARLIEST.0, Self::LATEST.0))
    }

    /// The date in UTC: `2026-11-01`.
    pub fn date(self) -> String {
        self.civil().date().to_string()
    }

    /// Date and time of day in UTC.
    pub(crate) fn civil(self) -> DateTime {
        epoch()
            .checked_add(SignedDuration::from_millis(self.0))
            .expect("every timestamp lies within the calendar")
    }

    /// The instant of a date and time of day in UTC, truncated to milliseconds.
    pub(crate) fn from_civil(civil: DateTime) -> Self {
        let since = civil.duration_since(epoch());
        // Rounds down also before 1970, so that the order is kept.
        let whole = since.as_nanos().div_euclid(1_000_000);
        Self(i64::try_from(whole).expect("the calendar has fewer milliseconds than that"))
    }
}

const MILLISECONDS_A_DAY: i64 = 24 * 60 * 60 * 1000;

fn epoch() -> DateTime {
    date(1970, 1, 1).at(0, 0, 0, 0)
}

/// Parses a text as [`Timestamp`]'s `FromStr` does, into milliseconds since the epoch, and whether it is exactly this
/// millisecond or between this and the next. An offset may lead a day out of the calendar: good enough to compare with.
pub(crate) fn parse_milliseconds(text: &str) -> Result<(i64, bool), BadTime> {
    let bad = || BadTime(text.chars().take(64).collect());
    let (local, offset_minutes) = match shape(text).ok_or_else(bad)? {
        Shape::Date => (format!("{text}T00:00:00"), 0),
        Shape::Local => (text.to_owned(), 0),
        Shape::Utc => (text[..text.len() - 1].to_owned(), 0),
        Shape::Offset(minutes) => (text[..text.len() - OFFSET_BYTES].to_owned(), minutes),
    };
    // The calendar has nanoseconds and nothing finer.
    let (local, finer) = local.split_at(local.len().min(LOCAL_BYTES_MAX));
    let local: DateTime = local.parse().map_err(|_| bad())?;
    let is_whole = local.subsec_nanosecond() % 1_000_000 == 0 && finer.bytes().all(|b| b == b'0');
    Ok((Timestamp::from_civil(local).0 - offset_minutes * 60_000, is_whole))
}

/// Parses an instant: RFC 3339 with any offset (UTC without one), or a date, which means its midnight in UTC. Truncates
/// to milliseconds.
impl FromStr for Timestamp {
    type Err = BadTime;

    fn from_str(text: &str) -> Result<Self, BadTime> {
        let (milliseconds, _) = parse_milliseconds(text)?;
        Self::from_millisecond(milliseconds).map_err(|_| BadTime(text.chars().take(64).collect()))
    }
}

/// Writes an instant as responses show it: UTC, with milliseconds and `Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown().as_str())
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Bytes of a date and a time of day with nanoseconds: `2026-11-01T12:30:00.123456789`.
const LOCAL_BYTES_MAX: usize = 29;

/// Bytes of an offset: `+02:00`.
const OFFSET_BYTES: usize = 6;

enum Shape {
    Date,
    Local,
    Utc,
    /// Minutes by which the local time is ahead of UTC.
    Offset(i64),
}

/// Recognises the form of a text. jiff parses much more of ISO 8601 than the contract allows.
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
        if n_digits == 0 {
            return None;
        }
        rest = &fraction[n_digits..];
    }
    match rest {
        [] => Some(Shape::Local),
        [b'Z' | b'z'] => Some(Shape::Utc),
        [sign @ (b'+' | b'-'), h1 @ b'0'..=b'2', h2, b':', m1 @ b'0'..=b'5', m2]
            if h2.is_ascii_digit() && m2.is_ascii_digit() && [*h1, *h2] < *b"24" =>
        {
            let digit = |byte: &u8| i64::from(byte - b'0');
            let minutes = (digit(h1) * 10 + digit(h2)) * 60 + digit(m1) * 10 + digit(m2);
            Some(Shape::Offset(if *sign == b'-' { -minutes } else { minutes }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
