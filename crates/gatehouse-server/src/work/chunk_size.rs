//! The size of a batch's transactions: as many items as fit the allowed time.

use std::time::Duration;

use gatehouse_store::{ChunkLimits, Waiters};

/// Longest blocking by a chunk: of requests, a few times their own duration; of batches, as long as a commit is worth; of
/// numbers for events, half of the time within which their readers should see them.
pub(super) const CHUNK_LIMITS: ChunkLimits = ChunkLimits {
    requests: Duration::from_micros(1500),
    batches: Duration::from_millis(50),
    journal: Duration::from_millis(500),
};

/// Duration of a chunk while nothing waits; it stops when a request comes. Longer chunks are fewer, and a chunk writes
/// most pages of some indexes whatever its size.
const UNCONTENDED: Duration = Duration::from_secs(3);

/// Fewest and most items of a chunk: preparing the most takes some twenty megabytes.
const ITEMS: std::ops::RangeInclusive<u32> = 64..=50_000;

/// Items of the first chunk.
const FIRST_ITEMS: u32 = 2000;

/// Largest growth from one chunk to the next.
const GROWTH_MAX: u32 = 8;

/// The size of the next chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkSize {
    n_items: u32,
}

impl Default for ChunkSize {
    fn default() -> Self {
        Self { n_items: FIRST_ITEMS }
    }
}

impl ChunkSize {
    /// Items of the next chunk.
    pub(super) fn n_items(self) -> u32 {
        self.n_items
    }

    /// Most items of the chunk after the next.
    pub(super) fn n_items_ahead(self) -> u32 {
        self.n_items.saturating_mul(GROWTH_MAX).min(*ITEMS.end())
    }

    /// Adjusts the size to a finished chunk: its items, duration and waiters.
    pub(super) fn adjust(&mut self, n_items: u32, took: Duration, waiters: Waiters) {
        if n_items == 0 {
            return;
        }
        let target = match waiters {
            Waiters::None => UNCONTENDED,
            Waiters::Journal => CHUNK_LIMITS.journal,
            Waiters::Batches => CHUNK_LIMITS.batches,
            Waiters::Requests => CHUNK_LIMITS.requests,
        };
        let fitting = f64::from(n_items) * target.as_secs_f64() / took.as_secs_f64().max(1e-6);
        // A number of items, rounded; casts of floats saturate.
        let fitting = (fitting as u32).min(n_items.saturating_mul(GROWTH_MAX));
        self.n_items = fitting.clamp(*ITEMS.start(), *ITEMS.end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_grow_without_waiters_and_shrink_with_them() {
        let mut size = ChunkSize::default();
        for _ in 0..8 {
            let n = size.n_items();
            size.adjust(n, Duration::from_micros(100) * n, Waiters::None);
        }
        assert_eq!(size.n_items(), 30_000, "three seconds of items");
        size.adjust(30_000, Duration::from_secs(1), Waiters::Journal);
        assert_eq!(size.n_items(), 15_000, "500 ms of items");
        size.adjust(30_000, Duration::from_millis(150), Waiters::Batches);
        assert_eq!(size.n_items(), 10_000, "50 ms of items");
        size.adjust(10_000, Duration::from_millis(50), Waiters::Requests);
        assert_eq!(size.n_items(), 300, "1.5 ms of items");
        size.adjust(300, Duration::from_secs(60), Waiters::Requests);
        assert_eq!(size.n_items(), 64, "never less");
        size.adjust(64, Duration::ZERO, Waiters::None);
        assert_eq!(size.n_items(), 512, "limited growth");
    }
}
