//! The circuit breaker: a platform that fails again and again is left alone for a while.
//!
//! A state machine that knows no clock. Every call asks for a [`Pass`] and hands it back with what came
//! of it; a pass of a time that is over (the circuit has opened or closed since) changes nothing.

use std::time::Duration;

use tokio::time::Instant;

use crate::meter::Circuit;

/// Failures without a success between them that open the circuit.
pub(in crate::client) const FAILURES_MAX: u32 = 5;

/// How long a platform is left alone before it is tried again.
pub(in crate::client) const OPEN_TIME: Duration = Duration::from_secs(10);

/// Whether calls are let through.
#[derive(Debug, Default)]
pub(in crate::client) struct Breaker {
    state: State,
    /// How often the state has changed.
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

/// A call that was let through.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(in crate::client) struct Pass {
    epoch: u64,
}

/// Why a call is not let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::client) enum Shut {
    /// The platform is left alone for so long still.
    For(Duration),
    /// Another call is finding out whether it works again.
    Probing,
}

/// What came of a call that was let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::client) enum Verdict {
    /// The platform is there.
    Works,
    /// It failed.
    Fails,
    /// Nobody waited for it.
    Unknown,
}

impl Breaker {
    /// Whether a call would be let through.
    pub(in crate::client) fn look(&self, now: Instant) -> Result<(), Shut> {
        match self.state {
            State::Closed { .. } => Ok(()),
            State::Open { until } if until <= now => Ok(()),
            State::Open { until } => Err(Shut::For(until - now)),
            State::Probing => Err(Shut::Probing),
        }
    }

    /// Lets a call through; after a while of silence, one that finds out.
    pub(in crate::client) fn admit(&mut self, now: Instant) -> Result<Pass, Shut> {
        self.look(now)?;
        if let State::Open { .. } = self.state {
            self.turn(State::Probing);
        }
        Ok(Pass { epoch: self.epoch })
    }

    /// Takes what came of a call.
    pub(in crate::client) fn settle(&mut self, pass: Pass, verdict: Verdict, now: Instant) {
        if pass.epoch != self.epoch {
            return;
        }
        match (&mut self.state, verdict) {
            (State::Closed { failures }, Verdict::Works) => *failures = 0,
            (State::Closed { failures }, Verdict::Fails) => {
                *failures += 1;
                if *failures >= FAILURES_MAX {
                    self.turn(State::Open { until: now + OPEN_TIME });
                }
            }
            (State::Probing, Verdict::Works) => self.turn(State::default()),
            (State::Probing, Verdict::Fails) => {
                self.turn(State::Open { until: now + OPEN_TIME });
            }
            // The next call finds out instead.
            (State::Probing, Verdict::Unknown) => self.turn(State::Open { until: now }),
            (State::Closed { .. }, Verdict::Unknown) | (State::Open { .. }, _) => {}
        }
    }

    /// What the circuit looks like.
    pub(in crate::client) fn circuit(&self) -> Circuit {
        match self.state {
            State::Closed { .. } => Circuit::Closed,
            State::Probing => Circuit::HalfOpen,
            State::Open { .. } => Circuit::Open,
        }
    }

    fn turn(&mut self, state: State) {
        self.state = state;
        self.epoch += 1;
    }
}

#[cfg(test)]
mod tests;
