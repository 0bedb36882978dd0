//! Settings of the journal.

use gatehouse_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::Duration;

/// Range of the time that events are kept.
const RETENTIONS: std::ops::RangeInclusive<Duration> = Duration::seconds(60)..=Duration::days(3650);

/// Settings of the journal.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Events {
    /// How long events are kept.
    pub retention: Duration,
}

impl Default for Events {
    fn default() -> Self {
        Self { retention: Duration::days(30) }
    }
}

impl Events {
    pub(super) fn check(&self) -> Result<(), String> {
        let (shortest, longest) = (RETENTIONS.start(), RETENTIONS.end());
        if (shortest.get()..=longest.get()).contains(&self.retention.get()) {
            return Ok(());
        }
        Err(format!("events.retention must be {shortest} to {longest}, not {}", self.retention))
    }

    /// Events from before this time are deleted.
    pub(crate) fn kept_from(&self, now: Timestamp) -> Timestamp {
        let milliseconds = i64::try_from(self.retention.get().as_millis()).unwrap_or(i64::MAX);
        now.plus_milliseconds(milliseconds.saturating_neg())
    }
}
