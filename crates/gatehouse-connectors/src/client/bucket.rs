//! How often an account may be asked: this server's slice of a rate.

use std::time::Duration;

use gatehouse_core::ReplicaShare;
use gatehouse_core::rate::bucket;
use tokio::time::Instant;

/// Tokens for calls, as they were at an instant. It knows no clock.
#[derive(Debug)]
pub(in crate::client) struct Bucket {
    tokens: bucket::Bucket,
    /// When `tokens` was right.
    at: Instant,
}

impl Bucket {
    /// A full one, with room for one token at least.
    pub(in crate::client) fn new(
        per_second: f64,
        burst: u32,
        slice: ReplicaShare,
        now: Instant,
    ) -> Self {
        Self { tokens: bucket::Bucket::full(per_second, burst.into(), slice), at: now }
    }

    /// Takes a token, or tells how long it takes until there is one.
    pub(in crate::client) fn take(
        &mut self,
        slice: ReplicaShare,
        now: Instant,
    ) -> Result<(), Duration> {
        self.tokens.fill(slice, now.saturating_duration_since(self.at));
        self.at = self.at.max(now);
        self.tokens.take()
    }
}

#[cfg(test)]
mod tests;
