//! Settings of the journals.

use gatehouse_core::Timestamp;
use gatehouse_store::JournalKind;
use serde::{Deserialize, Serialize};

use super::Duration;

/// Range of the time that events are kept.
const RETENTIONS: std::ops::RangeInclusive<Duration> = Duration::seconds(60)..=Duration::days(3650);

/// Settings of the journal.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Events {
    /// How long events of accesses and Tasks are kept.
    pub retention: Duration,
    /// How long the audit is kept.
    pub audit_retention: Duration,
}

impl Default for Events {
    fn default() -> Self {
        Self { retention: Duration::days(30), audit_retention: Duration::days(400) }
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
