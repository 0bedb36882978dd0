//! The circuit breaker: stops the calls of an account whose platform keeps failing.
//!
//! A state machine without a clock. Every call gets a [`Pass`] and returns it with a [`Verdict`]. A pass from before
//! the last state change has no effect.

use std::time::Duration;

use tokio::time::Instant;

use crate::meter::Circuit;

/// Consecutive failures that open the circuit.
pub(in crate::client) const FAILURES_TO_OPEN: u32 = 5;

/// Time until an open circuit lets a probe through.
pub(in crate::client) const OPEN_TIME: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(in crate::client) struct Breaker {
    state: State,
    /// Number of state changes.
    epoch: u64,
}

#[derive(Debug)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant },
    Probing,
}

impl Default for State {
    fn default() -> Self {
        Self::Closed { failures: 0 }
    }
}

/// Permission for one call.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(in crate::client) struct Pass {
    epoch: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::client) enum Rejected {
    /// The circuit stays open for this time.
    OpenFor(Duration),
    /// Another call is probing the platform.
    Probing,
}

/// The platform's health, as a call shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::client) enum Verdict {
    /// The platform responded.
    Works,
    /// The platform failed.
    Fails,
    /// The call was cancelled.
    Unknown,
}

impl Breaker {
    /// Whether a call would be admitted.
    pub(in crate::client) fn check(&self, now: Instant) -> Result<(), Rejected> {
        match self.state {
            State::Closed { .. } => Ok(()),
            State::Open { until } if until <= now => Ok(()),
            State::Open { until } => Err(Rejected::OpenFor(until - now)),
            State::Probing => Err(Rejected::Probing),
        }
    }

    /// Admits a call; when the open time has passed, one call as a probe.
    pub(in crate::client) fn admit(&mut self, now: Instant) -> Result<Pass, Rejected> {
        self.check(now)?;
        if let State::Open { .. } = self.state {
            self.change_to(State::Probing);
        }
        Ok(Pass { epoch: self.epoch })
    }

    pub(in crate::client) fn settle(&mut self, pass: Pass, verdict: Verdict, now: Instant) {
        if pass.epoch != self.epoch {
            return;
        }
        match (&mut self.state, verdict) {
            (State::Closed { failures }, Verdict::Works) => *failures = 0,
            (State::Closed { failures }, Verdict::Fails) => {
                *failures += 1;
                if *failures >= FAILURES_TO_OPEN {
                    self.change_to(State::Open { until: now + OPEN_TIME });
                }
            }
            (State::Probing, Verdict::Works) => self.change_to(State::default()),
            (State::Probing, Verdict::Fails) => {
                self.change_to(State::Open { until: now + OPEN_TIME });
            }
            // The next call probes instead.
            (State::Probing, Verdict::Unknown) => self.change_to(State::Open { until: now }),
            (State::Closed { .. }, Verdict::Unknown) | (State::Open { .. }, _) => {}
        }
    }

    /// State of the circuit, for metrics.
    pub(in crate::client) fn circuit(&self) -> Circuit {
        match self.state {
            State::Closed { .. } => Circuit::Closed,
            State::Probing => Circuit::HalfOpen,
            State::Open { .. } => Circuit::Open,
        }
    }

    fn change_to(&mut self, state: State) {
        self.state = state;
        self.epoch += 1;
    }
}

#[cfg(test)]
mod tests;
