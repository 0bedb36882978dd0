//! Tenants take turns with requests, so that one tenant's flood delays the others little.
//!
//! The runtime polls requests in the order of their connection_info. A request would wait behind all those that another tenant
//! has sent before it: most reads of the embedded store are done within one poll, and the first poll of a change prepares
//! all of it. With turns, few requests of a tenant are begun at a time, and the rest of a flood waits in that tenant's own
//! queue. Each request lets the runtime look for new ones before it begins.

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

/// Changes of one tenant that are worked on at a time, and reads where they wait for PostgreSQL. Most of them wait for the
/// writer, a slow hash or PostgreSQL, and creations that wait together share a commit. A tenant's own admins have as many.
const AT_ONCE_OF_TENANT: usize = 64;

/// Part of all requests, one in so many, that one tenant's checks leave to other requests.
const CHECKS_LEAVE: usize = 4;

/// First polls of one kind and one tenant at a time, for each core: one runs, and the next is ready.
const FIRST_POLLS_PER_CORE: usize = 2;

/// Tenants that can have all of their first polls at the same time: a tenant that asks for little finds a turn at once.
const TENANTS_AT_ONCE: usize = 4;

/// A kind of a tenant's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// Reads of accesses, contracts and Tasks.
    Read,
    /// Changes of them.
    Change,
    /// Checks of credentials.
    Check,
    /// Requests that ask the tenant's platforms.
    Products,
    /// Requests of the tenant's own admins.
    Administration,
}

/// Turns with the server's work. Each kind of a tenant's requests has queues of its own, so that none waits behind a flood
/// of another kind.
pub(crate) struct RequestPermits {
    reads: KindSemaphores,
    changes: KindSemaphores,
    checks: KindSemaphores,
    products: KindSemaphores,
    /// Requests of a tenant's own admins.
    administration: KindSemaphores,
}

/// Turns with one kind of request.
struct KindSemaphores {
    first_polls: FairSemaphore,
    /// Turns from the beginning of a request to its end.
    whole: Option<FairSemaphore>,
}

/// A request's turn.
#[derive(Default)]
pub(crate) struct RequestPermit {
    /// Turn that ends after the handler's first poll.
    first_poll: Option<Permit>,
    /// Turn that ends with the request.
    whole: Option<Permit>,
}

impl RequestPermits {
    /// Lets no tenant have more requests in a queue than the limits allow to be worked on in all.
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
            // They have a limit of their own (`slots`).
            products: kind(None),
            administration: kind(whole_of(AT_ONCE_OF_TENANT)),
        }
    }

    /// Waits for a turn; gives up when the client disconnects.
    ///
    /// A request without a kind needs none.
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
            Some(turns) => Some(take(turns, tenant, client).await?),
            None => None,
        };
        let first_poll = Some(take(&kind.first_polls, tenant, client).await?);
        // Requests that have arrived meanwhile find their places in the queues.
        yield_now().await;
        Ok(RequestPermit { first_poll, whole })
    }
}

async fn take(
    turns: &FairSemaphore,
    tenant: &TenantName,
    client: &impl Disconnection,
) -> Result<Permit, Problem> {
    let busy = |detail: &str| Problem::unavailable("Busy", detail);
    if let Some(turn) = turns.take_now(tenant) {
        return Ok(turn);
    }
    tokio::select! {
        turn = turns.take(tenant) => turn.map_err(|_| {
            busy("too many requests are waiting, try again later")
        }),
        () = client.wait() => Err(busy("the client has disconnected")),
    }
}

impl RequestPermit {
    /// Runs a request for as long as its turn lasts, and to its end.
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
    async fn a_flood_waits_in_its_own_queue_and_has_an_end() {
        let limits = Limits { concurrent_requests: 65, ..Limits::default() };
        let turns = RequestPermits::new(&limits, false);
        let (flood, calm) = (tenant("flood"), tenant("calm"));
        let (read, stays) = (kind(Scope::AccessRead), CancellationToken::new());
        let mut held = Vec::new();
        for _ in 0..AT_ONCE_OF_TENANT {
            let turn = turns.take(Some(&flood), read, &stays).await.ok().unwrap();
            // As after the first poll.
            held.push(RequestPermit { first_poll: None, ..turn });
        }
        let waits = turns.take(Some(&flood), read, &stays);
        let mut waits = std::pin::pin!(waits);
        assert!(futures_util::poll!(&mut waits).is_pending());
        let refused = turns.take(Some(&flood), read, &stays).await;
        assert_eq!(refused.err().map(|it| it.status.as_u16()), Some(503));
        assert!(turns.take(Some(&calm), read, &stays).await.is_ok());
        for scope in [Scope::AccessWrite, Scope::ProductRead, Scope::AccessVerify, Scope::Admin] {
            assert!(turns.take(Some(&flood), kind(scope), &stays).await.is_ok());
        }
        held.pop();
        assert!(waits.await.is_ok());
    }

    #[tokio::test]
    async fn each_kind_of_request_has_its_turns() {
        let (acme, stays) = (tenant("acme"), CancellationToken::new());
        // Whether a request has a turn to its end, on the embedded store and on PostgreSQL.
        let cases = [
            (Scope::AccessRead, false, true),
            (Scope::AccessWrite, true, true),
            (Scope::AccessVerify, true, true),
            (Scope::ProductRead, false, false),
            (Scope::Admin, true, true),
        ];
        for (scope, whole_embedded, whole_postgres) in cases {
            for (is_embedded, whole) in [(true, whole_embedded), (false, whole_postgres)] {
                let turns = RequestPermits::new(&Limits::default(), is_embedded);
                let turn = turns.take(Some(&acme), kind(scope), &stays).await.ok().unwrap();
                let held = (turn.first_poll.is_some(), turn.whole.is_some());
                assert_eq!(held, (true, whole), "{scope:?}, embedded: {is_embedded}");
            }
        }
    }

    #[tokio::test]
    async fn a_turn_for_the_first_poll_ends_while_the_request_still_waits() {
        let turns = RequestPermits::new(&Limits::default(), true);
        let (acme, stays) = (tenant("acme"), CancellationToken::new());
        let write = kind(Scope::AccessWrite);
        let turn = turns.take(Some(&acme), write, &stays).await.ok().unwrap();
        let mut held = Vec::new();
        while let Some(other) = turns.changes.first_polls.take_now(&acme) {
            held.push(other);
        }
        let mut runs = std::pin::pin!(turn.run(std::future::pending::<()>()));
        assert!(turns.changes.first_polls.take_now(&acme).is_none());
        assert!(futures_util::poll!(&mut runs).is_pending());
        assert!(turns.changes.first_polls.take_now(&acme).is_some());
    }

    #[tokio::test]
    async fn a_request_lets_the_runtime_look_for_others_before_it_begins() {
        let turns = RequestPermits::new(&Limits::default(), true);
        let (acme, stays) = (tenant("acme"), CancellationToken::new());
        let read = kind(Scope::AccessRead);
        let mut waits = std::pin::pin!(turns.take(Some(&acme), read, &stays));
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert_eq!(turns.reads.first_polls.n_waiting(), 0);
        assert!(waits.await.is_ok());
    }

    #[tokio::test]
    async fn a_client_that_disconnects_leaves_the_queue() {
        let turns = RequestPermits::new(&Limits::default(), true);
        let flood = tenant("flood");
        let (read, client) = (kind(Scope::AccessRead), CancellationToken::new());
        let mut held = Vec::new();
        while let Some(turn) = turns.reads.first_polls.take_now(&flood) {
            held.push(turn);
        }
        let mut waits = std::pin::pin!(turns.take(Some(&flood), read, &client));
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert_eq!(turns.reads.first_polls.n_waiting(), 1);
        // A flood of reads holds up no request of another kind.
        for scope in [Scope::AccessWrite, Scope::AccessVerify, Scope::ProductRead] {
            assert!(turns.take(Some(&flood), kind(scope), &client).await.is_ok());
        }
        client.cancel();
        assert_eq!(waits.await.err().map(|it| it.status.as_u16()), Some(503));
        assert_eq!(turns.reads.first_polls.n_waiting(), 0);
    }

    #[tokio::test]
    async fn only_operators_administer_without_turns() {
        let turns = RequestPermits::new(&Limits::default(), true);
        let (acme, stays) = (tenant("acme"), CancellationToken::new());
        let put = Operation { need: Need::Admin, ..Operation::BASE };
        for is_operator in [true, false] {
            let turn =
                turns.take(Some(&acme), put.request_kind(is_operator), &stays).await.ok().unwrap();
            assert_eq!(turn.whole.is_none(), is_operator);
        }
    }

    #[tokio::test]
    async fn checks_of_one_tenant_leave_slots_to_the_others() {
        let turns = RequestPermits::new(&Limits::default(), false);
        let (flood, stays) = (tenant("flood"), CancellationToken::new());
        let check = kind(Scope::AccessVerify);
        let mut held = Vec::new();
        for _ in 0..768 {
            let turn = turns.take(Some(&flood), check, &stays).await.ok().unwrap();
            held.push(RequestPermit { first_poll: None, ..turn });
        }
        let mut waits = std::pin::pin!(turns.take(Some(&flood), check, &stays));
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert!(turns.take(Some(&tenant("calm")), check, &stays).await.is_ok());
    }
}
