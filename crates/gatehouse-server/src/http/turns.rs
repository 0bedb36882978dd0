//! Tenants take turns with requests, so that one tenant's flood delays the others little.
//!
//! The runtime polls requests in the order of their arrival, and a read of the embedded store is done within one poll. So
//! a request would wait behind all those that another tenant has sent before it. With turns, few requests of a tenant
//! are worked on at a time, and the rest of a flood waits in that tenant's own queue.

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

/// Requests of one tenant that are worked on at a time. Most of them wait for the writer, a slow hash or PostgreSQL, and
/// creations that wait together share a commit.
const AT_ONCE_OF_TENANT: usize = 64;

/// Tenants that can have all of their reads at the same time: a tenant that reads little finds a turn at once.
const TENANTS_READING: usize = 4;

/// Turns with the server's work.
pub(crate) struct RequestTurns {
    /// Reads of the embedded store; `None` on PostgreSQL.
    reads: Option<Turns>,
    others: Turns,
}

/// A request's turn.
pub(crate) enum RequestTurn {
    /// A turn that ends after the handler's first poll: an embedded read is done by then, and a check waits for a slow hash.
    FirstPoll(Turn),
    /// A turn that ends with the request.
    Whole(Turn),
    /// The request runs without a turn.
    Free,
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
        // One more than can run, so that no core waits for the next.
        let n_reads = n_cores + 1;
        Self {
            reads: is_embedded.then(|| of(TENANTS_READING * n_reads, n_reads)),
            others: of(usize::MAX, AT_ONCE_OF_TENANT),
        }
    }

    /// Waits for a turn; gives up when the client disconnects.
    ///
    /// Requests for products need none: they wait for platforms, and have a limit of their own. Checks of credentials on
    /// PostgreSQL need none: some wait for a slow hash, and the tenant's other devices must not wait with them. Requests of
    /// operators need none, so that they can stop a flood.
    pub(crate) async fn take(
        &self,
        tenant: Option<&TenantName>,
        operation: &Operation,
        client: &impl Disconnection,
    ) -> Result<RequestTurn, Problem> {
        let Some(tenant) = tenant else { return Ok(RequestTurn::Free) };
        match (operation.need, &self.reads) {
            (Need::Scope(Scope::ProductRead), _) => Ok(RequestTurn::Free),
            (Need::Scope(Scope::AccessVerify), None) => Ok(RequestTurn::Free),
            (Need::Nothing | Need::Token | Need::Admin | Need::AdminOfAll, _) => {
                Ok(RequestTurn::Free)
            }
            (Need::Scope(Scope::AccessRead | Scope::AccessVerify), Some(reads)) => {
                let turn = match reads.take_now(tenant) {
                    Some(turn) => {
                        // Requests that have arrived meanwhile find their places in the queues.
                        yield_now().await;
                        turn
                    }
                    None => wait(reads, tenant, client).await?,
                };
                Ok(RequestTurn::FirstPoll(turn))
            }
            (Need::Scope(_), _) => Ok(RequestTurn::Whole(match self.others.take_now(tenant) {
                Some(turn) => turn,
                None => wait(&self.others, tenant, client).await?,
            })),
        }
    }
}

async fn wait(
    turns: &Turns,
    tenant: &TenantName,
    client: &impl Disconnection,
) -> Result<Turn, Problem> {
    let busy = |detail: &str| Problem::unavailable("Busy", detail);
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
        let (mut first, _whole) = match self {
            Self::FirstPoll(turn) => (Some(turn), None),
            Self::Whole(turn) => (None, Some(turn)),
            Self::Free => (None, None),
        };
        poll_fn(|context| {
            let polled = running.as_mut().poll(context);
            first = None;
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
        let limits = Limits { concurrent_requests: 65, ..Limits::default() };
        let turns = RequestTurns::new(&limits, false);
        let [flood, calm] = ["flood", "calm"].map(|it| it.parse::<TenantName>().unwrap());
        let (read, stays) = (operation(Scope::AccessRead), CancellationToken::new());
        let mut held = Vec::new();
        for _ in 0..AT_ONCE_OF_TENANT {
            held.push(turns.take(Some(&flood), &read, &stays).await.ok().unwrap());
        }
        let waits = turns.take(Some(&flood), &read, &stays);
        let mut waits = std::pin::pin!(waits);
        assert!(futures_util::poll!(&mut waits).is_pending());
        let refused = turns.take(Some(&flood), &read, &stays).await;
        assert_eq!(refused.err().map(|it| it.status.as_u16()), Some(503));
        assert!(turns.take(Some(&calm), &read, &stays).await.is_ok());
        let products = operation(Scope::ProductRead);
        assert!(matches!(turns.take(Some(&flood), &products, &stays).await, Ok(RequestTurn::Free)));
        held.pop();
        assert!(waits.await.is_ok());
    }

    #[tokio::test]
    async fn a_client_that_disconnects_leaves_the_queue() {
        let turns = RequestTurns::new(&Limits::default(), true);
        let flood: TenantName = "flood".parse().unwrap();
        let (read, client) = (operation(Scope::AccessRead), CancellationToken::new());
        let mut held = Vec::new();
        let reads = turns.reads.clone().unwrap();
        while let Some(turn) = reads.take_now(&flood) {
            held.push(turn);
        }
        let mut waits = std::pin::pin!(turns.take(Some(&flood), &read, &client));
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert_eq!(reads.n_waiting(), 1);
        client.cancel();
        assert_eq!(waits.await.err().map(|it| it.status.as_u16()), Some(503));
        assert_eq!(reads.n_waiting(), 0);
        let write = operation(Scope::AccessWrite);
        assert!(turns.take(Some(&flood), &write, &client).await.is_ok());
    }
}
