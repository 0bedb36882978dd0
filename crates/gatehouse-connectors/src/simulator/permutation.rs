//! Pseudo-random permutations of numbers, and their inverse.
//!
//! A small Feistel network over the numbers below the square of a base: each number is a pair of digits to that base.
//! Each of four rounds shifts one digit by a pseudo-random number for the other. No table is stored.

use super::pseudo_random::pseudo_random;

const ROUNDS: u64 = 4;

/// A permutation of the numbers below the square of its base.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permutation {
    base: u64,
    key: u64,
}

impl Permutation {
    pub(super) const fn new(base: u64, key: u64) -> Self {
        Self { base, key }
    }

    /// Permutes a number, which must be below the square of the base.
    pub(super) fn apply(self, number: u64) -> u64 {
        let (mut high, mut low) = (number / self.base, number % self.base);
        for round in 0..ROUNDS {
            (high, low) = (low, (high + self.shift(round, low)) % self.base);
        }
        high * self.base + low
    }

    /// The number that `apply` maps to this one; `None` if this one is too large.
    pub(super) fn invert(self, number: u64) -> Option<u64> {
        if number >= self.base * self.base {
            return None;
        }
        let (mut high, mut low) = (number / self.base, number % self.base);
        for round in (0..ROUNDS).rev() {
            (high, low) = ((low + self.base - self.shift(round, high)) % self.base, high);
        }
        Some(high * self.base + low)
    }

    fn shift(self, round: u64, digit: u64) -> u64 {
        pseudo_random(self.key.wrapping_add(round), digit) % self.base
    }
}

#[cfg(test)]
mod tests;
