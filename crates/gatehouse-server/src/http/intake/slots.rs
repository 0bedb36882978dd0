//! Limits of concurrent requests: a request without a free slot is refused at once, not queued.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use super::connection_info::ListenerKind;
use crate::config::Limits;
use crate::http::answer::problem::Problem;

/// Most concurrent requests on the operator listener. Their slots are separate, so that operators can see a full server.
const OPERATOR_REQUESTS_MAX: usize = 16;

/// Most concurrent streamed responses. Each holds a few chunks and perhaps a gzip encoder, some 900 KiB in all, for as
/// long as its client reads.
const STREAMS_MAX: usize = 256;

/// Most concurrent streamed responses of one tenant: its slow readers must not block other tenants.
const STREAMS_OF_TENANT_MAX: usize = 64;

/// Divisor of all slots that gives one tenant's product requests: they wait for its platforms, and slow platforms must
/// not block other tenants.
const PRODUCTS_OF_TENANT_SHARE: usize = 4;

/// Product requests that each tenant may always have, also on a server with few slots.
const PRODUCTS_OF_TENANT_MIN: usize = 16;

pub(crate) struct Slots {
    main: Semaphore,
    operator: Semaphore,
    streams: Arc<Semaphore>,
    tenant_streams: TenantLimit,
    tenant_products: TenantLimit,
}

/// A limit of slots for each tenant. Counts only tenants that hold a slot.
#[derive(Clone)]
struct TenantLimit {
    n_taken: Arc<Mutex<HashMap<String, usize>>>,
    /// Most slots of one tenant.
    max: usize,
}

/// A slot of one tenant; dropping it frees the slot.
pub(crate) struct TenantSlot {
    limit: TenantLimit,
    tenant: String,
}

/// A slot for a streamed response; dropping it frees the slot.
pub(crate) struct StreamSlot {
    _of_tenant: TenantSlot,
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
            tenant_streams: TenantLimit::new(STREAMS_OF_TENANT_MAX),
            tenant_products: TenantLimit::new(n_products),
        }
    }

    pub(crate) fn take(&self, listener: ListenerKind) -> Result<SemaphorePermit<'_>, Problem> {
        let slots = match listener {
            ListenerKind::Main => &self.main,
            ListenerKind::Operator => &self.operator,
        };
        slots.try_acquire().map_err(|_| {
            Problem::unavailable("Busy", "too many requests are being worked on, try again later")
        })
    }

    /// Takes a slot for a streamed response, which holds no request slot while it streams.
    pub(crate) fn take_stream(&self, tenant: &str) -> Result<StreamSlot, Problem> {
        let busy = || {
            Problem::unavailable("Busy", "too many long responses are being read, try again later")
        };
        let all = Arc::clone(&self.streams).try_acquire_owned().map_err(|_| busy())?;
        let of_tenant = self.tenant_streams.take(tenant).ok_or_else(busy)?;
        Ok(StreamSlot { _of_tenant: of_tenant, _all: all })
    }

    /// Takes a slot for a request that waits for the tenant's platforms, in addition to its request slot.
    pub(crate) fn take_products(&self, tenant: &str) -> Result<TenantSlot, Problem> {
        self.tenant_products.take(tenant).ok_or_else(|| {
            let max = self.tenant_products.max;
            let detail = format!(
                "{max} requests for products of tenant `{tenant}` are being worked on, which is the most \
                 allowed; try again later"
            );
            Problem::unavailable("Busy", detail)
        })
    }
}

impl TenantLimit {
    fn new(max: usize) -> Self {
        Self { n_taken: Arc::default(), max }
    }

    fn take(&self, tenant: &str) -> Option<TenantSlot> {
        let mut n_taken = self.n_taken.lock();
        let n_of_tenant = n_taken.entry(tenant.to_owned()).or_default();
        let is_free = *n_of_tenant < self.max;
        is_free.then(|| {
            *n_of_tenant += 1;
            TenantSlot { limit: self.clone(), tenant: tenant.to_owned() }
        })
    }

    fn release(&self, tenant: &str) {
        let mut n_taken = self.n_taken.lock();
        if let Some(n_of_tenant) = n_taken.get_mut(tenant) {
            *n_of_tenant -= 1;
            if *n_of_tenant == 0 {
                n_taken.remove(tenant);
            }
        }
    }
}

impl Drop for TenantSlot {
    fn drop(&mut self) {
        self.limit.release(&self.tenant);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tenant_cannot_take_every_stream_slot() {
        let slots = Slots::new(&Limits::default());
        let take = |tenant| slots.take_stream(tenant).map_err(|problem| problem.status.as_u16());
        let mut held: Vec<_> =
            (0..STREAMS_OF_TENANT_MAX).map(|_| take("acme").ok().unwrap()).collect();
        assert_eq!(take("acme").err(), Some(503));
        for tenant in ["b", "c", "d"] {
            held.extend((0..STREAMS_OF_TENANT_MAX).map(|_| take(tenant).ok().unwrap()));
        }
        assert_eq!(take("e").err(), Some(503), "all tenants together have a limit");
        drop(held.pop());
        assert!(take("e").is_ok());
        drop(held);
        assert!(slots.tenant_streams.n_taken.lock().is_empty(), "an idle tenant has no entry");
    }

    #[test]
    fn one_tenants_product_requests_cannot_take_every_slot() {
        for (concurrent_requests, max) in [(1024, 256), (100, 25), (64, 16), (10, 16)] {
            let slots = Slots::new(&Limits { concurrent_requests, ..Limits::default() });
            let take = |tenant| slots.take_products(tenant).map_err(|it| it.status.as_u16());
            let mut held: Vec<_> = (0..max).map(|_| take("acme").ok().unwrap()).collect();
            assert_eq!(take("acme").err(), Some(503), "of {concurrent_requests}");
            assert!(take("rival").is_ok(), "of {concurrent_requests}");
            drop(held.pop());
            held.push(take("acme").ok().unwrap());
            assert_eq!(take("acme").err(), Some(503), "of {concurrent_requests}");
            drop(held);
            assert!(slots.tenant_products.n_taken.lock().is_empty(), "an idle tenant has no entry");
        }
    }
}
