//! What the store measures of itself: how long it takes, what goes wrong, and who waits.
//!
//! The figures are kept where they come about and shown by whoever owns the [`Registry`]. None of them
//! says anything about a tenant.

use std::time::Instant;

use prometheus::core::Collector;
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
    exponential_buckets,
};
use tracing::{Instrument, Span};

use crate::error::{ErrorKind, StoreError};

/// From what a cached page costs to what a request may take, in seconds.
const SECONDS: [f64; 16] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
    1.0, 2.5, 10.0,
];

/// The figures of one store.
pub struct StoreMeter {
    durations: HistogramVec,
    reads: Histogram,
    writes: Histogram,
    snapshots: Histogram,
    errors: IntCounterVec,
    pub(crate) retries: IntCounter,
    pub(crate) writer_waiting: IntGauge,
    /// Those of them that write for batches.
    pub(crate) batches_waiting: IntGauge,
    pub(crate) writer_gathered: Histogram,
    pub(crate) gather_waiting: IntGauge,
    pub(crate) gathered: Histogram,
    pub(crate) connections: IntGauge,
}

/// What is asked of the database.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// One statement that only looks.
    Read,
    /// A transaction that changes something.
    Write,
    /// A transaction that looks at many rows.
    Snapshot,
}

impl StoreMeter {
    pub(crate) fn new() -> Self {
        let durations = HistogramVec::new(
            HistogramOpts::new(
                "gatehouse_store_duration_seconds",
                "How long statements that read, writes and snapshots take, their waiting included",
            )
            .buckets(SECONDS.to_vec()),
            &["kind"],
        )
        .expect(SOUND);
        let errors = IntCounterVec::new(
            Opts::new("gatehouse_store_errors_total", "What the store could not do, by the reason"),
            &["kind"],
        )
        .expect(SOUND);
        for kind in ErrorKind::OF_OPEN_STORE {
            // Nothing is a figure too.
            errors.with_label_values(&[kind.name()]);
        }
        Self {
            reads: durations.with_label_values(&["read"]),
            writes: durations.with_label_values(&["write"]),
            snapshots: durations.with_label_values(&["snapshot"]),
            durations,
            errors,
            retries: IntCounter::new(
                "gatehouse_store_retries_total",
                "What was asked of PostgreSQL once more, because it was lost or a race was",
            )
            .expect(SOUND),
            writer_waiting: gauge(
                "gatehouse_store_writer_waiting",
                "Writes that wait for SQLite's writer",
            ),
            batches_waiting: gauge(
                "gatehouse_store_batches_waiting",
                "Those of them that write a stretch of a batch",
            ),
            writer_gathered: sizes(
                "gatehouse_store_writer_gathered_writes",
                "Writes that one transaction of SQLite's writer carried",
            ),
            gather_waiting: gauge(
                "gatehouse_store_gather_waiting",
                "Creations that wait for their tenant's turn",
            ),
            gathered: sizes(
                "gatehouse_store_gathered_creations",
                "Creations that one transaction carried together",
            ),
            connections: gauge("gatehouse_store_connections", "Open connections to PostgreSQL"),
        }
    }

    /// Puts the figures where they are shown.
    pub fn register(&self, registry: &Registry) -> Result<(), prometheus::Error> {
        let all: [Box<dyn Collector>; 9] = [
            Box::new(self.durations.clone()),
            Box::new(self.errors.clone()),
            Box::new(self.retries.clone()),
            Box::new(self.writer_waiting.clone()),
            Box::new(self.batches_waiting.clone()),
            Box::new(self.writer_gathered.clone()),
            Box::new(self.gather_waiting.clone()),
            Box::new(self.gathered.clone()),
            Box::new(self.connections.clone()),
        ];
        all.into_iter().try_for_each(|one| registry.register(one))
    }

    /// Measures a read, a write or a snapshot, and gives it a span of the trace that it is part of.
    pub(crate) async fn watch<E: Measured>(
        &self,
        kind: Kind,
        work: impl Future<Output = Result<(), E>>,
    ) -> Result<(), E> {
        let began = Instant::now();
        let result = work.instrument(kind.span()).await;
        let durations = match kind {
            Kind::Read => &self.reads,
            Kind::Write => &self.writes,
            Kind::Snapshot => &self.snapshots,
        };
        durations.observe(began.elapsed().as_secs_f64());
        if let Some(kind) = result.as_ref().err().and_then(Measured::kind) {
            self.errors.with_label_values(&[kind.name()]).inc();
        }
        result
    }
}

/// An error that may be the store's.
pub(crate) trait Measured {
    /// The kind of the store's error, if it is one.
    fn kind(&self) -> Option<ErrorKind>;
}

impl Measured for StoreError {
    fn kind(&self) -> Option<ErrorKind> {
        Some(StoreError::kind(self))
    }
}

impl Kind {
    pub(crate) fn span(self) -> Span {
        // Work that no request waits for is part of no trace.
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

/// One more in a gauge, for as long as it is held.
pub(crate) struct Held(IntGauge);

impl Held {
    pub(crate) fn new(gauge: &IntGauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.dec();
    }
}

const SOUND: &str = "names, labels and buckets are written soundly here";

fn gauge(name: &str, help: &str) -> IntGauge {
    IntGauge::new(name, help).expect(SOUND)
}

fn sizes(name: &str, help: &str) -> Histogram {
    let buckets = exponential_buckets(1.0, 2.0, 10).expect(SOUND);
    Histogram::with_opts(HistogramOpts::new(name, help).buckets(buckets)).expect(SOUND)
}
