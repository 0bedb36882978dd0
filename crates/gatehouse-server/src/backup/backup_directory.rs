//! A directory of backups, each named by its time in UTC.
//!
//! The directory alone decides which backup is due or old, not the server's memory, so a restart changes nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gatehouse_core::Timestamp;

use super::{BackupError, UNFINISHED_FILE, make_directory, of, remove};
use crate::config::DATABASE_FILE;

/// A backup and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DatedBackup {
    pub(crate) time: Timestamp,
    pub(crate) path: PathBuf,
}

/// A directory of backups.
#[derive(Clone, Debug)]
pub(crate) struct BackupDirectory(PathBuf);

impl BackupDirectory {
    pub(crate) fn new(directory: &Path) -> Self {
        Self(directory.to_owned())
    }

    /// Path of a backup of this time. Creates the directory if needed.
    pub(crate) fn path_for(&self, time: Timestamp) -> Result<PathBuf, BackupError> {
        make_directory(&self.0)?;
        Ok(self.0.join(name_of(time)))
    }

    /// The complete backups, oldest first; none if the directory doesn't exist.
    pub(crate) fn backups(&self) -> Result<Vec<DatedBackup>, BackupError> {
        let (mut backups, _) = self.scan()?;
        backups.sort_by_key(|it| it.time);
        Ok(backups)
    }

    /// Time until the next backup is due. Ignores backups in the future: the clock was set back.
    pub(crate) fn due_in(&self, now: Timestamp, every: Duration) -> Result<Duration, BackupError> {
        let backups = self.backups()?;
        let newest = backups.iter().rev().find(|it| it.time <= now);
        let age = newest.map(|it| now.as_millisecond() - it.time.as_millisecond());
        let age = age.map(|it| Duration::from_millis(it.unsigned_abs()));
        Ok(age.map_or(Duration::ZERO, |age| every.saturating_sub(age)))
    }

    /// Removes the oldest backups beyond `keep`, but never `made`, the newest by creation: after the clock was set
    /// back, it is not the newest by name. Returns those that could not be removed.
    pub(crate) fn remove_old(&self, keep: u64, made: &Path) -> Result<Vec<PathBuf>, BackupError> {
        let others = self.backups()?.into_iter().map(|it| it.path).filter(|path| path != made);
        let others: Vec<_> = others.collect();
        let keep_others = usize::try_from(keep).unwrap_or(usize::MAX).saturating_sub(1);
        let n_old = others.len().saturating_sub(keep_others);
        Ok(others.into_iter().take(n_old).filter(|path| !remove(path, true)).collect())
    }

    /// Removes the remains of interrupted backups; returns those that could not be removed.
    pub(crate) fn remove_unfinished(&self) -> Result<Vec<PathBuf>, BackupError> {
        let (_, unfinished) = self.scan()?;
        Ok(unfinished.into_iter().filter(|path| !remove(path, true)).collect())
    }

    /// Complete backups, and directories of interrupted ones.
    fn scan(&self) -> Result<(Vec<DatedBackup>, Vec<PathBuf>), BackupError> {
        let (mut complete, mut unfinished) = (Vec::new(), Vec::new());
        let entries = match fs::read_dir(&self.0) {
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
                return Ok((complete, unfinished));
            }
            other => other.map_err(of(&self.0))?,
        };
        for entry in entries {
            let path = entry.map_err(of(&self.0))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            match time_of(&name) {
                Some(time) if path.join(DATABASE_FILE).is_file() => {
                    complete.push(DatedBackup { time, path })
                }
                // A directory with neither file stays: an operator may have compressed the backup.
                Some(_) if path.join(UNFINISHED_FILE).exists() => unfinished.push(path),
                _ => {}
            }
        }
        Ok((complete, unfinished))
    }
}

/// A sortable name that every file system accepts: `20261117T093000Z`.
pub(crate) fn name_of(time: Timestamp) -> String {
    let shown = time.to_string();
    let seconds = shown.split('.').next().unwrap_or_default();
    format!("{}Z", seconds.replace(['-', ':'], ""))
}

fn time_of(name: &str) -> Option<Timestamp> {
    let is_digits = |it: &str| it.bytes().all(|byte| byte.is_ascii_digit());
    let (date, time) = name.strip_suffix('Z')?.split_once('T')?;
    if date.len() != 8 || time.len() != 6 || !is_digits(date) || !is_digits(time) {
        return None;
    }
    let (year, month, day) = (&date[..4], &date[4..6], &date[6..]);
    let (hour, minute, second) = (&time[..2], &time[2..4], &time[4..]);
    format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z").parse().ok()
}
