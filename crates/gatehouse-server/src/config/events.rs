//! Settings of the journal.

use gatehouse_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::Duration;

/// Range of the time that events are kept.
const RETENTIONS: std::ops::RangeInclusive<Duration> = Duration::seconds(60)..=Duration::days(3650);

/// Highest limit of streams.
const STREAMS_MAX: u64 = 1_000_000;

/// Settings of the journal.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Events {
    /// How long events are kept.
    pub retention: Duration,
    /// Most streams of events at one server.
    pub streams: u64,
    /// Most of them of one tenant.
    pub streams_of_tenant: u64,
}

impl Default for Events {
    fn default() -> Self {
        Self { retention: Duration::days(30), streams: 1000, streams_of_tenant: 20 }
    }
}

impl Events {
    pub(super) fn check(&self) -> Result<(), String> {
        let (shortest, longest) = (RETENTIONS.start(), RETENTIONS.end());
        if !(shortest.get()..=longest.get()).contains(&self.retention.get()) {
            let retention = self.retention;
            return Err(format!(
                "events.retention must be {shortest} to {longest}, not {retention}"
            ));
        }
        for (name, n) in [("streams", self.streams), ("streams_of_tenant", self.streams_of_tenant)]
        {
            if !(1..=STREAMS_MAX).contains(&n) {
                return Err(format!("events.{name} must be 1 to {STREAMS_MAX}"));
            }
        }
        Ok(())
    }

    /// Events from before this time are deleted.
    pub(crate) fn kept_from(&self, now: Timestamp) -> Timestamp {
        let milliseconds = i64::try_from(self.retention.get().as_millis()).unwrap_or(i64::MAX);
        now.plus_milliseconds(milliseconds.saturating_neg())
    }
}
