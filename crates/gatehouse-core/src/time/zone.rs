//! Time zones: names of the IANA database, and the end of a month in each.

use jiff::ToSpan;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use crate::time::Timestamp;

/// The name of a time zone in the IANA database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneName(String);

/// A name that the IANA database doesn't have; continues after the field's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a time zone of the IANA database such as `UTC` or `Europe/Berlin`, not `{0}`")]
pub struct BadZone(String);

impl ZoneName {
    /// The name as the IANA database spells it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first instant of the next month in this zone, at most [`Timestamp::LATEST`].
    ///
    /// Always after `now`, also where clocks go back over the end of a month and it comes twice.
    pub fn next_month(&self, now: Timestamp) -> Timestamp {
        let zone = self.time_zone();
        let Ok(instant) = jiff::Timestamp::from_millisecond(now.as_millisecond()) else {
            return Timestamp::LATEST;
        };
        let this_month = zone.to_datetime(instant).date().first_of_month();
        let Ok(first) = this_month.checked_add(1.month()) else { return Timestamp::LATEST };
        let begins = first_instant(&zone, first.at(0, 0, 0, 0), instant);
        let begins = begins.and_then(|it| Timestamp::from_millisecond(it.as_millisecond()).ok());
        begins.unwrap_or(Timestamp::LATEST)
    }

    fn time_zone(&self) -> TimeZone {
        TimeZone::get(&self.0).expect("the name was found in the database inside this program")
    }
}

/// The first instant after `now` at which clocks show `midnight` or later.
fn first_instant(
    zone: &TimeZone,
    midnight: DateTime,
    now: jiff::Timestamp,
) -> Option<jiff::Timestamp> {
    let ambiguous = zone.to_ambiguous_timestamp(midnight);
    match ambiguous.offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(midnight).ok(),
        // Clocks go forward over midnight: the day begins at that moment.
        AmbiguousOffset::Gap { before, .. } => {
            let within = before.to_timestamp(midnight).ok()?;
            let gap = zone.preceding(within.checked_add(1.second()).ok()?).next();
            gap.map(|gap| gap.timestamp())
        }
        // Clocks go back over midnight. The first midnight counts, unless it has passed.
        AmbiguousOffset::Fold { before, after } => {
            let first = before.to_timestamp(midnight).ok()?;
            if first > now { Some(first) } else { after.to_timestamp(midnight).ok() }
        }
    }
}

impl Default for ZoneName {
    fn default() -> Self {
        Self("UTC".into())
    }
}

impl std::str::FromStr for ZoneName {
    type Err = BadZone;

    fn from_str(text: &str) -> Result<Self, BadZone> {
        let zone = TimeZone::get(text).map_err(|_| BadZone(text.chars().take(64).collect()))?;
        // The look-up ignores case; the database's own spelling is stored.
        Ok(Self(zone.iana_name().unwrap_or(text).to_owned()))
    }
}

#[cfg(test)]
mod tests;
