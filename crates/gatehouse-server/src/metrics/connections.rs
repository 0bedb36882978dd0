//! The figures of connections: how many there are, and what became of those that there was no room for.

use prometheus::core::Collector;
use prometheus::{IntCounter, IntGauge};

use super::SOUND;

/// The figures of connections.
pub(crate) struct ConnectionMeter {
    pub(crate) held: IntGauge,
    pub(crate) refused: IntCounter,
    pub(crate) gave_way: IntCounter,
}

impl ConnectionMeter {
    pub(super) fn new() -> Self {
        let counter = |name, what| IntCounter::new(name, what).expect(SOUND);
        Self {
            held: IntGauge::new("gatehouse_connections", "Connections that are open").expect(SOUND),
            refused: counter(
                "gatehouse_connections_refused_total",
                "Connections that were refused because all others were busy",
            ),
            gave_way: counter(
                "gatehouse_connections_gave_way_total",
                "Connections without work that were closed to make room for others",
            ),
        }
    }

    pub(super) fn collectors(&self) -> Vec<Box<dyn Collector>> {
        vec![
            Box::new(self.held.clone()),
            Box::new(self.refused.clone()),
            Box::new(self.gave_way.clone()),
        ]
    }
}
