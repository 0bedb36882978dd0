//! How often a platform lets itself be asked: so many calls in a stretch of time, wherever that begins.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::connector::Quota;

/// The calls that count against a quota now. It knows no clock.
#[derive(Debug)]
pub(super) struct Tally {
    calls_max: usize,
    per: Duration,
    /// When they were made, the oldest first: never more than are allowed.
    made: VecDeque<Instant>,
}

impl Tally {
    /// Of no calls yet. One call is allowed at least, and no more than can be kept.
    pub(super) fn new(quota: &Quota) -> Self {
        let calls_max = quota.calls.clamp(1, Quota::CALLS_MAX) as usize;
        Self { calls_max, per: quota.per, made: VecDeque::new() }
    }

    /// Counts a call, or tells how long it takes until there is room for one.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        self.look(now)?;
        self.made.push_back(now);
        Ok(())
    }

    /// Whether there is room for a call, or how long it takes until there is.
    pub(super) fn look(&mut self, now: Instant) -> Result<(), Duration> {
        while self.made.front().is_some_and(|oldest| self.left(*oldest, now).is_zero()) {
            self.made.pop_front();
        }
        match self.made.front() {
            Some(oldest) if self.made.len() >= self.calls_max => Err(self.left(*oldest, now)),
            _ => Ok(()),
        }
    }

    /// Whether no call counts any more.
    pub(super) fn is_empty(&self, now: Instant) -> bool {
        self.made.back().is_none_or(|last| self.left(*last, now).is_zero())
    }

    /// How long a call that was made then still counts.
    fn left(&self, made: Instant, now: Instant) -> Duration {
        self.per.saturating_sub(now.saturating_duration_since(made))
    }
}

#[cfg(test)]
mod tests;
