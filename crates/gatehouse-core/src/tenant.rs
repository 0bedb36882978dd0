//! A tenant: whose accesses they are, and whose month ends when.

use jiff::tz::TimeZone;

use crate::ids::TenantName;

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Its name, the first segment of its paths.
    pub name: TenantName,
    /// Where its months end.
    pub time_zone: ZoneName,
    /// Requests that it may send in a second: 0 for any number, `None` for what the server is set to.
    pub requests_per_second: Option<u64>,
}

/// Most that a limit on requests can be set to; who wants more wants none.
pub const REQUESTS_PER_SECOND_MAX: u64 = 1_000_000;

/// The name of a time zone in the IANA database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneName(String);

/// A name that the IANA database doesn't have; reads on after the field's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a time zone of the IANA database such as `UTC` or `Europe/Berlin`, not `{0}`")]
pub struct BadZone(String);

impl ZoneName {
    /// The name as the IANA database spells it.
    pub fn as_str(&self) -> &str {
        &self.0
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
        // The database is asked without regard to case; its own spelling is what is kept.
        Ok(Self(zone.iana_name().unwrap_or(text).to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_come_from_the_database_in_its_spelling() {
        assert_eq!("europe/berlin".parse::<ZoneName>().unwrap().as_str(), "Europe/Berlin");
        assert_eq!("UTC".parse::<ZoneName>().unwrap(), ZoneName::default());
        for bad in ["", "Mars/Olympus", "+01:00", "Europe/Berlin\0"] {
            assert!(bad.parse::<ZoneName>().is_err(), "{bad:?}");
        }
    }
}
