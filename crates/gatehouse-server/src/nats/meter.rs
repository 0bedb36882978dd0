//! Figures of the events that go to NATS.

use gatehouse_meter::MetricSet;
use prometheus::{IntCounterVec, IntGauge};

/// Events of this server, and how far all servers are.
pub(crate) struct NatsMeter {
    events: IntCounterVec,
    behind: IntGauge,
    missed: IntGauge,
    pub(super) connected: IntGauge,
    metrics: MetricSet,
}

impl Default for NatsMeter {
    fn default() -> Self {
        let mut metrics = MetricSet::default();
        Self {
            events: metrics.counters(
                "gatehouse_nats_events_total",
                "Events that this server has published to NATS, by outcome",
                &["outcome"],
            ),
            behind: metrics.gauge(
                "gatehouse_nats_lag_events",
                "Events of all tenants that were not published to NATS yet",
            ),
            missed: metrics.gauge(
                "gatehouse_nats_missed_events",
                "Events that were deleted for their age before they were published to NATS",
            ),
            connected: metrics
                .gauge("gatehouse_nats_connected", "Whether this server is connected to NATS"),
            metrics,
        }
    }
}

impl NatsMeter {
    pub(crate) fn metrics(&self) -> &MetricSet {
        &self.metrics
    }

    /// Counts published events.
    pub(super) fn count(&self, n_stored: usize, n_failed: usize) {
        for (outcome, n) in [("stored", n_stored), ("failed", n_failed)] {
            self.events.with_label_values(&[outcome]).inc_by(n as u64);
        }
    }

    pub(super) fn set_backlog(&self, n_behind: u64, n_missed: u64) {
        self.behind.set(i64::try_from(n_behind).unwrap_or(i64::MAX));
        self.missed.set(i64::try_from(n_missed).unwrap_or(i64::MAX));
    }
}
