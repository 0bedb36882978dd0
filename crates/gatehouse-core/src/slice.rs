//! Which part of a limit is this server's, where several servers keep it together.
//!
//! Every server has a place among those that are there: the first of three, say. From its place follows what
//! it may do of a limit, so that what all of them do is the limit, and nobody asks anybody for leave. The
//! arithmetic is here; who is there is for the store to say.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A server's place among those that share a limit: a rank, counted from zero, of so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    rank: u32,
    of: NonZeroU32,
}

impl Slice {
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

/// How many changes of a place are remembered.
const PAST_MAX: usize = 64;

/// This server's place as it is known now, and as it was. Cheap to clone and to look at; all clones are one.
#[derive(Clone, Debug)]
pub struct CurrentSlice(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    now: AtomicU64,
    /// Each place and when it began, the oldest first; never empty.
    past: Mutex<VecDeque<(Instant, Slice)>>,
}

impl Default for CurrentSlice {
    fn default() -> Self {
        let past = Mutex::new(VecDeque::from([(Instant::now(), Slice::WHOLE)]));
        Self(Arc::new(Inner { now: AtomicU64::new(packed(Slice::WHOLE)), past }))
    }
}

impl CurrentSlice {
    /// What it is now.
    pub fn get(&self) -> Slice {
        let packed = self.0.now.load(Ordering::Relaxed);
        let (rank, of) = ((packed >> 32) as u32, packed as u32);
        Slice::new(rank, of).unwrap_or(Slice::WHOLE)
    }

    /// Makes it another, for whoever looks next.
    pub fn set(&self, slice: Slice) {
        let mut past = self.lock();
        if past.back().is_none_or(|(_, last)| *last != slice) {
            past.push_back((Instant::now(), slice));
        }
        if past.len() > PAST_MAX {
            past.pop_front();
        }
        self.0.now.store(packed(slice), Ordering::Relaxed);
    }

    /// What it was, the oldest first and what it is now last, each with the moment from which on. For those who begin
    /// to count only now: others may have used what has become this server's since.
    pub fn past(&self) -> Vec<(Instant, Slice)> {
        self.lock().iter().copied().collect()
    }

    /// The one that left least of a rate in this time before now.
    pub fn narrowest_for(&self, time: Duration) -> Slice {
        let now = Instant::now();
        let past = self.past();
        // A place lasts until the next one begins.
        let ends = past.iter().skip(1).map(|(began, _)| *began).chain([now]);
        let lasted = past.iter().zip(ends).filter(|(_, end)| now.duration_since(*end) < time);
        lasted.fold(self.get(), |narrowest, ((_, slice), _)| narrowest.narrower(*slice))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Instant, Slice)>> {
        self.0.past.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Both numbers in one, so that nobody sees half of a change.
fn packed(slice: Slice) -> u64 {
    (u64::from(slice.rank) << 32) | u64::from(slice.of())
}

#[cfg(test)]
mod tests;
