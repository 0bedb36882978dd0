//! How much of a batch is done in one transaction: as much as fits into the time that it may take.

use std::time::Duration;

/// How long a stretch may keep others waiting.
pub(super) const PATIENCE: Duration = Duration::from_millis(25);

/// How long a stretch may take when nobody waits.
const ALONE: Duration = Duration::from_millis(500);

/// Items in a stretch, at least and at most.
const ITEMS: std::ops::RangeInclusive<u32> = 16..=20_000;

/// Items in the first stretch.
const FIRST: u32 = 250;

/// How many times longer the next stretch may be than the last one.
const GROWTH: u32 = 4;

/// How many items the next stretch should have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    n_items: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self { n_items: FIRST }
    }
}

impl Pace {
    /// How many items the next stretch should have.
    pub(super) fn n_items(self) -> u32 {
        self.n_items
    }

    /// Learns from a stretch: how many items it had, how long they took, and whether others waited.
    pub(super) fn learn(&mut self, n_items: u32, took: Duration, others_waited: bool) {
        if n_items == 0 {
            return;
        }
        let target = if others_waited { PATIENCE } else { ALONE };
        let fitting = f64::from(n_items) * target.as_secs_f64() / took.as_secs_f64().max(1e-6);
        // A number of items, rounded; casts of floats saturate.
        let fitting = (fitting as u32).min(n_items.saturating_mul(GROWTH));
        self.n_items = fitting.clamp(*ITEMS.start(), *ITEMS.end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_grow_alone_and_shrink_when_others_wait() {
        let mut pace = Pace::default();
        for _ in 0..8 {
            let n = pace.n_items();
            pace.learn(n, Duration::from_micros(50) * n, false);
        }
        assert_eq!(pace.n_items(), 10_000, "half a second of them");
        pace.learn(10_000, Duration::from_millis(500), true);
        assert_eq!(pace.n_items(), 500, "25 ms of them");
        pace.learn(500, Duration::from_secs(60), true);
        assert_eq!(pace.n_items(), 16, "and always some");
        pace.learn(16, Duration::ZERO, false);
        assert_eq!(pace.n_items(), 64, "but never suddenly many");
    }
}
