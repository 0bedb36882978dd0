//! Rate limit of an account: this server's share of a token bucket.

use std::time::Duration;

use gatehouse_core::ReplicaShare;
use gatehouse_core::rate::bucket;
use tokio::time::Instant;

/// A token bucket at an instant. Has no clock.
#[derive(Debug)]
pub(in crate::client) struct Bucket {
    tokens: bucket::Bucket,
    /// When `tokens` was last filled.
    at: Instant,
}

impl Bucket {
    /// A full bucket with a capacity of at least one token.
    pub(in crate::client) fn new(
        per_second: f64,
        burst: u32,
        share: ReplicaShare,
        now: Instant,
    ) -> Self {
        Self { tokens: bucket::Bucket::full(per_second, burst.into(), share), at: now }
    }

    /// Takes a token, or returns the time until there is one.
    pub(in crate::client) fn take(
        &mut self,
        share: ReplicaShare,
        now: Instant,
    ) -> Result<(), Duration> {
        self.tokens.fill(share, now.saturating_duration_since(self.at));
        self.at = self.at.max(now);
        self.tokens.take()
    }
}

#[cfg(test)]
mod tests;
