//! The store's metrics: durations, errors and queue lengths.
//!
//! The owner of the [`Registry`] exposes them. No metric has a tenant in its labels.

use std::time::Instant;

use prometheus::core::Collector;
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
    exponential_buckets,
};
use tracing::{Instrument, Span};

use crate::error::{ErrorKind, StoreError};

/// Histogram buckets in seconds, from a read of a cached page to the longest request.
const SECONDS: [f64; 16] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
    1.0, 2.5, 10.0,
];

/// The metrics of one store.
pub struct StoreMeter {
    durations: HistogramVec,
    reads: Histogram,
    writes: Histogram,
    snapshots: Histogram,
    errors: IntCounterVec,
    pub(crate) retries: IntCounter,
    pub(crate) writer_waiting: IntGauge,
    /// Writes of batches among `writer_waiting`.
    pub(crate) batches_waiting: IntGauge,
    pub(crate) writer_gathered: Histogram,
    pub(crate) gather_waiting: IntGauge,
    pub(crate) gathered: Histogram,
    pub(crate) connections: IntGauge,
}

/// Kind of a call to the database.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallKind {
    /// One statement that only reads.
    Read,
    /// A transaction that writes.
    Write,
    /// A transaction that reads many rows.
    Snapshot,
}

impl StoreMeter {
    pub(crate) fn new() -> Self {
        let name = "gatehouse_store_duration_seconds";
        let help =
            "How long statements that read, writes and snapshots take, their waiting included";
        let durations = HistogramOpts::new(name, help).buckets(SECONDS.to_vec());
        let durations = HistogramVec::new(durations, &["kind"]).expect(SOUND);
        let errors =
            Opts::new("gatehouse_store_errors_total", "What the store could not do, by the reason");
        let errors = IntCounterVec::new(errors, &["kind"]).expect(SOUND);
        for kind in ErrorKind::OF_OPEN_STORE {
            // Zero is exposed from the start.
            errors.with_label_values(&[kind.name()]);
        }
        let name = "gatehouse_store_retries_total";
        let help = "What was asked of PostgreSQL once more, because it was lost or a race was";
        Self {
            reads: durations.with_label_values(&["read"]),
            writes: durations.with_label_values(&["write"]),
            snapshots: durations.with_label_values(&["snapshot"]),
            durations,
            errors,
            retries: IntCounter::new(name, help).expect(SOUND),
            writer_waiting: gauge("writer_waiting", "Writes that wait for SQLite's writer"),
            batches_waiting: gauge(
                "batches_waiting",
                "Those of them that write a stretch of a batch",
            ),
            writer_gathered: sizes(
                "writer_gathered_writes",
                "Writes that one transaction of SQLite's writer carried",
            ),
            gather_waiting: gauge("gather_waiting", "Creations that wait for their tenant's turn"),
            gathered: sizes(
                "gathered_creations",
                "Creations that one transaction carried together",
            ),
            connections: gauge("connections", "Open connections to PostgreSQL"),
        }
    }

    /// Registers all metrics.
    pub fn register(&self, registry: &Registry) -> Result<(), prometheus::Error> {
        registry.register(boxed(&self.durations))?;
        registry.register(boxed(&self.errors))?;
        registry.register(boxed(&self.retries))?;
        for gauge in
            [&self.writer_waiting, &self.batches_waiting, &self.gather_waiting, &self.connections]
        {
            registry.register(boxed(gauge))?;
        }
        [&self.writer_gathered, &self.gathered]
            .into_iter()
            .try_for_each(|it| registry.register(boxed(it)))
    }

    /// Measures a read, a write or a snapshot, and gives it a span in the current trace.
    pub(crate) async fn measure<E: Measured>(
        &self,
        kind: CallKind,
        work: impl Future<Output = Result<(), E>>,
    ) -> Result<(), E> {
        let began = Instant::now();
        let result = work.instrument(kind.span()).await;
        let durations = match kind {
            CallKind::Read => &self.reads,
            CallKind::Write => &self.writes,
            CallKind::Snapshot => &self.snapshots,
        };
        durations.observe(began.elapsed().as_secs_f64());
        if let Some(kind) = result.as_ref().err().and_then(Measured::kind) {
            self.errors.with_label_values(&[kind.name()]).inc();
        }
        result
    }
}

/// An error that may be a [`StoreError`].
pub(crate) trait Measured {
    /// Kind of the store's error; `None` for an error of the caller.
    fn kind(&self) -> Option<ErrorKind>;
}

impl Measured for StoreError {
    fn kind(&self) -> Option<ErrorKind> {
        Some(StoreError::kind(self))
    }
}

impl CallKind {
    pub(crate) fn span(self) -> Span {
        // Background work is part of no trace.
        if Span::current().is_none() {
            return Span::none();
        }
        match self {
            Self::Read => tracing::info_span!("store read"),
            Self::Write => tracing::info_span!("store write"),
            Self::Snapshot => tracing::info_span!("store snapshot"),
        }
    }
}

/// Increments a gauge until it is dropped.
pub(crate) struct GaugeGuard(IntGauge);

impl GaugeGuard {
    pub(crate) fn new(gauge: &IntGauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

const SOUND: &str = "names, labels and buckets are written soundly here";

fn gauge(name: &str, help: &str) -> IntGauge {
    IntGauge::new(format!("gatehouse_store_{name}"), help).expect(SOUND)
}

fn sizes(name: &str, help: &str) -> Histogram {
    let buckets = exponential_buckets(1.0, 2.0, 10).expect(SOUND);
    let options = HistogramOpts::new(format!("gatehouse_store_{name}"), help).buckets(buckets);
    Histogram::with_opts(options).expect(SOUND)
}

fn boxed(metric: &(impl Collector + Clone + 'static)) -> Box<dyn Collector> {
    Box::new(metric.clone())
}
