//! How many requests are worked on at a time: who finds no slot is refused at once, not queued.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use super::arrival::Door;
use crate::config::Limits;
use crate::http::answer::problem::Problem;

/// Most requests of operators at a time. They have their own, so that they see a server that is full.
const OPERATOR_REQUESTS_MAX: usize = 16;

/// Most answers at a time that are made while they go out. Each holds a few pieces and perhaps the state of a
/// compression, some 900 KiB in all, for as long as its client reads.
const STREAMS_MAX: usize = 256;

/// Most of them that are one tenant's: who reads slowly must not keep the others from reading.
const STREAMS_OF_TENANT_MAX: usize = 64;

/// One in so many slots is for requests for products of one tenant: they wait for platforms, and whose platforms
/// are slow must not keep the others from asking theirs.
const PRODUCTS_OF_TENANT_SHARE: usize = 4;

/// How many they may always be, where there are few slots.
const PRODUCTS_OF_TENANT_MIN: usize = 16;

pub(crate) struct Slots {
    main: Semaphore,
    operator: Semaphore,
    streams: Arc<Semaphore>,
    streams_of_tenants: Tenants,
    products_of_tenants: Tenants,
}

/// How many places each tenant has. Who has none is not in here.
#[derive(Clone)]
struct Tenants {
    n_places: Arc<Mutex<HashMap<String, usize>>>,
    /// Most that one may have.
    max: usize,
}

/// One of a tenant's places, which is free again when this is dropped.
pub(crate) struct TenantPlace {
    tenants: Tenants,
    tenant: String,
}

/// A place for a long answer, which is free again when this is dropped.
pub(crate) struct StreamPlace {
    _of_tenant: TenantPlace,
    _all: OwnedSemaphorePermit,
}

impl Slots {
    pub(crate) fn new(limits: &Limits) -> Self {
        let n_main = usize::try_from(limits.concurrent_requests).unwrap_or(Semaphore::MAX_PERMITS);
        let n_main = n_main.min(Semaphore::MAX_PERMITS);
        let n_products = (n_main / PRODUCTS_OF_TENANT_SHARE).max(PRODUCTS_OF_TENANT_MIN);
        Self {
            main: Semaphore::new(n_main),
            operator: Semaphore::new(OPERATOR_REQUESTS_MAX),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            streams_of_tenants: Tenants::new(STREAMS_OF_TENANT_MAX),
            products_of_tenants: Tenants::new(n_products),
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
        let of_tenant = self.streams_of_tenants.enter(tenant).ok_or_else(busy)?;
        Ok(StreamPlace { _of_tenant: of_tenant, _all: all })
    }

    /// A place for a request that waits for a tenant's platforms, beside its slot.
    pub(crate) fn take_products(&self, tenant: &str) -> Result<TenantPlace, Problem> {
        self.products_of_tenants.enter(tenant).ok_or_else(|| {
            let max = self.products_of_tenants.max;
            let detail = format!(
                "{max} requests for products of tenant `{tenant}` are being worked on, which is as many as \
                 there may be; try again later"
            );
            Problem::unavailable("Busy", detail)
        })
    }
}

impl Tenants {
    fn new(max: usize) -> Self {
        Self { n_places: Arc::default(), max }
    }

    fn enter(&self, tenant: &str) -> Option<TenantPlace> {
        let mut n_places = self.n_places.lock();
        let n_own = n_places.entry(tenant.to_owned()).or_default();
        let is_free = *n_own < self.max;
        is_free.then(|| {
            *n_own += 1;
            TenantPlace { tenants: self.clone(), tenant: tenant.to_owned() }
        })
    }

    fn leave(&self, tenant: &str) {
        let mut n_places = self.n_places.lock();
        if let Some(n_own) = n_places.get_mut(tenant) {
            *n_own -= 1;
            if *n_own == 0 {
                n_places.remove(tenant);
            }
        }
    }
}

impl Drop for TenantPlace {
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
        assert!(
            slots.streams_of_tenants.n_places.lock().is_empty(),
            "who reads nothing is not remembered"
        );
    }

    #[test]
    fn one_tenant_does_not_take_all_requests_with_its_products() {
        for (concurrent_requests, max) in [(1024, 256), (100, 25), (64, 16), (10, 16)] {
            let slots = Slots::new(&Limits { concurrent_requests, ..Limits::default() });
            let take = |tenant| slots.take_products(tenant).map_err(|it| it.status.as_u16());
            let mut places: Vec<_> = (0..max).map(|_| take("acme").ok().unwrap()).collect();
            assert_eq!(take("acme").err(), Some(503), "of {concurrent_requests}");
            assert!(take("rival").is_ok(), "of {concurrent_requests}");
            drop(places.pop());
            places.push(take("acme").ok().unwrap());
            assert_eq!(take("acme").err(), Some(503), "of {concurrent_requests}");
            drop(places);
            assert!(
                slots.products_of_tenants.n_places.lock().is_empty(),
                "who asks nothing is not remembered"
            );
        }
    }
}
