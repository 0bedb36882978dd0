//! Points at which a test may interrupt work on a Task, to see that it is taken up again.

use std::sync::Arc;

/// A named point of a worker's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    /// It has the lease, and nothing else.
    Claimed,
    /// It has read what the client sent.
    Prepared,
    /// It has hashed passwords.
    Hashed,
    /// It has written everything, and not committed.
    BeforeCommit,
    /// It has committed, and does not know it yet.
    AfterCommit,
}

impl Point {
    /// Every point, in the order of a step.
    pub const ALL: [Self; 5] =
        [Self::Claimed, Self::Prepared, Self::Hashed, Self::BeforeCommit, Self::AfterCommit];
}

type Interrupts = dyn Fn(Point) -> bool + Send + Sync;

/// Asks at every point whether to go on. Outside of tests it always is.
#[derive(Clone, Default)]
pub struct Probe(Option<Arc<Interrupts>>);

impl Probe {
    /// One that ends the work wherever `interrupts` says so.
    pub fn new(interrupts: impl Fn(Point) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(interrupts)))
    }

    /// Passes a point, or ends there.
    pub fn pass(&self, point: Point) -> Result<(), Point> {
        match &self.0 {
            Some(interrupts) if interrupts(point) => Err(point),
            _ => Ok(()),
        }
    }
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Probe(…)" } else { "Probe" })
    }
}
