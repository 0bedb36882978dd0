//! What the calls of an account so far have shown: whether its platform may be asked.

use std::time::Duration;

use tokio::time::Instant;

use super::breaker::{Breaker, FAILURES_MAX, Pass, Shut, Verdict};
use crate::failure::{Failure, FailureKind};
use crate::meter::Circuit;

/// The longest that an account isn't asked because its platform said so once.
pub(in crate::client) const QUIET_MAX: Duration = Duration::from_secs(60);

/// What the calls so far have shown.
#[derive(Default)]
pub(in crate::client) struct Standing {
    breaker: Breaker,
    /// What the last call failed with.
    why: String,
    /// Until when the platform wants to be left alone.
    quiet_until: Option<Instant>,
    /// How long it takes when it is slow, of late.
    usual: Duration,
}

/// A call that had less time than this and got no answer says nothing about the platform, however fast that
/// usually is; nor does one that had less than twice the usual time, up to so much.
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

    /// Lets a call through.
    pub(in crate::client) fn admit(&mut self, now: Instant) -> Result<Pass, Failure> {
        self.look(now)?;
        self.breaker.admit(now).map_err(|shut| self.shut(shut))
    }

    /// Takes what came of a call; why, where it failed.
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

    /// Takes how long a call took that was answered.
    pub(in crate::client) fn took(&mut self, time: Duration) {
        // What was slow once is forgotten by and by.
        self.usual = time.max(self.usual * 9 / 10);
    }

    /// How much time a platform needs to show that it is well.
    pub(in crate::client) fn chance(&self) -> Duration {
        (2 * self.usual).clamp(CHANCE_MIN, CHANCE_MAX)
    }

    /// Until when the platform wants to be left alone.
    pub(in crate::client) fn quiet_until(&self) -> Option<Instant> {
        self.quiet_until
    }

    /// Leaves the platform alone for as long as it wants, within bounds.
    pub(in crate::client) fn keep_quiet(&mut self, time: Duration, now: Instant) {
        self.quiet_until = self.quiet_until.max(Some(now + time.min(QUIET_MAX)));
    }

    /// What the circuit looks like.
    pub(in crate::client) fn circuit(&self) -> Circuit {
        self.breaker.circuit()
    }

    /// Why a call is not let through, and for how long still.
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

/// A time in words: whole seconds, and never none.
fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64().ceil().max(1.0))
}
