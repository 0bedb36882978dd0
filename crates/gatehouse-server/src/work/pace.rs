//! How much of a batch is done in one transaction: as much as fits into the time that it may take.

use std::time::Duration;

use gatehouse_store::{ChunkLimits, Waiters};

/// How long a stretch may keep others waiting: those who asked for something, a few times as long as they
/// take by themselves; another batch, for as long as is worth a commit.
pub(super) const CHUNK_LIMITS: ChunkLimits =
    ChunkLimits { requests: Duration::from_micros(1500), batches: Duration::from_millis(50) };

/// How long a stretch may take when nobody waits. It stops when somebody comes. Longer ones are fewer, and a
/// stretch writes most pages of some indexes, whether it is long or short.
const ALONE: Duration = Duration::from_secs(3);

/// Items in a stretch, at least and at most: what is made ready for one takes some twenty megabytes.
const ITEMS: std::ops::RangeInclusive<u32> = 64..=50_000;

/// Items in the first stretch.
const FIRST: u32 = 2000;

/// How many times longer the next stretch may be than the last one.
const GROWTH: u32 = 8;

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

    /// How many items the stretch after the next one may have, if nobody comes.
    pub(super) fn n_items_ahead(self) -> u32 {
        self.n_items.saturating_mul(GROWTH).min(*ITEMS.end())
    }

    /// Learns from a stretch: how many items it had, how long they took, and who waited.
    pub(super) fn learn(&mut self, n_items: u32, took: Duration, waiters: Waiters) {
        if n_items == 0 {
            return;
        }
        let target = match waiters {
            Waiters::None => ALONE,
            Waiters::Batches => CHUNK_LIMITS.batches,
            Waiters::Requests => CHUNK_LIMITS.requests,
        };
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
            pace.learn(n, Duration::from_micros(100) * n, Waiters::None);
        }
        assert_eq!(pace.n_items(), 30_000, "three seconds of them");
        pace.learn(30_000, Duration::from_millis(150), Waiters::Batches);
        assert_eq!(pace.n_items(), 10_000, "50 ms of them");
        pace.learn(10_000, Duration::from_millis(50), Waiters::Requests);
        assert_eq!(pace.n_items(), 300, "1.5 ms of them");
        pace.learn(300, Duration::from_secs(60), Waiters::Requests);
        assert_eq!(pace.n_items(), 64, "and always some");
        pace.learn(64, Duration::ZERO, Waiters::None);
        assert_eq!(pace.n_items(), 512, "but never suddenly many");
    }
}
