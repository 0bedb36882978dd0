//! Durations in short notation: `90s`, `15m`, `4h`, `365d`.

use std::time::Duration;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

/// A duration: a whole number and `s`, `m`, `h` or `d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(try_from = "String")]
#[cfg_attr(test, schemars(with = "String", extend("pattern" = "^[0-9]+[smhd]$")))]
pub(crate) struct ShortDuration(pub(crate) Duration);

/// Longest duration: a hundred years.
const DAYS_MAX: u64 = 36_525;

impl ShortDuration {
    /// Parses a duration.
    pub(in crate::manifest) fn parse(text: &str) -> Option<Self> {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 60 * 60,
            "d" => 24 * 60 * 60,
            _ => return None,
        };
        let number = number.parse::<u64>().ok().filter(|_| is_number)?;
        let seconds = number.checked_mul(seconds)?;
        (seconds <= DAYS_MAX * 24 * 60 * 60).then(|| Self(Duration::from_secs(seconds)))
    }
}

impl TryFrom<String> for ShortDuration {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| {
            format!(
                "must be a whole number and s, m, h or d, such as `90s` or `365d`, not `{text}`"
            )
        })
    }
}

#[cfg(test)]
mod tests;
