//! Taking turns: what there is little of is shared by tenants evenly, however many each of them asks for.
//!
//! Each tenant has a queue of its own, and the queues take turns. So a tenant waits behind what it asked for itself, and
//! behind one turn of each other tenant; and where all queues together are full, the longest gives way.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use gatehouse_core::TenantName;
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Too many wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many wait for their turn")]
pub struct QueueFull;

/// The size of the pool, and of its queues.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Turns held at the same time, over all tenants.
    pub at_once: usize,
    /// How many of them one tenant may have: one that holds its turns for long leaves the others theirs.
    pub at_once_of_tenant: usize,
    /// How many of one tenant may wait.
    pub waiting_of_tenant: usize,
    /// How many of all tenants may wait.
    pub waiting: usize,
}

/// What tenants take turns with. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct FairSemaphore(Arc<Shared>);

struct Shared {
    places: Capacity,
    queues: Mutex<Queues>,
}

#[derive(Default)]
struct Queues {
    /// Turns that could be had at once. Only tenants that have all of theirs wait while there is one.
    n_free: usize,
    /// How many turns tenants have; none is zero.
    held: HashMap<TenantName, usize>,
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
    turn: oneshot::Sender<Permit>,
}

/// The right to go ahead. When it is dropped, it goes to the next.
pub struct Permit(Option<(Arc<Shared>, TenantName)>);

/// A place in a tenant's queue, which is left when this is dropped.
struct Place<'a> {
    shared: &'a Shared,
    tenant: &'a TenantName,
    number: u64,
}

impl FairSemaphore {
    /// A pool of `places.at_once` turns, at least one.
    pub fn new(places: Capacity) -> Self {
        let queues = Queues { n_free: places.at_once.max(1), ..Queues::default() };
        Self(Arc::new(Shared { places, queues: Mutex::new(queues) }))
    }

    /// A turn that can be had at once.
    pub fn take_now(&self, tenant: &TenantName) -> Option<Permit> {
        let is_had = self.0.queues.lock().have(tenant, self.0.places);
        is_had.then(|| Permit(Some((Arc::clone(&self.0), tenant.clone()))))
    }

    /// Waits for a turn. Dropping the future leaves the queue.
    pub async fn take(&self, tenant: &TenantName) -> Result<Permit, QueueFull> {
        let (place, turn) = {
            let mut queues = self.0.queues.lock();
            if queues.have(tenant, self.0.places) {
                return Ok(Permit(Some((Arc::clone(&self.0), tenant.clone()))));
            }
            let (number, turn) = queues.enter(tenant, self.0.places).ok_or(QueueFull)?;
            (Place { shared: &self.0, tenant, number }, turn)
        };
        let turn = turn.await.map_err(|_| QueueFull);
        drop(place);
        turn
    }

    /// How many wait.
    pub fn n_waiting(&self) -> usize {
        self.0.queues.lock().n_waiting
    }
}

impl Queues {
    /// Takes a turn for a tenant, where there is one that it may have.
    fn have(&mut self, tenant: &TenantName, places: Capacity) -> bool {
        let n_own = self.held.get(tenant).copied().unwrap_or_default();
        // The tenant's queued waiters come first.
        let is_first = !self.of_tenants.contains_key(tenant);
        let has = self.n_free > 0 && n_own < places.at_once_of_tenant.max(1) && is_first;
        if has {
            self.n_free -= 1;
            *self.held.entry(tenant.clone()).or_default() += 1;
        }
        has
    }

    /// Gives a tenant's turn back.
    fn give_back(&mut self, tenant: &TenantName) {
        self.n_free += 1;
        if let Some(n_own) = self.held.get_mut(tenant) {
            *n_own -= 1;
            if *n_own == 0 {
                self.held.remove(tenant);
            }
        }
    }

    /// Appends a waiter to a tenant's queue; `None` when the queue is full.
    fn enter(
        &mut self,
        tenant: &TenantName,
        places: Capacity,
    ) -> Option<(u64, oneshot::Receiver<Permit>)> {
        let n_own = self.of_tenants.get(tenant).map_or(0, VecDeque::len);
        if n_own >= places.waiting_of_tenant {
            return None;
        }
        if self.n_waiting >= places.waiting {
            let longest = self.of_tenants.iter().max_by_key(|(_, queue)| queue.len());
            let (longest, n_longest) = longest.map(|(name, queue)| (name.clone(), queue.len()))?;
            if n_longest <= n_own + 1 {
                return None;
            }
            // The last of the longest queue would wait longest, and hears at once that it waits in vain.
            self.leave(&longest, VecDeque::pop_back);
        }
        self.number += 1;
        self.n_waiting += 1;
        let (turn, waiting) = oneshot::channel();
        let queue = self.of_tenants.entry(tenant.clone()).or_default();
        if queue.is_empty() {
            self.order.push_back(tenant.clone());
        }
        queue.push_back(Waiting { number: self.number, turn });
        Some((self.number, waiting))
    }

    /// Removes a waiter from a tenant's queue.
    fn leave(
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

    /// Whose turn is next: the first of the tenant that has waited longest for its turn, and may have one more.
    fn next(&mut self, places: Capacity) -> Option<(TenantName, Waiting)> {
        if self.n_free == 0 {
            return None;
        }
        let n_own = |tenant: &TenantName| self.held.get(tenant).copied().unwrap_or_default();
        let may = |tenant: &TenantName| n_own(tenant) < places.at_once_of_tenant.max(1);
        let at = self.order.iter().position(may)?;
        let tenant = self.order.remove(at)?;
        // Behind all others, as far as it still waits.
        self.order.push_back(tenant.clone());
        let next = self.leave(&tenant, VecDeque::pop_front)?;
        self.n_free -= 1;
        *self.held.entry(tenant.clone()).or_default() += 1;
        Some((tenant, next))
    }
}

impl Shared {
    /// Gives the turns that are free to those who wait.
    fn pass_on(self: &Arc<Self>) {
        loop {
            let next = self.queues.lock().next(self.places);
            let Some((tenant, next)) = next else { return };
            if let Err(mut turn) = next.turn.send(Permit(Some((Arc::clone(self), tenant)))) {
                // The waiter has just dropped its future.
                if let Some((_, tenant)) = turn.0.take() {
                    self.queues.lock().give_back(&tenant);
                }
            }
        }
    }
}

impl std::fmt::Debug for Permit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Turn")
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some((shared, tenant)) = self.0.take() else { return };
        shared.queues.lock().give_back(&tenant);
        shared.pass_on();
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut queues = self.shared.queues.lock();
        // It is gone already where its turn has come.
        queues.leave(self.tenant, |queue| {
            // A queue is sorted by number.
            let at = queue.binary_search_by_key(&self.number, |it| it.number).ok()?;
            queue.remove(at)
        });
    }
}

#[cfg(test)]
mod tests;
