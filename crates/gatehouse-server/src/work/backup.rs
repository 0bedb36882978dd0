//! Scheduled backups of the embedded store.
//!
//! The directory of backups decides when the next one is due. A failed backup is logged, counted and retried. The copy
//! uses a read transaction, so it never blocks the writer.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use gatehouse_core::Timestamp;
use gatehouse_meter::MetricSet;
use gatehouse_store::{Clock, Store};
use prometheus::{Gauge, IntCounterVec, IntGauge};
use tokio_util::sync::CancellationToken;

use crate::backup::backup_directory::BackupDirectory;
use crate::backup::{BackupError, BackupSummary, make, run_blocking};
use crate::config::BackupSchedule;

/// Longest wait after a failed backup.
const RETRY_MAX: Duration = Duration::from_secs(60 * 60);

/// Polling interval: the machine may have slept, or backups were removed.
const POLL_INTERVAL: Duration = Duration::from_secs(60);

/// A server's scheduled backups.
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
    metrics: MetricSet,
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
        // Backups of earlier processes count.
        let newest = backups.directory.backups().ok().and_then(|mut it| it.pop());
        backups.meter.last_success.set(newest.map_or(0, |it| it.time.as_second()) as f64);
        backups
    }

    /// All metrics of backups.
    pub(crate) fn metrics(&self) -> &MetricSet {
        &self.meter.metrics
    }

    /// Makes due backups until the server stops.
    pub(super) async fn run(&self, stopping: &CancellationToken) {
        let mut failed_at = None;
        while !stopping.is_cancelled() {
            let wait = self.step(stopping, &mut failed_at).await;
            tokio::select! {
                () = stopping.cancelled() => {}
                () = tokio::time::sleep(wait.min(POLL_INTERVAL)) => {}
            }
        }
    }

    /// Makes a backup if one is due; returns the time to the next attempt.
    async fn step(
        &self,
        stopping: &CancellationToken,
        failed_at: &mut Option<Instant>,
    ) -> Duration {
        let wait = failed_at.map_or(Duration::ZERO, |it| self.retry().saturating_sub(it.elapsed()));
        if !wait.is_zero() {
            return wait;
        }
        let (directory, now, every) =
            (self.directory.clone(), self.clock.now(), self.schedule.every);
        let is_ok = match run_blocking(move || directory.due_in(now, every)).await {
            Ok(wait) if !wait.is_zero() => return wait,
            Ok(_) => self.make_now(stopping).await,
            Err(why) => self.fail(&why),
        };
        *failed_at = (!is_ok).then(Instant::now);
        if is_ok { self.schedule.every } else { self.retry() }
    }

    /// Makes a backup and removes old ones; false if that failed.
    async fn make_now(&self, stopping: &CancellationToken) -> bool {
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
                log_unremoved(run_blocking(move || directory.remove_old(keep, &path)).await);
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
        // An interrupted backup of an earlier process may have the same name.
        let directory = self.directory.clone();
        let path = run_blocking(move || {
            log_unremoved(directory.remove_unfinished());
            directory.path_for(now)
        });
        let path = path.await?;
        let made = make(&self.store, &self.data_dir, &path, stopping).await?;
        Ok((path, made))
    }

    /// Logs and counts a failure; returns false.
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

/// Logs backups that could not be removed.
fn log_unremoved(removed: Result<Vec<PathBuf>, BackupError>) {
    match removed {
        Ok(paths) => paths.iter().for_each(|path| {
            tracing::warn!(path = %path.display(), "an old backup could not be removed completely");
        }),
        Err(why) => tracing::warn!(%why, "old backups could not be removed"),
    }
}

impl BackupMeter {
    fn new() -> Self {
        let mut metrics = MetricSet::default();
        let total: IntCounterVec = metrics.counters(
            "gatehouse_backups_total",
            "Backups that the server has tried to make",
            &["outcome"],
        );
        for outcome in ["ok", "failed"] {
            total.with_label_values(&[outcome]);
        }
        Self {
            total,
            last_success: metrics.gauge(
                "gatehouse_backup_last_success_timestamp_seconds",
                "When the newest backup was made that was checked; 0 where there is none",
            ),
            last_failed: metrics.gauge(
                "gatehouse_backup_last_failed",
                "1 where the last backup that was tried has failed",
            ),
            duration: metrics.gauge(
                "gatehouse_backup_duration_seconds",
                "How long the last good backup of this process took, its check included",
            ),
            bytes: metrics.gauge(
                "gatehouse_backup_size_bytes",
                "How large the store is in the last good backup of this process",
            ),
            metrics,
        }
    }

    fn count(&self, outcome: &str) {
        self.total.with_label_values(&[outcome]).inc();
    }
}

#[cfg(test)]
mod tests;
