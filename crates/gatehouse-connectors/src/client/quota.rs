//! How often a platform lets itself be asked: so many calls in a stretch of time, wherever that begins.
//!
//! Of several servers each has its slice of the calls. When a server is gone, what was its part comes to the
//! others a whole stretch later: it may have made all of its calls just before. So a server that ends never
//! leads to more calls than the platform allows.

use std::collections::VecDeque;
use std::time::Duration;

use gatehouse_core::ReplicaShare;
use tokio::time::Instant;

use crate::connector::Quota;

/// The calls that count against this server's slice of a quota now. It knows no clock.
#[derive(Debug)]
pub(in crate::client) struct Tally {
    /// The whole quota: calls, and the stretch in which they may be made.
    whole: (u32, Duration),
    /// This server's slice of it, as it was last.
    calls_max: usize,
    per: Duration,
    /// Those of the slice that others may have made.
    inherited: usize,
    /// When the last of them came to this server.
    inherited_at: Instant,
    /// When calls were made, the oldest first. The last one is always kept: it counts again where the stretch
    /// becomes a longer one.
    made: VecDeque<Instant>,
}

impl Tally {
    /// Of no calls yet. One call is allowed at least, and no more than can be kept.
    pub(in crate::client) fn new(quota: &Quota, slice: ReplicaShare, now: Instant) -> Self {
        let whole = (quota.calls.clamp(1, Quota::CALLS_MAX), quota.per);
        let (calls, per) = slice.calls(whole.0, whole.1);
        let (calls_max, made) = (calls as usize, VecDeque::new());
        Self { whole, calls_max, per, inherited: 0, inherited_at: now, made }
    }

    /// Of no calls yet, on a server that had these slices since these moments: it is made as late as somebody asks, and
    /// others may have used what has become this server's meanwhile.
    pub(in crate::client) fn after(
        quota: &Quota,
        slices: &[(Instant, ReplicaShare)],
        now: Instant,
    ) -> Self {
        let (began, first) = slices.first().copied().unwrap_or((now, ReplicaShare::WHOLE));
        let mut tally = Self::new(quota, first, began);
        for (began, slice) in slices {
            tally.settle(*slice, *began);
        }
        tally
    }

    /// Counts a call, which is made now.
    pub(in crate::client) fn count(&mut self, now: Instant) {
        self.made.push_back(now);
    }

    /// Whether there is room for a call, or how long it takes until there is.
    pub(in crate::client) fn look(
        &mut self,
        slice: ReplicaShare,
        now: Instant,
    ) -> Result<(), Duration> {
        self.settle(slice, now);
        let inherited = self.left(self.inherited_at, now);
        if inherited.is_zero() {
            self.inherited = 0;
        }
        while self.made.len() > 1
            && self.made.front().is_some_and(|oldest| self.left(*oldest, now).is_zero())
        {
            self.made.pop_front();
        }
        // Without what is inherited, or, once that has had its time, with it.
        let own = self.until_fewer_than(self.calls_max - self.inherited, now);
        let all = self.until_fewer_than(self.calls_max, now).max(inherited);
        let wait = if self.inherited > 0 { own.min(all) } else { own };
        if wait.is_zero() { Ok(()) } else { Err(wait) }
    }

    /// Whether no call counts any more.
    pub(in crate::client) fn is_empty(&self, now: Instant) -> bool {
        self.made.back().is_none_or(|last| self.left(*last, now).is_zero())
    }

    /// Goes on with this slice. A larger one brings calls that others may have made; a smaller one takes
    /// those first.
    fn settle(&mut self, slice: ReplicaShare, now: Instant) {
        let (calls, per) = slice.calls(self.whole.0, self.whole.1);
        let calls_max = calls as usize;
        if calls_max > self.calls_max {
            self.inherited += calls_max - self.calls_max;
            self.inherited_at = now;
        } else {
            self.inherited = self.inherited.saturating_sub(self.calls_max - calls_max);
        }
        (self.calls_max, self.per) = (calls_max, per);
    }

    /// How long it takes until fewer calls than so many count, at least one.
    fn until_fewer_than(&self, calls: usize, now: Instant) -> Duration {
        let in_the_way = self.made.len().checked_sub(calls).and_then(|nth| self.made.get(nth));
        in_the_way.map_or(Duration::ZERO, |made| self.left(*made, now))
    }

    /// How long what was done then still counts.
    fn left(&self, then: Instant, now: Instant) -> Duration {
        self.per.saturating_sub(now.saturating_duration_since(then))
    }
}

#[cfg(test)]
mod tests;
