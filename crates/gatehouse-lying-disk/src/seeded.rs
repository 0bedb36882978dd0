//! Chance that comes out the same for the same seed.

/// A row of numbers that follows from its seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct Seeded(u64);

impl Seeded {
    /// The row of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below this one.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.draw() % limit.max(1) as u64) as usize
    }

    /// True once in so many times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}
