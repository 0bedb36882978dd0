//! Failpoints, at which a test interrupts the work on a Task to see that it is resumed correctly.

use std::sync::Arc;

/// A named point in a worker's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failpoint {
    /// The worker has the lease, and has done nothing else.
    Claimed,
    /// The worker has read the client's items.
    Prepared,
    /// The worker has hashed the passwords.
    Hashed,
    /// The worker has written everything, and not committed.
    BeforeCommit,
    /// The worker has committed, and doesn't know it yet.
    AfterCommit,
}

impl Failpoint {
    /// Every failpoint, in the order of a step.
    pub const ALL: [Self; 5] =
        [Self::Claimed, Self::Prepared, Self::Hashed, Self::BeforeCommit, Self::AfterCommit];
}

type Interrupts = dyn Fn(Failpoint) -> bool + Send + Sync;

/// Decides at every failpoint whether to interrupt the work. By default it never does.
#[derive(Clone, Default)]
pub struct Failpoints(Option<Arc<Interrupts>>);

impl Failpoints {
    /// Interrupts the work at every failpoint for which `interrupts` returns true.
    pub fn new(interrupts: impl Fn(Failpoint) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(interrupts)))
    }

    /// Returns the failpoint as an error where the work is to be interrupted.
    pub fn pass(&self, point: Failpoint) -> Result<(), Failpoint> {
        match &self.0 {
            Some(interrupts) if interrupts(point) => Err(point),
            _ => Ok(()),
        }
    }
}

impl std::fmt::Debug for Failpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Failpoints(…)" } else { "Failpoints" })
    }
}
