//! Settings of batch processing and retention.

use gatehouse_store::TaskLifetimes;
use serde::{Deserialize, Serialize};

use super::Duration;

/// Most workers.
const WORKERS_MAX: u64 = 64;

/// Range of retention times.
const RETENTIONS: std::ops::RangeInclusive<Duration> = Duration::seconds(1)..=Duration::days(3650);

/// Lease time: after it, another worker continues the Task of a silent one.
const LEASE_MILLISECONDS: i64 = 15_000;

/// Settings of batch processing.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tasks {
    /// Tenants whose batches a server processes concurrently.
    pub workers: u64,
    /// How long a finished Task shows its passwords, at most while it is kept.
    pub password_retention: Duration,
    /// How long a finished Task is kept.
    pub retention: Duration,
}

impl Default for Tasks {
    fn default() -> Self {
        Self { workers: 4, password_retention: Duration::hours(24), retention: Duration::days(30) }
    }
}

impl Tasks {
    pub(super) fn check(&self) -> Result<(), String> {
        if !(1..=WORKERS_MAX).contains(&self.workers) {
            return Err(format!("tasks.workers must be 1 to {WORKERS_MAX}"));
        }
        let (shortest, longest) = (RETENTIONS.start(), RETENTIONS.end());
        let times =
            [("password_retention", self.password_retention), ("retention", self.retention)];
        for (name, time) in times {
            if !(shortest.get()..=longest.get()).contains(&time.get()) {
                return Err(format!("tasks.{name} must be {shortest} to {longest}, not {time}"));
            }
        }
        Ok(())
    }

    /// The lifetimes for the store.
    pub(crate) fn lifetimes(&self) -> TaskLifetimes {
        TaskLifetimes {
            lease_milliseconds: LEASE_MILLISECONDS,
            secrets_milliseconds: milliseconds(self.password_retention),
            tasks_milliseconds: milliseconds(self.retention),
        }
    }
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.get().as_millis()).unwrap_or(i64::MAX)
}
