//! Rate limit of a platform: a token bucket that holds the requests of one second.

use tokio::time::Instant;

/// The requests that are left in the bucket.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    level: f64,
    since: Option<Instant>,
}

impl Throttle {
    /// Takes one request from the bucket; `false` if none is left. A rate of zero is no limit.
    pub(super) fn take(&mut self, now: Instant, per_second: u32) -> bool {
        if per_second == 0 {
            self.since = None;
            return true;
        }
        let full = f64::from(per_second);
        self.level = match self.since {
            Some(since) => {
                let elapsed = now.saturating_duration_since(since).as_secs_f64();
                full.min(self.level + elapsed * full)
            }
            None => full,
        };
        self.since = Some(now);
        let is_allowed = self.level >= 1.0;
        if is_allowed {
            self.level -= 1.0;
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests;
