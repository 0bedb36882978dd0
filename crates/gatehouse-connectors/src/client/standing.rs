//! Whether a platform may be called, by the results of the account's earlier calls.

use std::time::Duration;

use tokio::time::Instant;

use super::breaker::{Breaker, FAILURES_MAX, Pass, Shut, Verdict};
use crate::failure::{Failure, FailureKind};
use crate::meter::Circuit;

/// Longest pause that one response of a platform can cause.
pub(in crate::client) const QUIET_MAX: Duration = Duration::from_secs(60);

/// Circuit breaker, requested pause and latency of an account's platform.
#[derive(Default)]
pub(in crate::client) struct Standing {
    breaker: Breaker,
    /// Why the last call failed.
    why: String,
    /// End of the pause that the platform asked for.
    quiet_until: Option<Instant>,
    /// Recent slow latency: the maximum, which decays.
    usual: Duration,
}

/// A timeout after less time than this says nothing about the platform. The same holds for less than twice the recent
/// latency, up to the maximum.
pub(in crate::client) const CHANCE_MIN: Duration = Duration::from_millis(250);
const CHANCE_MAX: Duration = Duration::from_secs(5);

impl Standing {
    /// Whether a call may be made.
    pub(in crate::client) fn look(&self, now: Instant) -> Result<(), Failure> {
        if let Some(until) = self.quiet_until
            && now < until
        {
            let left = until - now;
            let words =
                format!("the platform wants to be left alone for another {}", seconds(left));
            return Err(Failure::new(FailureKind::Throttled, words).with_retry_after(Some(left)));
        }
        self.breaker.look(now).map_err(|shut| self.shut(shut))
    }

    /// Admits a call.
    pub(in crate::client) fn admit(&mut self, now: Instant) -> Result<Pass, Failure> {
        self.look(now)?;
        self.breaker.admit(now).map_err(|shut| self.shut(shut))
    }

    /// Records a call's verdict, and the reason if it failed.
    pub(in crate::client) fn settle(
        &mut self,
        pass: Pass,
        verdict: Verdict,
        why: &str,
        now: Instant,
    ) {
        if verdict == Verdict::Fails {
            why.clone_into(&mut self.why);
        }
        self.breaker.settle(pass, verdict, now);
    }

    /// Records the latency of a successful call.
    pub(in crate::client) fn took(&mut self, time: Duration) {
        // An old slow call loses its weight step by step.
        self.usual = time.max(self.usual * 9 / 10);
    }

    /// Time after which a timeout counts as the platform's failure.
    pub(in crate::client) fn chance(&self) -> Duration {
        (2 * self.usual).clamp(CHANCE_MIN, CHANCE_MAX)
    }

    /// End of the pause that the platform asked for.
    pub(in crate::client) fn quiet_until(&self) -> Option<Instant> {
        self.quiet_until
    }

    /// Pauses calls for as long as the platform asks, within bounds.
    pub(in crate::client) fn keep_quiet(&mut self, time: Duration, now: Instant) {
        self.quiet_until = self.quiet_until.max(Some(now + time.min(QUIET_MAX)));
    }

    /// State of the circuit, for metrics.
    pub(in crate::client) fn circuit(&self) -> Circuit {
        self.breaker.circuit()
    }

    /// The failure of a call that the breaker rejects.
    fn shut(&self, shut: Shut) -> Failure {
        let why = &self.why;
        let told = format!("it failed {FAILURES_MAX} times or more in a row, last because {why}");
        let (words, left) = match shut {
            Shut::For(left) => (
                format!("the platform is left alone for another {}: {told}", seconds(left)),
                Some(left),
            ),
            Shut::Probing => {
                (format!("the platform is just being tried again with another call: {told}"), None)
            }
        };
        Failure::new(FailureKind::Open, words).with_retry_after(left)
    }
}

/// A time in whole seconds, at least one.
fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64().ceil().max(1.0))
}
