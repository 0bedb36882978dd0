//! This server's share of a limit that several servers keep together.
//!
//! Every server has a rank among those that are alive: the first of three, say. The rank decides the server's share, so
//! that all shares add up to the limit, and no server asks another. The arithmetic is here; the store knows which
//! servers are alive.

use std::num::NonZeroU32;
use std::time::Duration;

/// A server's rank among the servers that share a limit, counted from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaShare {
    rank: u32,
    of: NonZeroU32,
}

impl ReplicaShare {
    /// The share of a server that is alone.
    pub const WHOLE: Self = Self { rank: 0, of: NonZeroU32::MIN };

    /// The share of this rank among `of` servers; `None` for a rank that doesn't exist.
    pub fn new(rank: u32, of: u32) -> Option<Self> {
        let of = NonZeroU32::new(of)?;
        (rank < of.get()).then_some(Self { rank, of })
    }

    /// Number of servers before this one.
    pub fn rank(self) -> u32 {
        self.rank
    }

    /// Number of servers that share the limit.
    pub fn of(self) -> u32 {
        self.of.get()
    }

    /// This server's part of a divisible limit, such as a rate.
    pub fn part(self, whole: f64) -> f64 {
        whole / f64::from(self.of())
    }

    /// This server's part of a number of calls per period: its calls, and its period.
    ///
    /// The first servers get the remainder. Where there are more servers than calls, each has one call in a period that
    /// is longer in proportion: every server has some, and over time the rate is the same.
    pub fn calls(self, calls: u32, per: Duration) -> (u32, Duration) {
        let (calls, of) = (calls.max(1), self.of());
        if calls >= of {
            return (calls / of + u32::from(self.rank < calls % of), per);
        }
        let nanoseconds = (per.as_nanos() * u128::from(of)).div_ceil(calls.into());
        let seconds = u64::try_from(nanoseconds / NANOSECONDS).unwrap_or(u64::MAX);
        // A remainder below a billion nanoseconds always fits.
        (1, Duration::new(seconds, (nanoseconds % NANOSECONDS) as u32))
    }

    /// The smaller of two shares.
    pub fn smaller(self, other: Self) -> Self {
        if self.of < other.of { other } else { self }
    }
}

const NANOSECONDS: u128 = 1_000_000_000;

#[cfg(test)]
mod tests;
