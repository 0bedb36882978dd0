//! Searches a long sequence for a boundary, with few look-ups.
//!
//! The first look-up is at a guess. The next ones move away from it in growing steps, and once the boundary is known to
//! be between two of them, they bisect. A good guess is confirmed with a handful of look-ups; a bad one costs a few more
//! than bisection alone.
//!
//! Where a look-up is a round trip, [`Bracket::ahead`] gives every position that the next look-ups may need, so that
//! one round trip fetches them all.

/// Factor between the steps of two look-ups. The first step is one position.
const STRIDE: u64 = 8;

/// State of a search: the boundary is from `low` to `high`, and `next` is the position to look up.
#[derive(Clone, Debug)]
pub struct Bracket {
    low: u64,
    high: u64,
    next: u64,
    step: u64,
    is_low_found: bool,
    is_high_found: bool,
}

impl Bracket {
    /// Starts a search for a boundary from `low` to `high`, both included, that is perhaps at `guess`.
    pub fn new(low: u64, high: u64, guess: u64) -> Self {
        let next = guess.clamp(low.saturating_add(1).min(high), high);
        Self { low, high, next, step: 1, is_low_found: false, is_high_found: false }
    }

    /// Whether the boundary is not found yet.
    pub fn is_open(&self) -> bool {
        self.low < self.high
    }

    /// The position to look up, or the boundary once it is found.
    pub fn position(&self) -> u64 {
        if self.is_open() { self.next } else { self.low }
    }

    /// Records that the position is not after the boundary.
    pub fn include(&mut self) {
        self.low = self.next;
        self.is_low_found = true;
        self.advance();
    }

    /// Records that the position is after the boundary.
    pub fn exclude(&mut self) {
        self.high = self.next - 1;
        self.is_high_found = true;
        self.advance();
    }

    fn advance(&mut self) {
        self.next = match (self.is_low_found, self.is_high_found) {
            (true, false) => self.low.saturating_add(self.step).min(self.high),
            (false, true) => (self.high + 1).saturating_sub(self.step).max(self.low + 1),
            _ => self.low + (self.high - self.low).div_ceil(2),
        };
        self.step = self.step.saturating_mul(STRIDE);
    }

    /// The positions that the next `n_look_ups` look-ups may be at, in order.
    pub fn ahead(&self, n_look_ups: u32) -> Vec<u64> {
        let mut positions = Vec::new();
        self.collect_ahead(n_look_ups, &mut positions);
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    fn collect_ahead(&self, n_look_ups: u32, positions: &mut Vec<u64>) {
        if n_look_ups == 0 || !self.is_open() {
            return;
        }
        positions.push(self.next);
        for turn in [Self::include, Self::exclude] {
            let mut then = self.clone();
            turn(&mut then);
            then.collect_ahead(n_look_ups - 1, positions);
        }
    }
}

#[cfg(test)]
mod tests;
