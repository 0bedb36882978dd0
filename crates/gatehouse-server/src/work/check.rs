//! Full checks of the embedded store while the server runs: after an unclean shutdown, after a failed read, and
//! periodically if the settings ask for it.

use std::time::{Duration, Instant};

use gatehouse_meter::MetricSet;
use gatehouse_store::{Clock, Integrity, LastShutdown, Store};
use prometheus::{Gauge, IntCounterVec, IntGauge};
use tokio_util::sync::CancellationToken;

/// Longest wait before the first check, so that a server that restarts often is checked too.
const FIRST_CHECK_MAX: Duration = Duration::from_secs(60);

/// Wait after a check that failed or found damage: a cable may have been loose.
const RECHECK: Duration = Duration::from_secs(600);

/// A server's checks.
pub(crate) struct Checks {
    store: Store,
    clock: Clock,
    every: Option<Duration>,
    total: IntCounterVec,
    last: Gauge,
    damaged: IntGauge,
    duration: Gauge,
    metrics: MetricSet,
}

impl Checks {
    pub(crate) fn new(store: Store, clock: Clock, every: Option<Duration>) -> Self {
        let mut metrics = MetricSet::default();
        let total: IntCounterVec = metrics.counters(
            "gatehouse_store_checks_total",
            "Checks of every page of the store",
            &["outcome"],
        );
        for outcome in ["sound", "damaged", "failed"] {
            total.with_label_values(&[outcome]);
        }
        Self {
            store,
            clock,
            every,
            total,
            last: metrics.gauge(
                "gatehouse_store_check_timestamp_seconds",
                "When the last check of every page of the store ended; 0 before the first",
            ),
            damaged: metrics
                .gauge("gatehouse_store_check_damaged", "1 where the last check has found damage"),
            duration: metrics
                .gauge("gatehouse_store_check_duration_seconds", "How long the last check took"),
            metrics,
        }
    }

    /// All metrics of checks.
    pub(crate) fn metrics(&self) -> &MetricSet {
        &self.metrics
    }

    /// Checks the store when there is a reason, until the server stops.
    pub(super) async fn run(&self, stopping: &CancellationToken) {
        let mut wait = match self.store.last_shutdown() {
            LastShutdown::Unclean => Some(Duration::ZERO),
            // The start has checked what was needed.
            LastShutdown::Clean | LastShutdown::NewStore | LastShutdown::DiskFailed(_) => {
                self.every.map(|every| every.min(FIRST_CHECK_MAX))
            }
        };
        let mut is_suspect = false;
        loop {
            let timer = async {
                match wait {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => std::future::pending().await,
                }
            };
            // A failed read shortly after a bad check is nothing new.
            tokio::select! {
                () = stopping.cancelled() => return,
                () = timer => {}
                () = self.store.until_unreadable(), if !is_suspect => {}
            }
            is_suspect = self.check_one(stopping).await != Some("sound");
            wait =
                if is_suspect { self.every.into_iter().chain([RECHECK]).min() } else { self.every };
        }
    }

    /// Runs one full check and returns its outcome for the metric; `None` if the check did not finish.
    async fn check_one(&self, stopping: &CancellationToken) -> Option<&'static str> {
        let began = Instant::now();
        let outcome = self.store.check_fully(stopping).await;
        let seconds = began.elapsed().as_secs_f64();
        let label = match &outcome {
            Integrity::Sound => {
                tracing::info!(seconds, "every page of the store was checked and is sound");
                "sound"
            }
            Integrity::Damaged(damage) => {
                tracing::error!(
                    seconds, found = %damage,
                    "the store is damaged: stop the server and restore a backup with `gatehouse restore --from BACKUP`"
                );
                "damaged"
            }
            Integrity::Absent(what) => {
                tracing::error!(%what, "the store is gone: restore a backup with `gatehouse restore --from BACKUP`");
                "damaged"
            }
            Integrity::Unchecked(why) => {
                tracing::warn!(%why, "the store could not be checked; it is tried again");
                "failed"
            }
            Integrity::Interrupted | Integrity::NotApplicable => return None,
        };
        self.total.with_label_values(&[label]).inc();
        if label != "failed" {
            self.damaged.set((label == "damaged").into());
            self.duration.set(seconds);
            self.last.set(self.clock.now().as_second() as f64);
        }
        Some(label)
    }
}

#[cfg(test)]
mod tests;
