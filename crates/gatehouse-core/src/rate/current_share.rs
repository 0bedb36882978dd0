//! This server's share of limits, now and in the past.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::rate::replica_share::ReplicaShare;

/// Most changes of the share that are remembered.
const PAST_MAX: usize = 64;

/// This server's share as it is known now, and its past. Cheap to clone and to read; all clones share one state.
#[derive(Clone, Debug)]
pub struct CurrentShare(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    now: AtomicU64,
    /// Each share and its begin, the oldest first; never empty.
    past: Mutex<VecDeque<(Instant, ReplicaShare)>>,
}

impl Default for CurrentShare {
    fn default() -> Self {
        let past = Mutex::new(VecDeque::from([(Instant::now(), ReplicaShare::WHOLE)]));
        Self(Arc::new(Inner { now: AtomicU64::new(packed(ReplicaShare::WHOLE)), past }))
    }
}

impl CurrentShare {
    /// The present share.
    pub fn get(&self) -> ReplicaShare {
        let packed = self.0.now.load(Ordering::Relaxed);
        let (rank, of) = ((packed >> 32) as u32, packed as u32);
        ReplicaShare::new(rank, of).unwrap_or(ReplicaShare::WHOLE)
    }

    /// Replaces the share from `now` on.
    pub fn set(&self, share: ReplicaShare, now: Instant) {
        let mut past = self.0.past.lock();
        if past.back().is_none_or(|(_, last)| *last != share) {
            past.push_back((now, share));
        }
        if past.len() > PAST_MAX {
            past.pop_front();
        }
        self.0.now.store(packed(share), Ordering::Relaxed);
    }

    /// The past shares with their begins, the oldest first and the present last. A limit that starts to count needs
    /// the history: another server may already have used this share.
    pub fn past(&self) -> Vec<(Instant, ReplicaShare)> {
        self.0.past.lock().iter().copied().collect()
    }

    /// The smallest share that this server had within `time` before `now`.
    pub fn smallest_within(&self, time: Duration, now: Instant) -> ReplicaShare {
        let past = self.past();
        // A share lasts until the next one begins.
        let ends = past.iter().skip(1).map(|(began, _)| *began).chain([now]);
        let lasted = past.iter().zip(ends).filter(|(_, end)| now.duration_since(*end) < time);
        lasted.fold(self.get(), |smallest, ((_, share), _)| smallest.smaller(*share))
    }
}

/// Both numbers in one, so that no reader sees half of a change.
fn packed(share: ReplicaShare) -> u64 {
    (u64::from(share.rank()) << 32) | u64::from(share.of())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_clones_see_the_present_share() {
        let current = CurrentShare::default();
        let other = current.clone();
        assert_eq!(other.get(), ReplicaShare::WHOLE);
        for (rank, of) in [(0, 3), (1, 3), (2, 3), (u32::MAX - 1, u32::MAX)] {
            let share = ReplicaShare::new(rank, of).unwrap();
            current.set(share, Instant::now());
            assert_eq!(other.get(), share);
        }
    }

    #[test]
    fn past_shares_are_remembered_for_a_while() {
        let (long, none) = (Duration::from_secs(3600), Duration::ZERO);
        let current = CurrentShare::default();
        current.set(ReplicaShare::new(2, 3).unwrap(), Instant::now());
        current.set(ReplicaShare::new(2, 3).unwrap(), Instant::now());
        current.set(ReplicaShare::new(1, 2).unwrap(), Instant::now());
        current.set(ReplicaShare::WHOLE, Instant::now());
        let past: Vec<_> = current.clone().past().into_iter().map(|(_, share)| share).collect();
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
            (
                current.smallest_within(long, Instant::now()),
                current.smallest_within(none, Instant::now())
            ),
            (ReplicaShare::new(2, 3).unwrap(), ReplicaShare::WHOLE)
        );
        for n in 0..200 {
            current.set(ReplicaShare::new(0, 1 + n % 2).unwrap(), Instant::now());
        }
        assert!(
            current.past().len() == PAST_MAX && current.past().last().unwrap().1 == current.get()
        );
    }
}
