//! Settings of scheduled backups of the embedded store.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Duration;

/// Range of the backup interval.
const EVERY: std::ops::RangeInclusive<Duration> = Duration::seconds(1)..=Duration::days(365);

/// Most backups to keep.
const KEEP_MAX: u64 = 10_000;

/// Settings of scheduled backups.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Backup {
    /// Directory of the backups; without it, none are made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<PathBuf>,
    /// Interval between backups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
    /// Number of backups to keep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<u64>,
}

/// A backup schedule.
#[derive(Clone, Debug)]
pub struct BackupSchedule {
    /// Directory of the backups.
    pub to: PathBuf,
    /// Interval between backups.
    pub every: std::time::Duration,
    /// Number of backups to keep.
    pub keep: u64,
}

impl Backup {
    /// The schedule, if backups are enabled.
    pub fn schedule(&self) -> Option<BackupSchedule> {
        let to = self.to.clone()?;
        let every = self.every.unwrap_or(Duration::days(1)).get();
        Some(BackupSchedule { to, every, keep: self.keep.unwrap_or(7) })
    }

    pub(super) fn is_unset(&self) -> bool {
        self.to.is_none() && self.every.is_none() && self.keep.is_none()
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if self.to.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
            return Err("backup.to must not be empty".into());
        }
        let (shortest, longest) = (EVERY.start(), EVERY.end());
        if let Some(every) = self.every
            && !(shortest.get()..=longest.get()).contains(&every.get())
        {
            return Err(format!("backup.every must be {shortest} to {longest}, not {every}"));
        }
        if self.keep.is_some_and(|keep| !(1..=KEEP_MAX).contains(&keep)) {
            return Err(format!("backup.keep must be 1 to {KEEP_MAX}"));
        }
        Ok(())
    }

    /// Checks settings that depend on others.
    pub(super) fn check_whole(&self, data_dir: &Path, is_postgres: bool) -> Result<(), String> {
        if self.is_unset() {
            return Ok(());
        }
        if is_postgres {
            return Err("backup.to, backup.every and backup.keep are for the embedded store, and database_url \
                 names a PostgreSQL database: save that with pg_dump, or with continuous archiving, as \
                 docs/operating.md says"
                .into());
        }
        match &self.to {
            None => Err(
                "backup.every or backup.keep is set and backup.to is not: name the directory that \
                 backups go to"
                    .into(),
            ),
            Some(to) if std::path::absolute(to).ok() == std::path::absolute(data_dir).ok() => {
                Err("backup.to is the data directory itself: give another, at best on another disk"
                    .into())
            }
            Some(_) => Ok(()),
        }
    }
}
