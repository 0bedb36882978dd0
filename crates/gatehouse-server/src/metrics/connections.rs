//! Figures of connections: open, refused, and closed in favour of others.

use gatehouse_meter::MetricSet;
use prometheus::{IntCounter, IntGauge};

/// Figures of connections.
pub(crate) struct ConnectionMeter {
    pub(crate) held: IntGauge,
    pub(crate) refused: IntCounter,
    pub(crate) evicted: IntCounter,
}

impl ConnectionMeter {
    pub(super) fn new(metrics: &mut MetricSet) -> Self {
        Self {
            held: metrics.gauge("gatehouse_connections", "Connections that are open"),
            refused: metrics.counter(
                "gatehouse_connections_refused_total",
                "Connections that were refused because all others were busy",
            ),
            evicted: metrics.counter(
                "gatehouse_connections_gave_way_total",
                "Idle connections that were closed in favour of new ones",
            ),
        }
    }
}
