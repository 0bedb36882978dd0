//! Figures of background work.

use gatehouse_core::task::{CREATION, TERMINATION, Task, TaskState, UPDATE};
use gatehouse_meter::MetricSet;
use gatehouse_store::WorkKind;
use prometheus::{GaugeVec, Histogram, IntCounter, IntCounterVec, IntGauge};

/// Buckets in seconds, around the duration of a batch's transactions.
const SECONDS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// Figures of a server's workers.
pub(crate) struct WorkMeter {
    tasks: IntCounterVec,
    pub(super) items: IntCounter,
    pub(super) chunks: Histogram,
    pub(super) expiries_stored: IntCounter,
    pub(super) secrets_destroyed: IntCounter,
    pub(super) scrubs_delayed: IntCounter,
    pub(super) tasks_deleted: IntCounter,
    pub(super) failures: IntCounter,
    lag: GaugeVec,
    pub(super) replicas: IntGauge,
    metrics: MetricSet,
}

impl Default for WorkMeter {
    fn default() -> Self {
        let mut metrics = MetricSet::default();
        let tasks: IntCounterVec = metrics.counters(
            "gatehouse_tasks_ended_total",
            "Tasks that have ended, by type and state",
            &["type", "state"],
        );
        for kind in [CREATION, UPDATE, TERMINATION] {
            for state in TaskState::ALL.into_iter().filter(|state| state.is_terminal()) {
                // Zero is a value too.
                tasks.with_label_values(&[kind, state.as_str()]);
            }
        }
        let lag: GaugeVec = metrics.gauges(
            "gatehouse_work_lag_seconds",
            "How long the oldest due work has waited, by kind",
            &["kind"],
        );
        for kind in WorkKind::ALL {
            lag.with_label_values(&[kind.as_str()]);
        }
        let replicas: IntGauge = metrics.gauge(
            "gatehouse_replicas",
            "Servers that use the store, this one included, as it knows",
        );
        replicas.set(1);
        Self {
            tasks,
            items: metrics.counter("gatehouse_task_items_total", "Processed items of batches"),
            chunks: metrics.histogram(
                "gatehouse_task_stretch_duration_seconds",
                "Duration of batches' transactions, without their commits",
                &SECONDS,
            ),
            expiries_stored: metrics
                .counter("gatehouse_ends_written_total", "Accesses whose expiry was stored"),
            secrets_destroyed: metrics.counter(
                "gatehouse_secrets_destroyed_total",
                "Destroyed secrets: keys of Tasks, or a minute's stored responses",
            ),
            scrubs_delayed: metrics.counter(
                "gatehouse_scrubs_put_off_total",
                "SQLite: how often readers delayed the overwriting of destroyed bytes, by a second each",
            ),
            tasks_deleted: metrics.counter(
                "gatehouse_tasks_forgotten_total",
                "Tasks that were deleted after their retention",
            ),
            failures: metrics.counter(
                "gatehouse_work_failures_total",
                "Failed steps of work, which are retried",
            ),
            lag,
            replicas,
            metrics,
        }
    }
}

impl WorkMeter {
    /// Counts a finished Task.
    pub(crate) fn count_end(&self, task: &Task) {
        self.tasks.with_label_values(&[task.work.as_str(), task.state.as_str()]).inc();
    }

    /// Sets the lag of a kind of work.
    pub(super) fn set_lag(&self, kind: WorkKind, milliseconds: i64) {
        self.lag.with_label_values(&[kind.as_str()]).set(milliseconds as f64 / 1000.0);
    }

    /// All metrics of background work.
    pub(crate) fn metrics(&self) -> &MetricSet {
        &self.metrics
    }
}
