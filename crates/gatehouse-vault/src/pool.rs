//! The bounded pool of slow hashes: a storm of them can't exhaust the memory or starve the rest.
//!
//! Tenants take turns. Each has a queue of its own, so a tenant waits behind what it asked for itself and behind one hash of
//! each other tenant; and where all queues together are full, the longest gives way.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use gatehouse_core::TenantName;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use crate::meter::{Held, VaultMeter};

/// Slow hashes of one tenant that may wait for their turn; more are turned away.
const WAITING_OF_TENANT_MAX: usize = 512;

/// Slow hashes of all tenants that may wait.
const WAITING_MAX: usize = 4096;

/// Too many slow hashes are waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many passwords are being hashed, try again later")]
pub struct Busy;

/// For whom a slow hash is made.
#[derive(Clone, Copy)]
pub struct Asker<'a> {
    /// The tenant, whose turn it takes.
    pub tenant: &'a TenantName,
    /// Set when nobody waits for it any more: a hash that was not begun is given up then.
    pub gone: &'a CancellationToken,
}

/// Runs slow hashes, a few at a time.
pub(crate) struct HashPool {
    shared: Arc<Shared>,
    meter: Arc<VaultMeter>,
    waiting_of_tenant_max: usize,
    waiting_max: usize,
}

/// What the pool and the turns that it gives have in common.
#[derive(Default)]
struct Shared(Mutex<Queues>);

#[derive(Default)]
struct Queues {
    /// Hashes that could begin at once. Nobody waits while there is one.
    n_free: usize,
    n_waiting: usize,
    /// What was drawn last to tell those who wait apart.
    number: u64,
    /// Who waits, by tenant; no queue is empty.
    of_tenants: HashMap<TenantName, VecDeque<Waiting>>,
    /// Tenants that wait, the one whose turn is next first.
    order: VecDeque<TenantName>,
}

struct Waiting {
    number: u64,
    turn: oneshot::Sender<Turn>,
}

/// The right to make one hash. When it is dropped, it goes to the next.
struct Turn(Option<Arc<Shared>>);

/// A place in a tenant's queue, which is left when this is dropped.
struct Place<'a> {
    shared: &'a Shared,
    tenant: &'a TenantName,
    number: u64,
}

impl HashPool {
    /// A pool that leaves one core to everything else, where there is more than one.
    pub(crate) fn new(meter: Arc<VaultMeter>) -> Self {
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        let n_running = n_cores.saturating_sub(1).max(1);
        Self::with(n_running, WAITING_OF_TENANT_MAX, WAITING_MAX, meter)
    }

    fn with(
        n_running: usize,
        waiting_of_tenant_max: usize,
        waiting_max: usize,
        meter: Arc<VaultMeter>,
    ) -> Self {
        let queues = Queues { n_free: n_running, ..Queues::default() };
        let shared = Arc::new(Shared(Mutex::new(queues)));
        Self { shared, meter, waiting_of_tenant_max, waiting_max }
    }

    /// Runs one slow hash when its turn comes.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        asker: Asker<'_>,
        hash: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Busy> {
        // Work that no request waits for is part of no trace.
        let span = if Span::current().is_none() {
            Span::none()
        } else {
            tracing::info_span!("password hash")
        };
        self.run_in_turn(asker, hash).instrument(span).await
    }

    async fn run_in_turn<T: Send + 'static>(
        &self,
        asker: Asker<'_>,
        hash: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Busy> {
        let turn = self.turn(asker).await?;
        let running = Held::new(&self.meter.running);
        let meter = Arc::clone(&self.meter);
        let hashed = tokio::task::spawn_blocking(move || {
            // Held by the work, not by its asker: a client that goes away frees nothing early.
            let _held = (turn, running);
            let began = Instant::now();
            let hashed = hash();
            meter.durations.observe(began.elapsed().as_secs_f64());
            hashed
        });
        hashed.await.map_err(|_| Busy)
    }

    /// Waits for a turn.
    async fn turn(&self, Asker { tenant, gone }: Asker<'_>) -> Result<Turn, Busy> {
        let refused = || {
            self.meter.refused.inc();
            Busy
        };
        let (place, turn) = {
            let mut queues = self.shared.lock();
            if queues.n_free > 0 {
                queues.n_free -= 1;
                return Ok(Turn(Some(Arc::clone(&self.shared))));
            }
            let (number, turn) = self.enqueue(&mut queues, tenant).ok_or_else(refused)?;
            (Place { shared: &self.shared, tenant, number }, turn)
        };
        let _waiting = Held::new(&self.meter.waiting);
        let turn = tokio::select! {
            biased;
            turn = turn => turn.map_err(|_| refused()),
            () = gone.cancelled() => Err(Busy),
        };
        drop(place);
        turn
    }

    /// Puts somebody at the end of a tenant's queue, where there is room.
    fn enqueue(
        &self,
        queues: &mut Queues,
        tenant: &TenantName,
    ) -> Option<(u64, oneshot::Receiver<Turn>)> {
        let n_own = queues.of_tenants.get(tenant).map_or(0, VecDeque::len);
        if n_own >= self.waiting_of_tenant_max {
            return None;
        }
        if queues.n_waiting >= self.waiting_max {
            let longest = queues.of_tenants.iter().max_by_key(|(_, queue)| queue.len());
            let (longest, n_longest) = longest.map(|(name, queue)| (name.clone(), queue.len()))?;
            if n_longest <= n_own + 1 {
                return None;
            }
            // The last of the longest queue would wait longest, and hears at once that it waits in vain.
            queues.take(&longest, VecDeque::pop_back);
        }
        queues.number += 1;
        queues.n_waiting += 1;
        let (turn, waiting) = oneshot::channel();
        let queue = queues.of_tenants.entry(tenant.clone()).or_default();
        if queue.is_empty() {
            queues.order.push_back(tenant.clone());
        }
        queue.push_back(Waiting { number: queues.number, turn });
        Some((queues.number, waiting))
    }
}

impl Queues {
    /// Takes somebody out of a tenant's queue.
    fn take(
        &mut self,
        tenant: &TenantName,
        choose: impl FnOnce(&mut VecDeque<Waiting>) -> Option<Waiting>,
    ) -> Option<Waiting> {
        let queue = self.of_tenants.get_mut(tenant)?;
        let taken = choose(queue);
        if queue.is_empty() {
            self.of_tenants.remove(tenant);
            self.order.retain(|it| it != tenant);
        }
        self.n_waiting -= usize::from(taken.is_some());
        taken
    }

    /// Whose turn is next: the first of the tenant that has waited longest for its turn.
    fn next(&mut self) -> Option<Waiting> {
        let tenant = self.order.pop_front()?;
        // Behind all others, as far as it still waits.
        self.order.push_back(tenant.clone());
        self.take(&tenant, VecDeque::pop_front)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        // Queues are whole whatever panicked beside them.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(mut shared) = self.0.take() else { return };
        loop {
            let next = {
                let mut queues = shared.lock();
                let next = queues.next();
                queues.n_free += usize::from(next.is_none());
                next
            };
            let Some(next) = next else { return };
            match next.turn.send(Turn(Some(shared))) {
                Ok(()) => return,
                // Whoever waited has left just now.
                Err(mut turn) => match turn.0.take() {
                    Some(back) => shared = back,
                    None => return,
                },
            }
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut queues = self.shared.lock();
        let of_number = |queue: &mut VecDeque<Waiting>| {
            let at = queue.iter().position(|it| it.number == self.number)?;
            queue.remove(at)
        };
        // It is gone already where its turn has come.
        if queues.of_tenants.contains_key(self.tenant) {
            queues.take(self.tenant, of_number);
        }
    }
}

#[cfg(test)]
mod tests;
