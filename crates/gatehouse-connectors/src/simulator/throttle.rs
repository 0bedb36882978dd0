//! How often a platform lets itself be asked: so many times a second, which may come at once.

use tokio::time::Instant;

/// What is left of a second's requests.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    level: f64,
    since: Option<Instant>,
}

impl Throttle {
    /// Takes one request, if there is one left; at a rate of zero there always is.
    pub(super) fn take(&mut self, now: Instant, per_second: u32) -> bool {
        if per_second == 0 {
            self.since = None;
            return true;
        }
        let full = f64::from(per_second);
        self.level = match self.since {
            Some(since) => {
                let passed = now.saturating_duration_since(since).as_secs_f64();
                full.min(self.level + passed * full)
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
