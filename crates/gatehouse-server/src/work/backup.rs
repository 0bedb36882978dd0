//! Backups of the embedded store on a schedule, while the server serves.
//!
//! The directory of backups says when the next is due. A backup that fails is in the log and in the metrics, and is tried
//! again. A copy takes a read transaction, never the writer.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use gatehouse_core::Timestamp;
use gatehouse_store::{Clock, Store};
use prometheus::core::Collector;
use prometheus::{Gauge, IntCounterVec, IntGauge, Opts};
use tokio_util::sync::CancellationToken;

use super::SOUND;
use crate::backup::backup_directory::BackupDirectory;
use crate::backup::{BackupError, BackupSummary, make, run_blocking};
use crate::config::BackupSchedule;

/// Longest wait after a backup that failed.
const RETRY_MAX: Duration = Duration::from_secs(60 * 60);

/// How often it is looked whether a backup is due: the machine may have slept, or backups were removed.
const LOOK: Duration = Duration::from_secs(60);

/// The backups of a server.
pub(crate) struct Backups {
    store: Store,
    clock: Clock,
    schedule: BackupSchedule,
    data_dir: PathBuf,
    directory: BackupDirectory,
    meter: BackupMeter,
}

/// Figures of backups.
struct BackupMeter {
    total: IntCounterVec,
    last_success: Gauge,
    last_failed: IntGauge,
    duration: Gauge,
    bytes: IntGauge,
}

impl Backups {
    pub(crate) fn new(
        store: Store,
        clock: Clock,
        schedule: BackupSchedule,
        data_dir: PathBuf,
    ) -> Self {
        let directory = BackupDirectory::new(&schedule.to);
        let backups =
            Self { store, clock, schedule, data_dir, directory, meter: BackupMeter::new() };
        // A backup of an earlier process counts.
        let newest = backups.directory.backups().ok().and_then(|mut it| it.pop());
        backups.meter.last_success.set(newest.map_or(0, |it| it.time.as_second()) as f64);
        backups
    }

    pub(crate) fn collectors(&self) -> Vec<Box<dyn Collector>> {
        let BackupMeter { total, last_success, last_failed, duration, bytes } = &self.meter;
        vec![
            Box::new(total.clone()),
            Box::new(last_success.clone()),
            Box::new(last_failed.clone()),
            Box::new(duration.clone()),
            Box::new(bytes.clone()),
        ]
    }

    /// Makes a backup whenever one is due, until the server stops.
    pub(super) async fn keep(&self, stopping: &CancellationToken) {
        let mut failed_at = None;
        while !stopping.is_cancelled() {
            let wait = self.step(stopping, &mut failed_at).await;
            tokio::select! {
                () = stopping.cancelled() => {}
                () = tokio::time::sleep(wait.min(LOOK)) => {}
            }
        }
    }

    /// Makes a backup if one is due, and tells how long to wait then.
    async fn step(
        &self,
        stopping: &CancellationToken,
        failed_at: &mut Option<Instant>,
    ) -> Duration {
        let rest = failed_at.map_or(Duration::ZERO, |it| self.retry().saturating_sub(it.elapsed()));
        if !rest.is_zero() {
            return rest;
        }
        let (directory, now, every) =
            (self.directory.clone(), self.clock.now(), self.schedule.every);
        let is_good = match run_blocking(move || directory.due_in(now, every)).await {
            Ok(wait) if !wait.is_zero() => return wait,
            Ok(_) => self.make_one(stopping).await,
            Err(why) => self.fail(&why),
        };
        *failed_at = (!is_good).then(Instant::now);
        if is_good { self.schedule.every } else { self.retry() }
    }

    /// Makes a backup now, and removes those that there are too many of; whether that went well.
    async fn make_one(&self, stopping: &CancellationToken) -> bool {
        let (began, now) = (Instant::now(), self.clock.now());
        match self.make_at(now, stopping).await {
            Ok((path, made)) => {
                let seconds = began.elapsed().as_secs_f64();
                self.meter.count("ok");
                self.meter.last_failed.set(0);
                self.meter.duration.set(seconds);
                self.meter.bytes.set(i64::try_from(made.n_bytes).unwrap_or(i64::MAX));
                tracing::info!(path = %path.display(), bytes = made.n_bytes, seconds, "a backup was made and checked");
                let (directory, keep) = (self.directory.clone(), self.schedule.keep);
                tell_of_left(run_blocking(move || directory.remove_old(keep, &path)).await);
                self.meter.last_success.set(now.as_second() as f64);
                true
            }
            Err(BackupError::Stopped) => {
                tracing::info!("a backup was under way; it is made after the next start");
                false
            }
            Err(why) => self.fail(&why),
        }
    }

    async fn make_at(
        &self,
        now: Timestamp,
        stopping: &CancellationToken,
    ) -> Result<(PathBuf, BackupSummary), BackupError> {
        // What an earlier process has left may have the very name.
        let directory = self.directory.clone();
        let path = run_blocking(move || {
            tell_of_left(directory.remove_unfinished());
            directory.path_for(now)
        });
        let path = path.await?;
        let made = make(&self.store, &self.data_dir, &path, stopping).await?;
        Ok((path, made))
    }

    /// Tells of a failure, and that it is one.
    fn fail(&self, why: &BackupError) -> bool {
        self.meter.count("failed");
        self.meter.last_failed.set(1);
        let retry_seconds = self.retry().as_secs();
        tracing::error!(%why, retry_seconds, "a backup failed; it is tried again");
        false
    }

    fn retry(&self) -> Duration {
        self.schedule.every.min(RETRY_MAX)
    }
}

/// Tells of backups that could not be removed.
fn tell_of_left(removed: Result<Vec<PathBuf>, BackupError>) {
    match removed {
        Ok(left) => left.iter().for_each(|path| {
            tracing::warn!(path = %path.display(), "an old backup could not be removed completely");
        }),
        Err(why) => tracing::warn!(%why, "old backups could not be removed"),
    }
}

impl BackupMeter {
    fn new() -> Self {
        let total =
            Opts::new("gatehouse_backups_total", "Backups that the server has tried to make");
        let total = IntCounterVec::new(total, &["outcome"]).expect(SOUND);
        for outcome in ["ok", "failed"] {
            total.with_label_values(&[outcome]);
        }
        let gauge = |name, help| Gauge::new(name, help).expect(SOUND);
        let number = |name, help| IntGauge::new(name, help).expect(SOUND);
        Self {
            total,
            last_success: gauge(
                "gatehouse_backup_last_success_timestamp_seconds",
                "When the newest backup was made that was checked; 0 where there is none",
            ),
            last_failed: number(
                "gatehouse_backup_last_failed",
                "1 where the last backup that was tried has failed",
            ),
            duration: gauge(
                "gatehouse_backup_duration_seconds",
                "How long the last good backup of this process took, its check included",
            ),
            bytes: number(
                "gatehouse_backup_size_bytes",
                "How large the store is in the last good backup of this process",
            ),
        }
    }

    fn count(&self, outcome: &str) {
        self.total.with_label_values(&[outcome]).inc();
    }
}

#[cfg(test)]
mod tests;
