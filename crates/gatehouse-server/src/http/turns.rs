//! Tenants take turns with requests, so that one tenant's flood delays the others little.
//!
//! The runtime polls requests in the order of their arrival. A request would wait behind all those that another tenant
//! has sent before it: a read of the embedded store is done within one poll, and the first poll of a change prepares all
//! of it. With turns, few requests of a tenant are worked on at a time, and the rest of a flood waits in that tenant's own
//! queue. Before each of them the runtime looks for new requests.

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

/// First polls of one tenant at a time, for each core: one runs, and the next is ready.
const FIRST_POLLS_PER_CORE: usize = 2;

/// Tenants that can have all of their first polls at the same time: a tenant that asks for little finds a turn at once.
const TENANTS_AT_ONCE: usize = 4;

/// Turns with the server's work.
pub(crate) struct RequestTurns {
    /// Turns for the CPU time of a first poll.
    first_polls: Turns,
    /// Turns from a request's beginning to its end.
    whole: Turns,
    is_embedded: bool,
}

/// A request's turn.
#[derive(Default)]
pub(crate) struct RequestTurn {
    /// Ends after the handler's first poll: an embedded read is done by then.
    first_poll: Option<Turn>,
    /// Ends with the request.
    whole: Option<Turn>,
}

impl RequestTurns {
    /// Lets no tenant have more requests, worked on or waiting, than the limits allow to be worked on in all.
    pub(crate) fn new(limits: &Limits, is_embedded: bool) -> Self {
        let n_max = usize::try_from(limits.concurrent_requests).unwrap_or(usize::MAX);
        let of = |at_once: usize, at_once_of_tenant: usize| {
            let waiting_of_tenant = n_max.saturating_sub(at_once_of_tenant);
            Turns::new(Places { at_once, at_once_of_tenant, waiting_of_tenant, waiting: n_max })
        };
        let n_cores = thread::available_parallelism().map_or(1, NonZero::get);
        let n_polls = FIRST_POLLS_PER_CORE * n_cores;
        Self {
            first_polls: of(TENANTS_AT_ONCE * n_polls, n_polls),
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
        let whole = match self.is_held_to_the_end(scope) {
            true => Some(take(&self.whole, tenant, client).await?),
            false => None,
        };
        let first_poll = Some(take(&self.first_polls, tenant, client).await?);
        // Lets the runtime look for requests that have arrived meanwhile: they find their places in the queues, and
        // those of other tenants are polled between two requests of this one.
        yield_now().await;
        Ok(RequestTurn { first_poll, whole })
    }

    /// Whether a request has one of its tenant's turns until it was answered.
    ///
    /// Requests for products don't: they wait for platforms, and have a limit of their own. Checks of credentials don't:
    /// some wait for a slow hash, and the tenant's other devices must not wait with them.
    fn is_held_to_the_end(&self, scope: Scope) -> bool {
        match scope {
            Scope::ProductRead | Scope::AccessVerify => false,
            Scope::AccessRead | Scope::EventRead => !self.is_embedded,
            Scope::AccessWrite | Scope::EventWrite | Scope::Admin => true,
        }
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

    #[tokio::test]
    async fn a_flood_waits_in_its_own_queue_and_has_an_end() {
        let limits =
            Limits { concurrent_requests: AT_ONCE_OF_TENANT as u64 + 1, ..Limits::default() };
        let turns = RequestTurns::new(&limits, false);
        let [flood, calm] = ["flood", "calm"].map(|it| it.parse::<TenantName>().unwrap());
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
    async fn a_client_that_disconnects_leaves_the_queue() {
        let turns = RequestTurns::new(&Limits::default(), true);
        let flood: TenantName = "flood".parse().unwrap();
        let (read, client) = (operation(Scope::AccessRead), CancellationToken::new());
        let mut held = Vec::new();
        while let Some(turn) = turns.first_polls.take_now(&flood) {
            held.push(turn);
        }
        let mut waits = std::pin::pin!(turns.take(Some(&flood), &read, &client));
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert_eq!(turns.first_polls.n_waiting(), 1);
        client.cancel();
        assert_eq!(waits.await.err().map(|it| it.status.as_u16()), Some(503));
        assert_eq!(turns.first_polls.n_waiting(), 0);
    }
}
