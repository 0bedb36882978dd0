//! This server's place among those that share limits, as it is now and as it was.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::rate::replica_share::ReplicaShare;

/// How many changes of a place are remembered.
const PAST_MAX: usize = 64;

/// This server's place as it is known now, and as it was. Cheap to clone and to look at; all clones are one.
#[derive(Clone, Debug)]
pub struct CurrentShare(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    now: AtomicU64,
    /// Each place and when it began, the oldest first; never empty.
    past: Mutex<VecDeque<(Instant, ReplicaShare)>>,
}

impl Default for CurrentShare {
    fn default() -> Self {
        let past = Mutex::new(VecDeque::from([(Instant::now(), ReplicaShare::WHOLE)]));
        Self(Arc::new(Inner { now: AtomicU64::new(packed(ReplicaShare::WHOLE)), past }))
    }
}

impl CurrentShare {
    /// What it is now.
    pub fn get(&self) -> ReplicaShare {
        let packed = self.0.now.load(Ordering::Relaxed);
        let (rank, of) = ((packed >> 32) as u32, packed as u32);
        ReplicaShare::new(rank, of).unwrap_or(ReplicaShare::WHOLE)
    }

    /// Replaces the slice from `now` on.
    pub fn set(&self, slice: ReplicaShare, now: Instant) {
        let mut past = self.0.past.lock();
        if past.back().is_none_or(|(_, last)| *last != slice) {
            past.push_back((now, slice));
        }
        if past.len() > PAST_MAX {
            past.pop_front();
        }
        self.0.now.store(packed(slice), Ordering::Relaxed);
    }

    /// What it was, the oldest first and what it is now last, each with the moment from which on. For those who begin
    /// to count only now: others may have used what has become this server's since.
    pub fn past(&self) -> Vec<(Instant, ReplicaShare)> {
        self.0.past.lock().iter().copied().collect()
    }

    /// The one that left least of a rate in this time before `now`.
    pub fn narrowest_for(&self, time: Duration, now: Instant) -> ReplicaShare {
        let past = self.past();
        // A place lasts until the next one begins.
        let ends = past.iter().skip(1).map(|(began, _)| *began).chain([now]);
        let lasted = past.iter().zip(ends).filter(|(_, end)| now.duration_since(*end) < time);
        lasted.fold(self.get(), |narrowest, ((_, slice), _)| narrowest.narrower(*slice))
    }
}

/// Both numbers in one, so that nobody sees half of a change.
fn packed(slice: ReplicaShare) -> u64 {
    (u64::from(slice.rank()) << 32) | u64::from(slice.of())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_now_is_the_same_for_all_who_look() {
        let current = CurrentShare::default();
        let other = current.clone();
        assert_eq!(other.get(), ReplicaShare::WHOLE);
        for (rank, of) in [(0, 3), (1, 3), (2, 3), (u32::MAX - 1, u32::MAX)] {
            let slice = ReplicaShare::new(rank, of).unwrap();
            current.set(slice, Instant::now());
            assert_eq!(other.get(), slice);
        }
    }

    #[test]
    fn what_a_place_was_is_remembered_for_a_while() {
        let (long, none) = (Duration::from_secs(3600), Duration::ZERO);
        let place = CurrentShare::default();
        place.set(ReplicaShare::new(2, 3).unwrap(), Instant::now());
        place.set(ReplicaShare::new(2, 3).unwrap(), Instant::now());
        place.set(ReplicaShare::new(1, 2).unwrap(), Instant::now());
        place.set(ReplicaShare::WHOLE, Instant::now());
        let past: Vec<_> = place.clone().past().into_iter().map(|(_, slice)| slice).collect();
        assert_eq!(
            past,
            [
                ReplicaShare::WHOLE,
                ReplicaShare::new(2, 3).unwrap(),
                ReplicaShare::new(1, 2).unwrap(),
                ReplicaShare::WHOLE
            ]
        );
        assert_eq!(
            (place.narrowest_for(long, Instant::now()), place.narrowest_for(none, Instant::now())),
            (ReplicaShare::new(2, 3).unwrap(), ReplicaShare::WHOLE)
        );
        for n in 0..200 {
            place.set(ReplicaShare::new(0, 1 + n % 2).unwrap(), Instant::now());
        }
        assert!(place.past().len() == PAST_MAX && place.past().last().unwrap().1 == place.get());
    }
}
