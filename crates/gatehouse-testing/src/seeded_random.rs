//! Chance that can be repeated.

use std::hash::{BuildHasher, RandomState};

/// Dice that fall the same way again from the same seed.
#[derive(Clone, Debug)]
pub struct SeededRandom(
    /// The seed, and then what comes of it.
    pub u64,
);

impl SeededRandom {
    /// Dice whose seed nobody knows before, or that of `TEST_SEED`. It is told, so that whoever sees the
    /// test fail can throw them the same way again.
    ///
    /// # Panics
    ///
    /// When `TEST_SEED` is no number.
    pub fn from_entropy(test: &str) -> Self {
        let seed = match std::env::var("TEST_SEED") {
            Ok(seed) => seed.parse().expect("TEST_SEED is a number"),
            Err(_) => RandomState::new().hash_one(test),
        };
        eprintln!("{test}: the dice are those of TEST_SEED={seed}");
        Self(seed)
    }

    /// A number below this one.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % sides
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len() as u64) as usize]
    }

    /// Takes one of these out.
    pub fn take<T>(&mut self, from: &mut Vec<T>) -> T {
        let place = self.roll(from.len() as u64) as usize;
        from.swap_remove(place)
    }

    /// So many bytes.
    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.roll(256) as u8).collect()
    }
}
