//! How long an account's platform takes to answer, of late.
//!
//! The median of the last answers: one that was slow by chance changes nothing, and a platform that has become
//! slow shows before long. The histogram of the `meter` has all of them, for those who watch the server.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

/// How many answers are kept in mind: an odd number, so that one is in the middle, and so few that the calls in
/// vain that open a circuit are most of them.
pub const LATENCY_ANSWERS: usize = 9;

/// How long an account's answers take. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latency(Arc<Mutex<Answers>>);

#[derive(Debug, Default)]
struct Answers {
    /// How long the last ones took, in no order.
    took: [Duration; LATENCY_ANSWERS],
    n: usize,
}

impl Latency {
    /// Takes how long an answer took, in place of the oldest.
    pub(crate) fn take(&self, time: Duration) {
        let mut answers = self.0.lock();
        let oldest = answers.n % LATENCY_ANSWERS;
        answers.took[oldest] = time;
        answers.n += 1;
    }

    /// How long an answer takes, once there was one.
    pub(crate) fn median(&self) -> Option<Duration> {
        let Answers { mut took, n } = *self.0.lock();
        let known = &mut took[..n.min(LATENCY_ANSWERS)];
        known.sort_unstable();
        known.get(known.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests;
