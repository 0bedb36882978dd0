//! How batches are worked off, and for how long what comes of them is kept.

use gatehouse_store::TaskLifetimes;
use serde::{Deserialize, Serialize};

use super::Duration;

/// Most workers that can be asked for.
const WORKERS_MAX: u64 = 64;

/// How long things can be kept.
const KEPT: std::ops::RangeInclusive<Duration> = Duration::seconds(1)..=Duration::days(3650);

/// How long a worker that has fallen silent is waited for before another goes on with its Task.
const LEASE_MILLISECONDS: i64 = 15_000;

/// How batches are worked off.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tasks {
    /// Tenants whose batches are worked on at the same time, in each server.
    pub workers: u64,
    /// How long a Task that is over shows its passwords, as long as it is kept.
    pub password_retention: Duration,
    /// How long a Task that is over is kept.
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
        let (shortest, longest) = (KEPT.start(), KEPT.end());
        let times =
            [("password_retention", self.password_retention), ("retention", self.retention)];
        for (name, time) in times {
            if !(shortest.get()..=longest.get()).contains(&time.get()) {
                return Err(format!("tasks.{name} must be {shortest} to {longest}, not {time}"));
            }
        }
        Ok(())
    }

    /// The same as the store takes it.
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
