//! Figures of background work.

use gatehouse_core::task::{CREATION, TERMINATION, Task, TaskState, UPDATE};
use gatehouse_store::WorkKind;
use prometheus::core::Collector;
use prometheus::{GaugeVec, Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, Opts};

use super::VALID;

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
}

impl Default for WorkMeter {
    fn default() -> Self {
        let counter = |name, help| IntCounter::new(name, help).expect(VALID);
        let tasks =
            Opts::new("gatehouse_tasks_ended_total", "Tasks that have ended, by type and state");
        let tasks = IntCounterVec::new(tasks, &["type", "state"]).expect(VALID);
        for kind in [CREATION, UPDATE, TERMINATION] {
            for state in TaskState::ALL.into_iter().filter(|state| state.is_terminal()) {
                // Zero is a value too.
                tasks.with_label_values(&[kind, state.as_str()]);
            }
        }
        let chunks = HistogramOpts::new(
            "gatehouse_task_stretch_duration_seconds",
            "Duration of batches' transactions, without their commits",
        );
        let lag = Opts::new(
            "gatehouse_work_lag_seconds",
            "How long the oldest due work has waited, by kind",
        );
        let lag = GaugeVec::new(lag, &["kind"]).expect(VALID);
        for kind in WorkKind::ALL {
            lag.with_label_values(&[kind.as_str()]);
        }
        let replicas = IntGauge::new(
            "gatehouse_replicas",
            "Servers that use the store, this one included, as it knows",
        );
        let replicas = replicas.expect(VALID);
        replicas.set(1);
        Self {
            tasks,
            items: counter("gatehouse_task_items_total", "Processed items of batches"),
            chunks: Histogram::with_opts(chunks.buckets(SECONDS.to_vec())).expect(VALID),
            expiries_stored: counter(
                "gatehouse_ends_written_total",
                "Accesses whose expiry was stored",
            ),
            secrets_destroyed: counter(
                "gatehouse_secrets_destroyed_total",
                "Destroyed secrets: keys of Tasks, or a minute's stored responses",
            ),
            scrubs_delayed: counter(
                "gatehouse_scrubs_put_off_total",
                "SQLite: how often readers delayed the overwriting of destroyed bytes, by a second each",
            ),
            tasks_deleted: counter(
                "gatehouse_tasks_forgotten_total",
                "Tasks that were deleted after their retention",
            ),
            failures: counter(
                "gatehouse_work_failures_total",
                "Failed steps of work, which are retried",
            ),
            lag,
            replicas,
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

    pub(crate) fn collectors(&self) -> Vec<Box<dyn Collector>> {
        vec![
            Box::new(self.tasks.clone()),
            Box::new(self.items.clone()),
            Box::new(self.chunks.clone()),
            Box::new(self.expiries_stored.clone()),
            Box::new(self.secrets_destroyed.clone()),
            Box::new(self.scrubs_delayed.clone()),
            Box::new(self.tasks_deleted.clone()),
            Box::new(self.failures.clone()),
            Box::new(self.lag.clone()),
            Box::new(self.replicas.clone()),
        ]
    }
}
