//! How fast something may be done: a bucket of tokens that fills up over time.
//!
//! Where several servers share a rate, each has a bucket for its [`ReplicaShare`] of it. When the slice becomes
//! another, what was used stays used: the bucket is filled for the time before by the smaller of the two, and
//! only from then on by the new one. So whoever gets a larger slice finds no second burst in it.

use std::time::Duration;

use crate::rate::replica_share::ReplicaShare;

/// Tokens. It knows no clock, and is told how much time has passed.
#[derive(Clone, Debug)]
pub struct Bucket {
    per_second: f64,
    burst: f64,
    tokens: f64,
    slice: ReplicaShare,
}

impl Bucket {
    /// A full one: the slice of a bucket that holds `burst` tokens and gets `per_second` of them, with room
    /// for one token at least.
    pub fn full(per_second: f64, burst: f64, slice: ReplicaShare) -> Self {
        // What is no number lets nothing through, and what has no end stays one that can be counted with.
        let per_second = if per_second.is_nan() { 0.0 } else { per_second.clamp(0.0, f64::MAX) };
        let bucket = Self { per_second, burst, tokens: 0.0, slice };
        Self { tokens: bucket.room(slice), ..bucket }
    }

    /// Fills it for the time that has passed, and goes on with this slice.
    pub fn fill(&mut self, slice: ReplicaShare, passed: Duration) {
        let narrower = self.slice.narrower(slice);
        let come = passed.as_secs_f64() * narrower.part(self.per_second);
        self.tokens = (self.tokens + come).min(self.room(narrower));
        self.slice = slice;
    }

    /// Takes a token, or tells how long it takes until there is one.
    pub fn take(&mut self) -> Result<(), Duration> {
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        let missing = (1.0 - self.tokens) / self.slice.part(self.per_second);
        // A little longer than that: what is rounded must not be too early.
        let wait = Duration::try_from_secs_f64(missing).unwrap_or(Duration::MAX);
        Err(wait.saturating_add(Duration::from_micros(1)))
    }

    /// Whole tokens that are left.
    pub fn left(&self) -> u64 {
        self.tokens as u64
    }

    /// A slice of little is one token: without room for that, nothing would ever pass.
    fn room(&self, slice: ReplicaShare) -> f64 {
        slice.part(self.burst).max(1.0)
    }
}

#[cfg(test)]
mod tests;
