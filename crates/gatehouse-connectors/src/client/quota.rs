//! Platform quotas: a number of calls per sliding period.
//!
//! Each of several servers has its share of the calls. When a server stops, its share passes to the others a whole
//! period later: it may have made all of its calls just before. So a stopping server never leads to more calls than the
//! platform allows.

use std::collections::VecDeque;
use std::time::Duration;

use gatehouse_core::ReplicaShare;
use tokio::time::Instant;

use crate::connector::Quota;

/// Calls that count against this server's share of a quota. Has no clock.
#[derive(Debug)]
pub(in crate::client) struct CallHistory {
    /// The whole quota: calls, and their period.
    whole: (u32, Duration),
    /// Calls in this server's latest share.
    calls_max: usize,
    per: Duration,
    /// Calls in the share that another server may have made.
    inherited: usize,
    /// When the latest of them passed to this server.
    inherited_at: Instant,
    /// Times of calls, oldest first. The last one always stays: it counts again if the period becomes longer.
    made: VecDeque<Instant>,
}

impl CallHistory {
    /// An empty history. At least one call is allowed, and no more than can be remembered.
    pub(in crate::client) fn new(quota: &Quota, share: ReplicaShare, now: Instant) -> Self {
        let whole = (quota.calls.clamp(1, Quota::CALLS_MAX), quota.per);
        let (calls, per) = share.calls(whole.0, whole.1);
        let (calls_max, made) = (calls as usize, VecDeque::new());
        Self { whole, calls_max, per, inherited: 0, inherited_at: now, made }
    }

    /// An empty history on a server that had these shares. It is built on first use, and other servers may
    /// have used calls that have passed to this server meanwhile.
    pub(in crate::client) fn after(
        quota: &Quota,
        shares: &[(Instant, ReplicaShare)],
        now: Instant,
    ) -> Self {
        let (began, first) = shares.first().copied().unwrap_or((now, ReplicaShare::WHOLE));
        let mut history = Self::new(quota, first, began);
        for (began, share) in shares {
            history.change_share(*share, *began);
        }
        history
    }

    pub(in crate::client) fn count(&mut self, now: Instant) {
        self.made.push_back(now);
    }

    /// Whether a call is allowed now, or the time until one is.
    pub(in crate::client) fn check(
        &mut self,
        share: ReplicaShare,
        now: Instant,
    ) -> Result<(), Duration> {
        self.change_share(share, now);
        let inherited = self.remaining(self.inherited_at, now);
        if inherited.is_zero() {
            self.inherited = 0;
        }
        while self.made.len() > 1
            && self.made.front().is_some_and(|oldest| self.remaining(*oldest, now).is_zero())
        {
            self.made.pop_front();
        }
        // Without the inherited calls, or, after their period, with them.
        let own = self.until_fewer_than(self.calls_max - self.inherited, now);
        let all = self.until_fewer_than(self.calls_max, now).max(inherited);
        let wait = if self.inherited > 0 { own.min(all) } else { own };
        if wait.is_zero() { Ok(()) } else { Err(wait) }
    }

    /// Whether no call counts any more.
    pub(in crate::client) fn is_empty(&self, now: Instant) -> bool {
        self.made.back().is_none_or(|last| self.remaining(*last, now).is_zero())
    }

    /// Changes to another share. A larger one brings calls that other servers may have made; a smaller one takes those
    /// first.
    fn change_share(&mut self, share: ReplicaShare, now: Instant) {
        let (calls, per) = share.calls(self.whole.0, self.whole.1);
        let calls_max = calls as usize;
        if calls_max > self.calls_max {
            self.inherited += calls_max - self.calls_max;
            self.inherited_at = now;
        } else {
            self.inherited = self.inherited.saturating_sub(self.calls_max - calls_max);
        }
        (self.calls_max, self.per) = (calls_max, per);
    }

    /// Time until fewer than `calls` calls count, at least one.
    fn until_fewer_than(&self, calls: usize, now: Instant) -> Duration {
        let blocking = self.made.len().checked_sub(calls).and_then(|nth| self.made.get(nth));
        blocking.map_or(Duration::ZERO, |made| self.remaining(*made, now))
    }

    /// Time for which a call made at `then` still counts.
    fn remaining(&self, then: Instant, now: Instant) -> Duration {
        self.per.saturating_sub(now.saturating_duration_since(then))
    }
}

#[cfg(test)]
mod tests;
