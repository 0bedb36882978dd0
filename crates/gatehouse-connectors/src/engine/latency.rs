//! Recent latency of an account's platform.
//!
//! The median of the last responses: a single slow one has no effect, and a platform that has become slow shows soon.
//! The histogram of the `meter` has all responses, for operators.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

/// Number of responses in the median: odd, and so few that the timeouts that open a circuit are most of them.
pub const LATENCY_ANSWERS: usize = 9;

/// Recent latency of an account. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latency(Arc<Mutex<Recent>>);

#[derive(Debug, Default)]
struct Recent {
    /// Latencies in no order.
    took: [Duration; LATENCY_ANSWERS],
    n: usize,
}

impl Latency {
    /// Records a latency in place of the oldest.
    pub(crate) fn record(&self, time: Duration) {
        let mut recent = self.0.lock();
        let oldest = recent.n % LATENCY_ANSWERS;
        recent.took[oldest] = time;
        recent.n += 1;
    }

    /// Median latency; `None` before the first response.
    pub(crate) fn median(&self) -> Option<Duration> {
        let Recent { mut took, n } = *self.0.lock();
        let recorded = &mut took[..n.min(LATENCY_ANSWERS)];
        recorded.sort_unstable();
        recorded.get(recorded.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests;
