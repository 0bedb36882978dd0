//! What has been done while nobody waited, in figures.

use gatehouse_core::task::{CREATION, TERMINATION, Task, TaskState, UPDATE};
use gatehouse_store::WorkKind;
use prometheus::core::Collector;
use prometheus::{GaugeVec, Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, Opts};

use super::SOUND;

/// Around what a stretch of a batch takes, in seconds.
const SECONDS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// The figures of a server's workers.
pub(crate) struct WorkMeter {
    tasks: IntCounterVec,
    pub(super) items: IntCounter,
    pub(super) stretches: Histogram,
    pub(super) ends_written: IntCounter,
    pub(super) secrets_destroyed: IntCounter,
    pub(super) scrubs_put_off: IntCounter,
    pub(super) tasks_forgotten: IntCounter,
    pub(super) failures: IntCounter,
    lag: GaugeVec,
    pub(super) replicas: IntGauge,
}

impl Default for WorkMeter {
    fn default() -> Self {
        let counter = |name, help| IntCounter::new(name, help).expect(SOUND);
        let tasks =
            Opts::new("gatehouse_tasks_ended_total", "Tasks that are over, by what they did");
        let tasks = IntCounterVec::new(tasks, &["type", "state"]).expect(SOUND);
        for kind in [CREATION, UPDATE, TERMINATION] {
            for state in TaskState::ALL.into_iter().filter(|state| state.is_terminal()) {
                // Nothing is a figure too.
                tasks.with_label_values(&[kind, state.as_str()]);
            }
        }
        let stretches = HistogramOpts::new(
            "gatehouse_task_stretch_duration_seconds",
            "How long the transactions of batches keep something from others, without their commits",
        );
        let lag = Opts::new(
            "gatehouse_work_lag_seconds",
            "How long the work that is due has waited which has waited for longest, by kind",
        );
        let lag = GaugeVec::new(lag, &["kind"]).expect(SOUND);
        for kind in WorkKind::ALL {
            lag.with_label_values(&[kind.as_str()]);
        }
        let replicas = IntGauge::new(
            "gatehouse_replicas",
            "Servers of the store that are there, this one included, as it knows",
        );
        let replicas = replicas.expect(SOUND);
        replicas.set(1);
        Self {
            tasks,
            items: counter("gatehouse_task_items_total", "Items of batches that were worked on"),
            stretches: Histogram::with_opts(stretches.buckets(SECONDS.to_vec())).expect(SOUND),
            ends_written: counter(
                "gatehouse_ends_written_total",
                "Ends of accesses that have come and were written down",
            ),
            secrets_destroyed: counter(
                "gatehouse_secrets_destroyed_total",
                "How often keys of Tasks, or the kept answers of a minute, were destroyed after their time",
            ),
            scrubs_put_off: counter(
                "gatehouse_scrubs_put_off_total",
                "SQLite: how often readers kept destroyed bytes from being overwritten, for a second each",
            ),
            tasks_forgotten: counter(
                "gatehouse_tasks_forgotten_total",
                "Tasks that were forgotten after their time",
            ),
            failures: counter(
                "gatehouse_work_failures_total",
                "Steps of work that failed and are tried again",
            ),
            lag,
            replicas,
        }
    }
}

impl WorkMeter {
    /// Counts a Task that is over.
    pub(crate) fn count_end(&self, task: &Task) {
        self.tasks.with_label_values(&[task.work.as_str(), task.state.as_str()]).inc();
    }

    /// Says how long work of this kind has waited.
    pub(super) fn set_lag(&self, kind: WorkKind, milliseconds: i64) {
        self.lag.with_label_values(&[kind.as_str()]).set(milliseconds as f64 / 1000.0);
    }

    pub(crate) fn collectors(&self) -> Vec<Box<dyn Collector>> {
        vec![
            Box::new(self.tasks.clone()),
            Box::new(self.items.clone()),
            Box::new(self.stretches.clone()),
            Box::new(self.ends_written.clone()),
            Box::new(self.secrets_destroyed.clone()),
            Box::new(self.scrubs_put_off.clone()),
            Box::new(self.tasks_forgotten.clone()),
            Box::new(self.failures.clone()),
            Box::new(self.lag.clone()),
            Box::new(self.replicas.clone()),
        ]
    }
}
