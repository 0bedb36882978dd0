//! Tenants take turns with requests, so that one tenant's flood delays the others little.
//!
//! The runtime polls requests in the order of their arrival. A request would wait behind all those that another tenant
//! has sent before it: most reads of the embedded store are done within one poll, and the first poll of a change prepares
//! all of it. With turns, few requests of a tenant are begun at a time, and the rest of a flood waits in that tenant's own
//! queue. A request that has waited lets the runtime look for new requests before it goes on.

use std::future::poll_fn;
use std::num::NonZero;
use std::thread;

use gatehouse_core::TenantName;
use gatehouse_core::rights::Scope;
use gatehouse_turns::{Places, Turn, Turns};
use gatehouse_vault::Disconnection;
use tokio::task::yield_now;

use super::problem::Problem;
use super::reply::Reply;
use super::resource::{Need, Operation, Running};
use crate::config::Limits;

/// Changes of one tenant that are worked on at a time, and reads where they wait for PostgreSQL. Most of them wait for the
/// writer, a slow hash or PostgreSQL, and creations that wait together share a commit.
const AT_ONCE_OF_TENANT: usize = 64;

/// First polls of one kind and one tenant at a time, for each core: one runs, and the next is ready.
const FIRST_POLLS_PER_CORE: usize = 2;

/// Tenants that can have all of their first polls at the same time: a tenant that asks for little finds a turn at once.
const TENANTS_AT_ONCE: usize = 4;

/// Turns with the server's work. A tenant's reads, changes, checks and requests for products have queues of their own, so
/// that none waits behind a flood of another kind.
pub(crate) struct RequestTurns {
    reads: Turns,
    changes: Turns,
    checks: Turns,
    products: Turns,
    /// Turns from the beginning of a request to its end.
    whole: Turns,
    is_embedded: bool,
}

/// A request's turn.
#[derive(Default)]
pub(crate) struct RequestTurn {
    /// Turn that ends after the handler's first poll.
    first_poll: Option<Turn>,
    /// Turn that ends with the request.
    whole: Option<Turn>,
}

impl RequestTurns {
    /// Lets no tenant have more requests in a queue than the limits allow to be worked on in all.
    pub(crate) fn new(limits: &Limits, is_embedded: bool) -> Self {
        let n_max = usize::try_from(limits.concurrent_requests).unwrap_or(usize::MAX);
        let of = |at_once: usize, at_once_of_tenant: usize| {
            let waiting_of_tenant = n_max.saturating_sub(at_once_of_tenant);
            Turns::new(Places { at_once, at_once_of_tenant, waiting_of_tenant, waiting: n_max })
        };
        let n_cores = thread::available_parallelism().map_or(1, NonZero::get);
        let n_polls = FIRST_POLLS_PER_CORE * n_cores;
        let first_polls = || of(TENANTS_AT_ONCE * n_polls, n_polls);
        Self {
            reads: first_polls(),
            changes: first_polls(),
            checks: first_polls(),
            products: first_polls(),
            whole: of(usize::MAX, AT_ONCE_OF_TENANT),
            is_embedded,
        }
    }

    /// Waits for a turn; gives up when the client disconnects.
    ///
    /// Requests of operators need none, so that they can stop a flood.
    pub(crate) async fn take(
        &self,
        tenant: Option<&TenantName>,
        operation: &Operation,
        client: &impl Disconnection,
    ) -> Result<RequestTurn, Problem> {
        let (Some(tenant), Need::Scope(scope)) = (tenant, operation.need) else {
            return Ok(RequestTurn::default());
        };
        let (whole, first_polls) = match scope {
            // They wait for platforms, and have a limit of their own.
            Scope::ProductRead => (None, &self.products),
            // Some checks wait for a slow hash, and the tenant's other devices must not wait with them.
            Scope::AccessVerify => (None, &self.checks),
            Scope::AccessRead | Scope::EventRead if self.is_embedded => (None, &self.reads),
            Scope::AccessRead | Scope::EventRead => (Some(&self.whole), &self.reads),
            Scope::AccessWrite | Scope::EventWrite | Scope::Admin => {
                (Some(&self.whole), &self.changes)
            }
        };
        let whole = match whole {
            Some(turns) => Some(take(turns, tenant, client).await?),
            None => None,
        };
        let first_poll = Some(take(first_polls, tenant, client).await?);
        // Requests that have arrived meanwhile find their places in the queues.
        yield_now().await;
        Ok(RequestTurn { first_poll, whole })
    }
}

async fn take(
    turns: &Turns,
    tenant: &TenantName,
    client: &impl Disconnection,
) -> Result<Turn, Problem> {
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

impl RequestTurn {
    /// Runs a request for as long as its turn lasts, and to its end.
    pub(crate) async fn run(self, mut running: Running) -> Result<Reply, Problem> {
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

    use tokio_util::sync::CancellationToken;

    fn operation(scope: Scope) -> Operation {
        Operation { need: Need::Scope(scope), ..Operation::BASE }
    }

    fn tenant(name: &str) -> TenantName {
        name.parse().unwrap()
    }

    #[tokio::test]
    async fn a_flood_waits_in_its_own_queue_and_has_an_end() {
        let limits = Limits { concurrent_requests: 65, ..Limits::default() };
        let turns = RequestTurns::new(&limits, false);
        let (flood, calm) = (tenant("flood"), tenant("calm"));
        let (read, stays) = (operation(Scope::AccessRead), CancellationToken::new());
        let mut held = Vec::new();
        for _ in 0..AT_ONCE_OF_TENANT {
            let turn = turns.take(Some(&flood), &read, &stays).await.ok().unwrap();
            // As after the first poll.
            held.push(RequestTurn { first_poll: None, ..turn });
        }
        let waits = turns.take(Some(&flood), &read, &stays);
        let mut waits = std::pin::pin!(waits);
        assert!(futures_util::poll!(&mut waits).is_pending());
        let refused = turns.take(Some(&flood), &read, &stays).await;
        assert_eq!(refused.err().map(|it| it.status.as_u16()), Some(503));
        assert!(turns.take(Some(&calm), &read, &stays).await.is_ok());
        for scope in [Scope::ProductRead, Scope::AccessVerify] {
            assert!(turns.take(Some(&flood), &operation(scope), &stays).await.is_ok());
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
            (Scope::AccessVerify, false, false),
            (Scope::ProductRead, false, false),
        ];
        for (scope, whole_embedded, whole_postgres) in cases {
            for (is_embedded, whole) in [(true, whole_embedded), (false, whole_postgres)] {
                let turns = RequestTurns::new(&Limits::default(), is_embedded);
                let turn = turns.take(Some(&acme), &operation(scope), &stays).await.ok().unwrap();
                let held = (turn.first_poll.is_some(), turn.whole.is_some());
                assert_eq!(held, (true, whole), "{scope:?}, embedded: {is_embedded}");
            }
        }
    }

    #[tokio::test]
    async fn a_turn_for_the_first_poll_ends_while_the_request_still_waits() {
        let turns = RequestTurns::new(&Limits::default(), true);
        let (acme, stays) = (tenant("acme"), CancellationToken::new());
        let write = operation(Scope::AccessWrite);
        let turn = turns.take(Some(&acme), &write, &stays).await.ok().unwrap();
        let mut held = Vec::new();
        while let Some(other) = turns.changes.take_now(&acme) {
            held.push(other);
        }
        let mut runs = std::pin::pin!(turn.run(Box::pin(std::future::pending())));
        assert!(turns.changes.take_now(&acme).is_none());
        assert!(futures_util::poll!(&mut runs).is_pending());
        assert!(turns.changes.take_now(&acme).is_some());
    }

    #[tokio::test]
    async fn a_request_lets_the_runtime_look_for_others_before_it_begins() {
        let turns = RequestTurns::new(&Limits::default(), true);
        let (acme, stays) = (tenant("acme"), CancellationToken::new());
        let read = operation(Scope::AccessRead);
        let mut waits = std::pin::pin!(turns.take(Some(&acme), &read, &stays));
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert_eq!(turns.reads.n_waiting(), 0);
        assert!(waits.await.is_ok());
    }

    #[tokio::test]
    async fn a_client_that_disconnects_leaves_the_queue() {
        let turns = RequestTurns::new(&Limits::default(), true);
        let flood = tenant("flood");
        let (read, client) = (operation(Scope::AccessRead), CancellationToken::new());
        let mut held = Vec::new();
        while let Some(turn) = turns.reads.take_now(&flood) {
            held.push(turn);
        }
        let mut waits = std::pin::pin!(turns.take(Some(&flood), &read, &client));
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert_eq!(turns.reads.n_waiting(), 1);
        // A flood of reads holds up no request of another kind.
        for scope in [Scope::AccessWrite, Scope::AccessVerify, Scope::ProductRead] {
            assert!(turns.take(Some(&flood), &operation(scope), &client).await.is_ok());
        }
        client.cancel();
        assert_eq!(waits.await.err().map(|it| it.status.as_u16()), Some(503));
        assert_eq!(turns.reads.n_waiting(), 0);
    }
}
