//! Which part of a limit is this server's, where several servers keep it together.
//!
//! Every server has a place among those that are there: the first of three, say. From its place follows what
//! it may do of a limit, so that what all of them do is the limit, and nobody asks anybody for leave. The
//! arithmetic is here; who is there is for the store to say.

use std::num::NonZeroU32;
use std::time::Duration;

/// A server's place among those that share a limit: a rank, counted from zero, of so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaShare {
    rank: u32,
    of: NonZeroU32,
}

impl ReplicaShare {
    /// That of a server which is alone.
    pub const WHOLE: Self = Self { rank: 0, of: NonZeroU32::MIN };

    /// The place of this rank among so many; `None` where there is no such place.
    pub fn new(rank: u32, of: u32) -> Option<Self> {
        let of = NonZeroU32::new(of)?;
        (rank < of.get()).then_some(Self { rank, of })
    }

    /// How many servers are before this one.
    pub fn rank(self) -> u32 {
        self.rank
    }

    /// How many share.
    pub fn of(self) -> u32 {
        self.of.get()
    }

    /// Its part of what can be divided at will: a rate.
    pub fn part(self, whole: f64) -> f64 {
        whole / f64::from(self.of())
    }

    /// Its part of so many calls in a stretch of time: how many, and in which stretch.
    ///
    /// What doesn't divide evenly goes to the first. Where there are more servers than calls, each has one
    /// call in a stretch that is longer by as much: no server is left without, and over time it comes to the
    /// same.
    pub fn calls(self, calls: u32, per: Duration) -> (u32, Duration) {
        let (calls, of) = (calls.max(1), self.of());
        if calls >= of {
            return (calls / of + u32::from(self.rank < calls % of), per);
        }
        let nanoseconds = (per.as_nanos() * u128::from(of)).div_ceil(calls.into());
        let seconds = u64::try_from(nanoseconds / NANOSECONDS).unwrap_or(u64::MAX);
        // A remainder of so few nanoseconds always fits.
        (1, Duration::new(seconds, (nanoseconds % NANOSECONDS) as u32))
    }

    /// The one of two that leaves less of a rate.
    pub fn narrower(self, other: Self) -> Self {
        if self.of < other.of { other } else { self }
    }
}

const NANOSECONDS: u128 = 1_000_000_000;

#[cfg(test)]
mod tests;
