//! Limits of concurrent requests: a request without a free slot is refused at once, not queued.

use std::collections::HashMap;
use std::sync::Arc;

use http::{StatusCode, header};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use super::connection_info::ListenerKind;
use crate::config::{Events, Limits};
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

/// Seconds after which a client may ask again for a stream of events: they end seldom.
const EVENT_STREAM_RETRY_SECONDS: &str = "5";

pub(crate) struct Slots {
    main: Semaphore,
    operator: Semaphore,
    streams: Arc<Semaphore>,
    tenant_streams: TenantLimit,
    event_streams: Arc<Semaphore>,
    tenant_event_streams: TenantLimit,
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
    pub(crate) fn new(limits: &Limits, events: &Events) -> Self {
        let at_most = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let n_main = usize::try_from(limits.concurrent_requests).unwrap_or(Semaphore::MAX_PERMITS);
        let n_main = n_main.min(Semaphore::MAX_PERMITS);
        let n_products = (n_main / PRODUCTS_OF_TENANT_SHARE).max(PRODUCTS_OF_TENANT_MIN);
        Self {
            main: Semaphore::new(n_main),
            operator: Semaphore::new(OPERATOR_REQUESTS_MAX),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            tenant_streams: TenantLimit::new(STREAMS_OF_TENANT_MAX),
            event_streams: Arc::new(Semaphore::new(
                at_most(events.streams).min(Semaphore::MAX_PERMITS),
            )),
            tenant_event_streams: TenantLimit::new(at_most(events.streams_of_tenant)),
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

    /// Takes a slot for a stream of events, which holds no request slot either.
    pub(crate) fn take_event_stream(&self, tenant: &str) -> Result<StreamSlot, Problem> {
        let max = self.tenant_event_streams.max;
        let of_tenant = self.tenant_event_streams.take(tenant).ok_or_else(|| {
            let detail = format!(
                "{max} streams of the tenant's events are open at this server, which is the most allowed; close one, \
                 or try again later"
            );
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "Too many streams", detail)
                .with(header::RETRY_AFTER, EVENT_STREAM_RETRY_SECONDS)
        })?;
        let all = Arc::clone(&self.event_streams).try_acquire_owned().map_err(|_| {
            let detail = "too many streams of events are open at this server, try again later";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "Busy", detail)
                .with(header::RETRY_AFTER, EVENT_STREAM_RETRY_SECONDS)
        })?;
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
        if n_taken.get(tenant).copied().unwrap_or_default() >= self.max {
            return None;
        }
        *n_taken.entry(tenant.to_owned()).or_default() += 1;
        Some(TenantSlot { limit: self.clone(), tenant: tenant.to_owned() })
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
        let slots = Slots::new(&Limits::default(), &Events::default());
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
    fn streams_of_events_have_limits_and_free_their_slots() {
        let events = Events { streams: 3, streams_of_tenant: 2, ..Events::default() };
        let slots = Slots::new(&Limits::default(), &events);
        let take = |tenant| slots.take_event_stream(tenant).map_err(|it| it.status.as_u16());
        let mut held = vec![take("acme").ok().unwrap(), take("acme").ok().unwrap()];
        assert_eq!(take("acme").err(), Some(429));
        held.push(take("rival").ok().unwrap());
        assert_eq!(take("rival").err(), Some(503), "all tenants together have a limit");
        assert!(slots.take_stream("acme").is_ok(), "lists have slots of their own");
        held.remove(0);
        held.push(take("rival").ok().unwrap());
        drop(held);
        assert!(slots.tenant_event_streams.n_taken.lock().is_empty());
    }

    #[test]
    fn one_tenants_product_requests_cannot_take_every_slot() {
        for (concurrent_requests, max) in [(1024, 256), (100, 25), (64, 16), (10, 16)] {
            let slots = Slots::new(
                &Limits { concurrent_requests, ..Limits::default() },
                &Events::default(),
            );
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
