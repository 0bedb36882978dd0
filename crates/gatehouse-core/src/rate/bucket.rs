//! A token bucket: a rate limit with a burst.
//!
//! Where several servers share a rate, each has a bucket for its [`ReplicaShare`]. When the share changes, used tokens
//! stay used: the bucket fills for the time before at the smaller of the two rates, and at the new rate from then on.
//! So a larger share brings no second burst.

use std::time::Duration;

use crate::rate::replica_share::ReplicaShare;

/// A token bucket. Callers pass the elapsed time, so it needs no clock.
#[derive(Clone, Debug)]
pub struct Bucket {
    per_second: f64,
    burst: f64,
    tokens: f64,
    share: ReplicaShare,
}

impl Bucket {
    /// A full bucket: the share of a bucket for `burst` tokens that gets `per_second` of them, with capacity for at
    /// least one token.
    pub fn full(per_second: f64, burst: f64, share: ReplicaShare) -> Self {
        // NaN lets nothing through, and infinity becomes the largest finite rate.
        let per_second = if per_second.is_nan() { 0.0 } else { per_second.clamp(0.0, f64::MAX) };
        let bucket = Self { per_second, burst, tokens: 0.0, share };
        Self { tokens: bucket.capacity(share), ..bucket }
    }

    /// Fills the bucket for the elapsed time, and continues with this share.
    pub fn fill(&mut self, share: ReplicaShare, passed: Duration) {
        let smaller = self.share.smaller(share);
        let come = passed.as_secs_f64() * smaller.part(self.per_second);
        self.tokens = (self.tokens + come).min(self.capacity(smaller));
        self.share = share;
    }

    /// Takes a token, or returns the time until there is one.
    pub fn take(&mut self) -> Result<(), Duration> {
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        let missing = (1.0 - self.tokens) / self.share.part(self.per_second);
        // A little longer than that: a rounded time must not be too early.
        let wait = Duration::try_from_secs_f64(missing).unwrap_or(Duration::MAX);
        Err(wait.saturating_add(Duration::from_micros(1)))
    }

    /// Whole tokens in the bucket.
    pub fn left(&self) -> u64 {
        self.tokens as u64
    }

    /// Capacity of a share. At least one token: with less, nothing would ever pass.
    fn capacity(&self, share: ReplicaShare) -> f64 {
        share.part(self.burst).max(1.0)
    }
}

#[cfg(test)]
mod tests;
