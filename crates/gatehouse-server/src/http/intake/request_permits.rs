//! Fair permits for requests, so that one tenant's flood delays the other tenants little.
//!
//! The runtime polls requests in order of arrival. Without permits, a request would wait behind all earlier ones of
//! another tenant: most reads of the embedded store finish within one poll, and the first poll of a change prepares all
//! of it. With permits, the server starts few requests of a tenant at a time, and the rest of a flood waits in that
//! tenant's queue. Each request yields to the runtime before it starts, so that new requests reach their queues.

use std::future::poll_fn;
use std::num::NonZero;
use std::pin::pin;
use std::thread;

use gatehouse_core::TenantName;
use gatehouse_fair_semaphore::{Capacity, FairSemaphore, Permit};
use gatehouse_vault::Disconnection;
use tokio::task::yield_now;

use crate::config::Limits;
use crate::http::answer::problem::Problem;

/// Concurrent changes of one tenant, and reads on PostgreSQL. Most wait for the writer, a slow hash or PostgreSQL, and
/// creations that wait together share a commit. Requests of the tenant's admins have the same limit.
const AT_ONCE_OF_TENANT: usize = 64;

/// Divisor of all concurrent requests that gives those which one tenant's checks leave to other requests.
const CHECKS_LEAVE: usize = 4;

/// Concurrent first polls of one kind and one tenant, per core: one runs, and the next is ready.
const FIRST_POLLS_PER_CORE: usize = 2;

/// Tenants that can have all of their first polls at the same time, so that a tenant with few requests doesn't wait.
const TENANTS_AT_ONCE: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// Reads of accesses, contracts and Tasks.
    Read,
    Change,
    Check,
    /// Requests to the tenant's platforms.
    Products,
    Administration,
}

/// Permits for all requests. Each kind has separate queues, so that no request waits behind a flood of another kind.
pub(crate) struct RequestPermits {
    reads: KindSemaphores,
    changes: KindSemaphores,
    checks: KindSemaphores,
    products: KindSemaphores,
    administration: KindSemaphores,
}

struct KindSemaphores {
    first_polls: FairSemaphore,
    /// Held from the start of a request to its end.
    whole: Option<FairSemaphore>,
}

#[derive(Default)]
pub(crate) struct RequestPermit {
    /// Released after the handler's first poll.
    first_poll: Option<Permit>,
    /// Released with the end of the request.
    whole: Option<Permit>,
}

impl RequestPermits {
    /// Bounds each tenant's queues by the limit of all concurrent requests.
    pub(crate) fn new(limits: &Limits, is_embedded: bool) -> Self {
        let n_max = usize::try_from(limits.concurrent_requests).unwrap_or(usize::MAX);
        let of = |at_once: usize, at_once_of_tenant: usize| {
            let waiting_of_tenant = n_max.saturating_sub(at_once_of_tenant);
            FairSemaphore::new(Capacity {
                at_once,
                at_once_of_tenant,
                waiting_of_tenant,
                waiting: n_max,
            })
        };
        let n_cores = thread::available_parallelism().map_or(1, NonZero::get);
        let n_polls = FIRST_POLLS_PER_CORE * n_cores;
        let first_polls = || of(TENANTS_AT_ONCE * n_polls, n_polls);
        let whole_of = |at_once_of_tenant| Some(of(usize::MAX, at_once_of_tenant));
        let kind = |whole| KindSemaphores { first_polls: first_polls(), whole };
        Self {
            // Most reads of the embedded store end with their first poll.
            reads: kind(if is_embedded { None } else { whole_of(AT_ONCE_OF_TENANT) }),
            changes: kind(whole_of(AT_ONCE_OF_TENANT)),
            // Some checks wait for a slow hash, and the tenant's other devices must not wait with them.
            checks: kind(whole_of((n_max - n_max / CHECKS_LEAVE).max(AT_ONCE_OF_TENANT))),
            // `slots` limits these.
            products: kind(None),
            administration: kind(whole_of(AT_ONCE_OF_TENANT)),
        }
    }

    /// Waits for the permits of a request; fails when the client disconnects. A request without a kind needs none.
    pub(crate) async fn take(
        &self,
        tenant: Option<&TenantName>,
        kind: Option<RequestKind>,
        client: &impl Disconnection,
    ) -> Result<RequestPermit, Problem> {
        let kind = kind.map(|kind| match kind {
            RequestKind::Read => &self.reads,
            RequestKind::Change => &self.changes,
            RequestKind::Check => &self.checks,
            RequestKind::Products => &self.products,
            RequestKind::Administration => &self.administration,
        });
        let (Some(tenant), Some(kind)) = (tenant, kind) else {
            return Ok(RequestPermit::default());
        };
        let whole = match &kind.whole {
            Some(permits) => Some(take(permits, tenant, client).await?),
            None => None,
        };
        let first_poll = Some(take(&kind.first_polls, tenant, client).await?);
        // New requests reach their queues before this one starts.
        yield_now().await;
        Ok(RequestPermit { first_poll, whole })
    }
}

async fn take(
    permits: &FairSemaphore,
    tenant: &TenantName,
    client: &impl Disconnection,
) -> Result<Permit, Problem> {
    let busy = |detail: &str| Problem::unavailable("Busy", detail);
    if let Some(permit) = permits.take_now(tenant) {
        return Ok(permit);
    }
    tokio::select! {
        permit = permits.take(tenant) => permit.map_err(|_| {
            busy("too many requests are waiting, try again later")
        }),
        () = client.wait() => Err(busy("the client has disconnected")),
    }
}

impl RequestPermit {
    /// Runs a request, and releases each permit when its part is done.
    pub(crate) async fn run<T>(self, running: impl Future<Output = T>) -> T {
        let mut running = pin!(running);
        let Self { mut first_poll, whole: _whole } = self;
        poll_fn(|context| {
            let polled = running.as_mut().poll(context);
            first_poll = None;
            polled
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use gatehouse_core::rights::Scope;
    use tokio_util::sync::CancellationToken;

    use crate::http::route::resource::{Need, Operation};

    fn kind(scope: Scope) -> Option<RequestKind> {
        Operation { need: Need::Scope(scope), ..Operation::BASE }.request_kind(false)
    }

    fn tenant(name: &str) -> TenantName {
        name.parse().unwrap()
    }

    #[tokio::test]
    async fn a_flood_waits_in_its_tenants_queue_up_to_a_limit() {
        let limits = Limits { concurrent_requests: 65, ..Limits::default() };
        let permits = RequestPermits::new(&limits, false);
        let (flood, calm) = (tenant("flood"), tenant("calm"));
        let (read, connected) = (kind(Scope::AccessRead), CancellationToken::new());
        let mut held = Vec::new();
        for _ in 0..AT_ONCE_OF_TENANT {
            let permit = permits.take(Some(&flood), read, &connected).await.ok().unwrap();
            // As if the first poll were done.
            held.push(RequestPermit { first_poll: None, ..permit });
        }
        let waits = permits.take(Some(&flood), read, &connected);
        let mut waits = std::pin::pin!(waits);
        assert!(futures_util::poll!(&mut waits).is_pending());
        let refused = permits.take(Some(&flood), read, &connected).await;
        assert_eq!(refused.err().map(|it| it.status.as_u16()), Some(503));
        assert!(permits.take(Some(&calm), read, &connected).await.is_ok());
        for scope in [Scope::AccessWrite, Scope::ProductRead, Scope::AccessVerify, Scope::Admin] {
            assert!(permits.take(Some(&flood), kind(scope), &connected).await.is_ok());
        }
        held.pop();
        assert!(waits.await.is_ok());
    }

    #[tokio::test]
    async fn each_kind_of_request_has_its_permits() {
        let (acme, connected) = (tenant("acme"), CancellationToken::new());
        // Whether a request holds a permit to its end, on the embedded store and on PostgreSQL.
        let cases = [
            (Scope::AccessRead, false, true),
            (Scope::AccessWrite, true, true),
            (Scope::AccessVerify, true, true),
            (Scope::ProductRead, false, false),
            (Scope::Admin, true, true),
        ];
        for (scope, whole_embedded, whole_postgres) in cases {
            for (is_embedded, whole) in [(true, whole_embedded), (false, whole_postgres)] {
                let permits = RequestPermits::new(&Limits::default(), is_embedded);
                let permit = permits.take(Some(&acme), kind(scope), &connected).await.ok().unwrap();
                let held = (permit.first_poll.is_some(), permit.whole.is_some());
                assert_eq!(held, (true, whole), "{scope:?}, embedded: {is_embedded}");
            }
        }
    }

    #[tokio::test]
    async fn the_first_poll_permit_is_released_while_the_request_still_waits() {
        let permits = RequestPermits::new(&Limits::default(), true);
        let (acme, connected) = (tenant("acme"), CancellationToken::new());
        let write = kind(Scope::AccessWrite);
        let permit = permits.take(Some(&acme), write, &connected).await.ok().unwrap();
        let mut held = Vec::new();
        while let Some(other) = permits.changes.first_polls.take_now(&acme) {
            held.push(other);
        }
        let mut runs = std::pin::pin!(permit.run(std::future::pending::<()>()));
        assert!(permits.changes.first_polls.take_now(&acme).is_none());
        assert!(futures_util::poll!(&mut runs).is_pending());
        assert!(permits.changes.first_polls.take_now(&acme).is_some());
    }

    #[tokio::test]
    async fn a_request_yields_to_the_runtime_before_it_starts() {
        let permits = RequestPermits::new(&Limits::default(), true);
        let (acme, connected) = (tenant("acme"), CancellationToken::new());
        let read = kind(Scope::AccessRead);
        let mut waits = std::pin::pin!(permits.take(Some(&acme), read, &connected));
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert_eq!(permits.reads.first_polls.n_waiting(), 0);
        assert!(waits.await.is_ok());
    }

    #[tokio::test]
    async fn a_client_that_disconnects_leaves_the_queue() {
        let permits = RequestPermits::new(&Limits::default(), true);
        let flood = tenant("flood");
        let (read, client) = (kind(Scope::AccessRead), CancellationToken::new());
        let mut held = Vec::new();
        while let Some(permit) = permits.reads.first_polls.take_now(&flood) {
            held.push(permit);
        }
        let mut waits = std::pin::pin!(permits.take(Some(&flood), read, &client));
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert_eq!(permits.reads.first_polls.n_waiting(), 1);
        // A flood of reads delays no request of another kind.
        for scope in [Scope::AccessWrite, Scope::AccessVerify, Scope::ProductRead] {
            assert!(permits.take(Some(&flood), kind(scope), &client).await.is_ok());
        }
        client.cancel();
        assert_eq!(waits.await.err().map(|it| it.status.as_u16()), Some(503));
        assert_eq!(permits.reads.first_polls.n_waiting(), 0);
    }

    #[tokio::test]
    async fn only_operators_administer_without_permits() {
        let permits = RequestPermits::new(&Limits::default(), true);
        let (acme, connected) = (tenant("acme"), CancellationToken::new());
        let put = Operation { need: Need::Admin, ..Operation::BASE };
        for is_operator in [true, false] {
            let permit = permits
                .take(Some(&acme), put.request_kind(is_operator), &connected)
                .await
                .ok()
                .unwrap();
            assert_eq!(permit.whole.is_none(), is_operator);
        }
    }

    #[tokio::test]
    async fn checks_of_one_tenant_leave_slots_to_the_others() {
        let permits = RequestPermits::new(&Limits::default(), false);
        let (flood, connected) = (tenant("flood"), CancellationToken::new());
        let check = kind(Scope::AccessVerify);
        let mut held = Vec::new();
        for _ in 0..768 {
            let permit = permits.take(Some(&flood), check, &connected).await.ok().unwrap();
            held.push(RequestPermit { first_poll: None, ..permit });
        }
        let mut waits = std::pin::pin!(permits.take(Some(&flood), check, &connected));
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert!(permits.take(Some(&tenant("calm")), check, &connected).await.is_ok());
    }
}
