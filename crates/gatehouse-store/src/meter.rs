//! The store's metrics: durations, errors and queue lengths.
//!
//! The owner of the registry exposes them. No metric has a tenant in its labels.

use std::time::Instant;

use gatehouse_meter::MetricSet;
use prometheus::{Histogram, IntCounter, IntCounterVec, IntGauge};
use tracing::{Instrument, Span};

use crate::error::{ErrorKind, StoreError};

/// Histogram buckets in seconds, from a read of a cached page to the longest request.
const SECONDS: [f64; 16] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
    1.0, 2.5, 10.0,
];

/// Histogram buckets of numbers of writes: powers of two.
const SIZES: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// The metrics of one store.
pub struct StoreMeter {
    reads: Histogram,
    writes: Histogram,
    snapshots: Histogram,
    errors: IntCounterVec,
    pub(crate) retries: IntCounter,
    pub(crate) writer_waiting: IntGauge,
    /// Writes of batches among `writer_waiting`.
    pub(crate) batches_waiting: IntGauge,
    /// Writes that number or delete events, among `writer_waiting`.
    pub(crate) journal_writes_waiting: IntGauge,
    pub(crate) writer_gathered: Histogram,
    pub(crate) gather_waiting: IntGauge,
    pub(crate) gathered: Histogram,
    pub(crate) connections: IntGauge,
    metrics: MetricSet,
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
        let mut metrics = MetricSet::default();
        let durations = metrics.histograms(
            "gatehouse_store_duration_seconds",
            "How long statements that read, writes and snapshots take, their waiting included",
            &["kind"],
            &SECONDS,
        );
        let errors: IntCounterVec = metrics.counters(
            "gatehouse_store_errors_total",
            "What the store could not do, by the reason",
            &["kind"],
        );
        for kind in ErrorKind::OF_OPEN_STORE {
            // Zero is exposed from the start.
            errors.with_label_values(&[kind.name()]);
        }
        Self {
            reads: durations.with_label_values(&["read"]),
            writes: durations.with_label_values(&["write"]),
            snapshots: durations.with_label_values(&["snapshot"]),
            errors,
            retries: metrics.counter(
                "gatehouse_store_retries_total",
                "What was asked of PostgreSQL once more, because it was lost or a race was",
            ),
            writer_waiting: metrics
                .gauge("gatehouse_store_writer_waiting", "Writes that wait for SQLite's writer"),
            batches_waiting: metrics.gauge(
                "gatehouse_store_batches_waiting",
                "Those of them that write a stretch of a batch",
            ),
            journal_writes_waiting: metrics.gauge(
                "gatehouse_store_journal_writes_waiting",
                "Those of them that number or delete events",
            ),
            writer_gathered: metrics.histogram(
                "gatehouse_store_writer_gathered_writes",
                "Writes that one transaction of SQLite's writer carried",
                &SIZES,
            ),
            gather_waiting: metrics.gauge(
                "gatehouse_store_gather_waiting",
                "Creations that wait for their tenant's turn",
            ),
            gathered: metrics.histogram(
                "gatehouse_store_gathered_creations",
                "Creations that one transaction carried together",
                &SIZES,
            ),
            connections: metrics
                .gauge("gatehouse_store_connections", "Open connections to PostgreSQL"),
            metrics,
        }
    }

    /// All metrics of the store.
    pub fn metrics(&self) -> &MetricSet {
        &self.metrics
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
