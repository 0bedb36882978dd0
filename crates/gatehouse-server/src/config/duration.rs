//! Durations in settings: a whole number and a unit, `10s` or `500ms`.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

/// A duration that is shown as it was written.
#[derive(Clone, Copy, Debug)]
pub struct Duration {
    count: u64,
    unit: Unit,
}

#[derive(Clone, Copy, Debug)]
enum Unit {
    Milliseconds,
    Seconds,
    Minutes,
    Hours,
    Days,
}

/// The text isn't a duration.
#[derive(Debug, thiserror::Error)]
#[error("must be {EXPECTED}, not `{0}`")]
pub struct BadDuration(String);

const EXPECTED: &str =
    "a whole number and one of the units `ms`, `s`, `m`, `h` and `d`, such as `10s`";

/// Longest duration in milliseconds: a century, which can be added to any deadline.
const MILLISECONDS_MAX: u64 = 100 * 365 * 24 * 60 * 60 * 1000;

impl Duration {
    /// A number of milliseconds.
    pub const fn milliseconds(count: u64) -> Self {
        Self { count, unit: Unit::Milliseconds }
    }

    /// A number of seconds.
    pub const fn seconds(count: u64) -> Self {
        Self { count, unit: Unit::Seconds }
    }

    /// A number of minutes.
    pub const fn minutes(count: u64) -> Self {
        Self { count, unit: Unit::Minutes }
    }

    /// A number of hours.
    pub const fn hours(count: u64) -> Self {
        Self { count, unit: Unit::Hours }
    }

    /// A number of days.
    pub const fn days(count: u64) -> Self {
        Self { count, unit: Unit::Days }
    }

    /// The duration of the standard library.
    pub const fn get(self) -> std::time::Duration {
        let milliseconds = self.count.saturating_mul(self.unit.milliseconds());
        std::time::Duration::from_millis(milliseconds)
    }
}

impl Unit {
    const ALL: [Self; 5] =
        [Self::Milliseconds, Self::Seconds, Self::Minutes, Self::Hours, Self::Days];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Minutes => "m",
            Self::Hours => "h",
            Self::Days => "d",
        }
    }

    const fn milliseconds(self) -> u64 {
        match self {
            Self::Milliseconds => 1,
            Self::Seconds => 1000,
            Self::Minutes => 60 * 1000,
            Self::Hours => 60 * 60 * 1000,
            Self::Days => 24 * 60 * 60 * 1000,
        }
    }
}

impl FromStr for Duration {
    type Err = BadDuration;

    fn from_str(text: &str) -> Result<Self, BadDuration> {
        let bad = || BadDuration(text.to_owned());
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (count, unit) = text.split_at(digits);
        let count: u64 = count.parse().map_err(|_| bad())?;
        let unit = Unit::ALL.into_iter().find(|it| it.as_str() == unit).ok_or_else(bad)?;
        match count.checked_mul(unit.milliseconds()) {
            Some(milliseconds) if milliseconds <= MILLISECONDS_MAX => Ok(Self { count, unit }),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.count, self.unit.as_str())
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Explains the format when the value is a bare number.
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Duration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Duration, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests;
