//! How often an account may be asked: a bucket of tokens, which fills up over time.

use std::time::Duration;

use tokio::time::Instant;

/// Tokens for calls. It knows no clock.
#[derive(Debug)]
pub(super) struct Bucket {
    per_second: f64,
    burst: f64,
    tokens: f64,
    /// When `tokens` was right.
    at: Instant,
}

impl Bucket {
    /// A full one, with room for one token at least.
    pub(super) fn new(per_second: f64, burst: u32, now: Instant) -> Self {
        let burst = f64::from(burst.max(1));
        // What is no number lets nothing through, and what has no end stays one that can be counted with.
        let per_second = if per_second.is_nan() { 0.0 } else { per_second.clamp(0.0, f64::MAX) };
        Self { per_second, burst, tokens: burst, at: now }
    }

    /// Takes a token, or tells how long it takes until there is one.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + passed * self.per_second).min(self.burst);
        self.at = self.at.max(now);
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        let missing = (1.0 - self.tokens) / self.per_second;
        // A little longer than that: what is rounded must not be too early.
        let wait = Duration::try_from_secs_f64(missing).unwrap_or(Duration::MAX);
        Err(wait.saturating_add(Duration::from_micros(1)))
    }
}

#[cfg(test)]
mod tests;
