//! Settings of the journals.

use gatehouse_core::Timestamp;
use gatehouse_store::JournalKind;
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
    /// How long events of accesses and Tasks are kept.
    pub retention: Duration,
    /// How long the audit is kept.
    pub audit_retention: Duration,
    /// Most streams of events at one server.
    pub streams: u64,
    /// Most of them of one tenant.
    pub streams_of_tenant: u64,
}

impl Default for Events {
    fn default() -> Self {
        Self {
            retention: Duration::days(30),
            audit_retention: Duration::days(400),
            streams: 1000,
            streams_of_tenant: 20,
        }
    }
}

impl Events {
    pub(super) fn check(&self) -> Result<(), String> {
        let (shortest, longest) = (RETENTIONS.start(), RETENTIONS.end());
        let all = [("retention", self.retention), ("audit_retention", self.audit_retention)];
        for (name, retention) in all {
            if !(shortest.get()..=longest.get()).contains(&retention.get()) {
                return Err(format!(
                    "events.{name} must be {shortest} to {longest}, not {retention}"
                ));
            }
        }
        for (name, n) in [("streams", self.streams), ("streams_of_tenant", self.streams_of_tenant)]
        {
            if !(1..=STREAMS_MAX).contains(&n) {
                return Err(format!("events.{name} must be 1 to {STREAMS_MAX}"));
            }
        }
        Ok(())
    }

    /// Entries of such a journal from before this time are deleted.
    pub(crate) fn kept_from(&self, kind: JournalKind, now: Timestamp) -> Timestamp {
        let retention = match kind {
            JournalKind::Changes => self.retention,
            JournalKind::Audit => self.audit_retention,
        };
        let milliseconds = i64::try_from(retention.get().as_millis()).unwrap_or(i64::MAX);
        now.plus_milliseconds(milliseconds.saturating_neg())
    }
}
