//! Whether a platform may be called, by the results of the account's earlier calls.

use std::time::Duration;

use tokio::time::Instant;

use super::breaker::{Breaker, FAILURES_TO_OPEN, Pass, Rejected, Verdict};
use crate::failure::{Failure, FailureKind};
use crate::meter::Circuit;

/// Longest pause that one response of a platform can cause.
pub(in crate::client) const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Circuit breaker, requested pause and latency of an account's platform.
#[derive(Default)]
pub(in crate::client) struct CallGate {
    breaker: Breaker,
    last_failure: String,
    /// End of the pause that the platform asked for.
    paused_until: Option<Instant>,
    /// Maximum of recent latencies, which decays with each call.
    recent_latency: Duration,
}

/// A timeout after less time than this says nothing about the platform. The same holds for less than twice the recent
/// latency, up to the maximum.
pub(in crate::client) const COUNTED_TIMEOUT_MIN: Duration = Duration::from_millis(250);
const COUNTED_TIMEOUT_MAX: Duration = Duration::from_secs(5);

impl CallGate {
    /// Whether a call may be made.
    pub(in crate::client) fn check(&self, now: Instant) -> Result<(), Failure> {
        if let Some(until) = self.paused_until
            && now < until
        {
            let remaining = until - now;
            let message =
                format!("the platform asks for a pause of another {}", seconds(remaining));
            return Err(
                Failure::new(FailureKind::Throttled, message).with_retry_after(Some(remaining))
            );
        }
        self.breaker.check(now).map_err(|rejected| self.rejected(rejected))
    }

    pub(in crate::client) fn admit(&mut self, now: Instant) -> Result<Pass, Failure> {
        self.check(now)?;
        self.breaker.admit(now).map_err(|rejected| self.rejected(rejected))
    }

    /// Records a call's verdict, and the reason if it failed.
    pub(in crate::client) fn settle(
        &mut self,
        pass: Pass,
        verdict: Verdict,
        reason: &str,
        now: Instant,
    ) {
        if verdict == Verdict::Fails {
            reason.clone_into(&mut self.last_failure);
        }
        self.breaker.settle(pass, verdict, now);
    }

    /// Records the latency of a successful call.
    pub(in crate::client) fn record_latency(&mut self, time: Duration) {
        // An old slow call loses its weight step by step.
        self.recent_latency = time.max(self.recent_latency * 9 / 10);
    }

    /// Time after which a timeout counts as the platform's failure.
    pub(in crate::client) fn timeout_that_counts(&self) -> Duration {
        (2 * self.recent_latency).clamp(COUNTED_TIMEOUT_MIN, COUNTED_TIMEOUT_MAX)
    }

    /// End of the pause that the platform asked for.
    pub(in crate::client) fn paused_until(&self) -> Option<Instant> {
        self.paused_until
    }

    /// Pauses calls for as long as the platform asks, within bounds.
    pub(in crate::client) fn pause_for(&mut self, time: Duration, now: Instant) {
        self.paused_until = self.paused_until.max(Some(now + time.min(PAUSE_MAX)));
    }

    /// State of the circuit, for metrics.
    pub(in crate::client) fn circuit(&self) -> Circuit {
        self.breaker.circuit()
    }

    /// The failure of a call that the breaker rejects.
    fn rejected(&self, rejected: Rejected) -> Failure {
        let last_failure = &self.last_failure;
        let reason = format!(
            "the platform failed {FAILURES_TO_OPEN} times or more in a row, last because {last_failure}"
        );
        let (message, remaining) = match rejected {
            Rejected::OpenFor(remaining) => (
                format!("the circuit is open for another {}: {reason}", seconds(remaining)),
                Some(remaining),
            ),
            Rejected::Probing => (format!("another call is probing the platform: {reason}"), None),
        };
        Failure::new(FailureKind::Open, message).with_retry_after(remaining)
    }
}

/// A time in whole seconds, at least one.
fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64().ceil().max(1.0))
}
