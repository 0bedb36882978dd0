//! Repeatable random numbers.

use std::hash::{BuildHasher, RandomState};

/// A random number generator that repeats its numbers from the same seed.
#[derive(Clone, Debug)]
pub struct SeededRandom(
    /// The seed, and then the state.
    pub u64,
);

impl SeededRandom {
    /// A generator with a random seed, or that of `TEST_SEED`. Prints the seed, so that a failure can be repeated.
    ///
    /// # Panics
    ///
    /// When `TEST_SEED` is no number.
    pub fn from_entropy(test: &str) -> Self {
        let seed = match std::env::var("TEST_SEED") {
            Ok(seed) => seed.parse().expect("TEST_SEED is a number"),
            Err(_) => RandomState::new().hash_one(test),
        };
        eprintln!("{test}: repeat with TEST_SEED={seed}");
        Self(seed)
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % sides
    }

    /// A random element.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len() as u64) as usize]
    }

    /// Removes a random element.
    pub fn take<T>(&mut self, from: &mut Vec<T>) -> T {
        let place = self.roll(from.len() as u64) as usize;
        from.swap_remove(place)
    }

    /// Random bytes.
    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.roll(256) as u8).collect()
    }
}
