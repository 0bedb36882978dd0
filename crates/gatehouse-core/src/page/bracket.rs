//! Searches a long sequence for a boundary, with few look-ups.
//!
//! The first look is at a guess. The next looks move away from it in growing steps, and once there is an answer on both
//! sides, they bisect. A good guess is confirmed with a handful of looks; a bad one costs a few more than bisection
//! alone.
//!
//! Where a look is a round trip, [`Bracket::ahead`] gives every position that the next looks may need, so that one
//! round trip fetches them all.

/// Factor between the steps of two looks. The first step is one position.
const STRIDE: u64 = 8;

/// The positions between which the end is.
#[derive(Clone, Debug)]
pub struct Bracket {
    low: u64,
    high: u64,
    probe: u64,
    step: u64,
    is_low_found: bool,
    is_high_found: bool,
}

impl Bracket {
    /// The end is between `low` and `high`, both included, and perhaps at `guess`.
    pub fn new(low: u64, high: u64, guess: u64) -> Self {
        let probe = guess.clamp(low.saturating_add(1).min(high), high);
        Self { low, high, probe, step: 1, is_low_found: false, is_high_found: false }
    }

    /// Whether the end is not found yet.
    pub fn is_open(&self) -> bool {
        self.low < self.high
    }

    /// The position to look at, or the end once it is found.
    pub fn position(&self) -> u64 {
        if self.is_open() { self.probe } else { self.low }
    }

    /// Records that the position is not after the end.
    pub fn include(&mut self) {
        self.low = self.probe;
        self.is_low_found = true;
        self.advance();
    }

    /// Records that the position is after the end.
    pub fn exclude(&mut self) {
        self.high = self.probe - 1;
        self.is_high_found = true;
        self.advance();
    }

    fn advance(&mut self) {
        self.probe = match (self.is_low_found, self.is_high_found) {
            (true, false) => self.low.saturating_add(self.step).min(self.high),
            (false, true) => (self.high + 1).saturating_sub(self.step).max(self.low + 1),
            _ => self.low + (self.high - self.low).div_ceil(2),
        };
        self.step = self.step.saturating_mul(STRIDE);
    }

    /// The positions that the next `n_looks` looks may be at, in order.
    pub fn ahead(&self, n_looks: u32) -> Vec<u64> {
        let mut positions = Vec::new();
        self.collect_ahead(n_looks, &mut positions);
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    fn collect_ahead(&self, n_looks: u32, positions: &mut Vec<u64>) {
        if n_looks == 0 || !self.is_open() {
            return;
        }
        positions.push(self.probe);
        for turn in [Self::include, Self::exclude] {
            let mut next = self.clone();
            turn(&mut next);
            next.collect_ahead(n_looks - 1, positions);
        }
    }
}

#[cfg(test)]
mod tests;
