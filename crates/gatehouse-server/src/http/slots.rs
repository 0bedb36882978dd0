//! How many requests are worked on at a time: who finds no slot is refused at once, not queued.

use tokio::sync::{Semaphore, SemaphorePermit};

use super::arrival::Door;
use super::problem::Problem;
use crate::config::Limits;

/// Most requests of operators at a time. They have their own, so that they see a server that is full.
const OPERATOR_REQUESTS_MAX: usize = 16;

pub(crate) struct Slots {
    main: Semaphore,
    operator: Semaphore,
}

impl Slots {
    pub(crate) fn new(limits: &Limits) -> Self {
        let n_main = usize::try_from(limits.concurrent_requests).unwrap_or(Semaphore::MAX_PERMITS);
        Self {
            main: Semaphore::new(n_main.min(Semaphore::MAX_PERMITS)),
            operator: Semaphore::new(OPERATOR_REQUESTS_MAX),
        }
    }

    /// A slot, which is free again when this is dropped.
    pub(crate) fn take(&self, door: Door) -> Result<SemaphorePermit<'_>, Problem> {
        let slots = match door {
            Door::Main => &self.main,
            Door::Operator => &self.operator,
        };
        slots.try_acquire().map_err(|_| {
            Problem::unavailable("Busy", "too many requests are being worked on, try again later")
        })
    }
}
