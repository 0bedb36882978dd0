//! How many requests are worked on at a time: who finds no slot is refused at once, not queued.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use super::arrival::Door;
use super::problem::Problem;
use crate::config::Limits;

/// Most requests of operators at a time. They have their own, so that they see a server that is full.
const OPERATOR_REQUESTS_MAX: usize = 16;

/// Most answers at a time that are made while they go out. Each holds a few pieces and perhaps the state of a
/// compression, some 400 KiB in all, for as long as its client reads.
const STREAMS_MAX: usize = 256;

pub(crate) struct Slots {
    main: Semaphore,
    operator: Semaphore,
    streams: Arc<Semaphore>,
}

impl Slots {
    pub(crate) fn new(limits: &Limits) -> Self {
        let n_main = usize::try_from(limits.concurrent_requests).unwrap_or(Semaphore::MAX_PERMITS);
        Self {
            main: Semaphore::new(n_main.min(Semaphore::MAX_PERMITS)),
            operator: Semaphore::new(OPERATOR_REQUESTS_MAX),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
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

    /// A place for an answer that is made while it goes out, which takes no slot meanwhile.
    pub(crate) fn take_stream(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.streams).try_acquire_owned().map_err(|_| {
            Problem::unavailable("Busy", "too many long answers are being read, try again later")
        })
    }
}
