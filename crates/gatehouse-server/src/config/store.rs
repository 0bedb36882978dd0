//! Settings of checks of the embedded store.

use serde::{Deserialize, Serialize};

use super::Duration;

/// Range of the check interval.
const INTERVAL: std::ops::RangeInclusive<Duration> = Duration::seconds(1)..=Duration::days(365);

/// Settings of checks of the embedded store.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreMaintenance {
    /// Interval of full checks while the server runs; without it, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_interval: Option<Duration>,
}

impl StoreMaintenance {
    pub(super) fn is_unset(&self) -> bool {
        self.check_interval.is_none()
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let (shortest, longest) = (INTERVAL.start(), INTERVAL.end());
        match self.check_interval {
            Some(it) if !(shortest.get()..=longest.get()).contains(&it.get()) => {
                Err(format!("store.check_interval must be {shortest} to {longest}, not {it}"))
            }
            _ => Ok(()),
        }
    }

    /// Checks settings that depend on others.
    pub(super) fn check_whole(&self, is_postgres: bool) -> Result<(), String> {
        if is_postgres && !self.is_unset() {
            return Err("store.check_interval is for the embedded store, and database_url names a PostgreSQL \
                 database: that checks its pages itself (data checksums), and its indexes with amcheck"
                .into());
        }
        Ok(())
    }
}
