//! Figures of connections: open, refused, and closed in favour of others.

use prometheus::core::Collector;
use prometheus::{IntCounter, IntGauge};

use super::VALID;

/// Figures of connections.
pub(crate) struct ConnectionMeter {
    pub(crate) held: IntGauge,
    pub(crate) refused: IntCounter,
    pub(crate) evicted: IntCounter,
}

impl ConnectionMeter {
    pub(super) fn new() -> Self {
        let counter = |name, what| IntCounter::new(name, what).expect(VALID);
        Self {
            held: IntGauge::new("gatehouse_connections", "Connections that are open").expect(VALID),
            refused: counter(
                "gatehouse_connections_refused_total",
                "Connections that were refused because all others were busy",
            ),
            evicted: counter(
                "gatehouse_connections_gave_way_total",
                "Idle connections that were closed in favour of new ones",
            ),
        }
    }

    pub(super) fn collectors(&self) -> Vec<Box<dyn Collector>> {
        vec![
            Box::new(self.held.clone()),
            Box::new(self.refused.clone()),
            Box::new(self.evicted.clone()),
        ]
    }
}
