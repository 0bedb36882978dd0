//! How many requests are worked on at a time: who finds no slot is refused at once, not queued.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use super::arrival::Door;
use super::problem::Problem;
use crate::config::Limits;

/// Most requests of operators at a time. They have their own, so that they see a server that is full.
const OPERATOR_REQUESTS_MAX: usize = 16;

/// Most answers at a time that are made while they go out. Each holds a few pieces and perhaps the state of a
/// compression, some 400 KiB in all, for as long as its client reads.
const STREAMS_MAX: usize = 256;

/// Most of them that are one tenant's: who reads slowly must not keep the others from reading.
const STREAMS_OF_TENANT_MAX: usize = 64;

pub(crate) struct Slots {
    main: Semaphore,
    operator: Semaphore,
    streams: Arc<Semaphore>,
    tenants: Tenants,
}

/// How many long answers each tenant reads. Who reads none is not in here.
#[derive(Clone, Default)]
struct Tenants(Arc<Mutex<HashMap<String, usize>>>);

/// A place for a long answer, which is free again when this is dropped.
pub(crate) struct StreamPlace {
    tenants: Tenants,
    tenant: String,
    _all: OwnedSemaphorePermit,
}

impl Slots {
    pub(crate) fn new(limits: &Limits) -> Self {
        let n_main = usize::try_from(limits.concurrent_requests).unwrap_or(Semaphore::MAX_PERMITS);
        Self {
            main: Semaphore::new(n_main.min(Semaphore::MAX_PERMITS)),
            operator: Semaphore::new(OPERATOR_REQUESTS_MAX),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            tenants: Tenants::default(),
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
    pub(crate) fn take_stream(&self, tenant: &str) -> Result<StreamPlace, Problem> {
        let busy = || {
            Problem::unavailable("Busy", "too many long answers are being read, try again later")
        };
        let all = Arc::clone(&self.streams).try_acquire_owned().map_err(|_| busy())?;
        self.tenants.enter(tenant).ok_or_else(busy)?;
        Ok(StreamPlace { tenants: self.tenants.clone(), tenant: tenant.to_owned(), _all: all })
    }
}

impl Tenants {
    fn enter(&self, tenant: &str) -> Option<()> {
        let mut tenants = self.lock();
        let n_streams = tenants.entry(tenant.to_owned()).or_default();
        (*n_streams < STREAMS_OF_TENANT_MAX).then(|| *n_streams += 1)
    }

    fn leave(&self, tenant: &str) {
        let mut tenants = self.lock();
        if let Some(n_streams) = tenants.get_mut(tenant) {
            *n_streams -= 1;
            if *n_streams == 0 {
                tenants.remove(tenant);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        // Counts are whole whatever panicked beside them.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        self.tenants.leave(&self.tenant);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tenant_does_not_take_all_long_answers() {
        let slots = Slots::new(&Limits::default());
        let take = |tenant| slots.take_stream(tenant).map_err(|problem| problem.status.as_u16());
        let mut places: Vec<_> =
            (0..STREAMS_OF_TENANT_MAX).map(|_| take("acme").ok().unwrap()).collect();
        assert_eq!(take("acme").err(), Some(503));
        for tenant in ["b", "c", "d"] {
            places.extend((0..STREAMS_OF_TENANT_MAX).map(|_| take(tenant).ok().unwrap()));
        }
        assert_eq!(take("e").err(), Some(503), "and there is an end for all");
        drop(places.pop());
        assert!(take("e").is_ok());
        drop(places);
        assert!(slots.tenants.lock().is_empty(), "who reads nothing is not remembered");
    }
}
