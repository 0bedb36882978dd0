//! A semaphore that tenants share evenly, however many permits each of them requests.
//!
//! Each tenant has its own queue, and permits go to the queues in turn. So a caller waits behind its tenant's earlier
//! callers, and behind one caller of each other tenant per round. When all queues together are full, the longest one
//! loses its last caller.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use gatehouse_core::TenantName;
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Too many callers wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many requests wait")]
pub struct QueueFull;

/// Limits of the semaphore and its queues.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Permits held at the same time, over all tenants.
    pub at_once: usize,
    /// Permits that one tenant may hold, so that a tenant that holds its permits for long leaves the rest to others.
    pub at_once_of_tenant: usize,
    /// Callers of one tenant that may wait.
    pub waiting_of_tenant: usize,
    /// Callers of all tenants that may wait.
    pub waiting: usize,
}

/// A semaphore with a queue per tenant. Cheap to clone; all clones share one state.
#[derive(Clone)]
pub struct FairSemaphore(Arc<Shared>);

struct Shared {
    capacity: Capacity,
    queues: Mutex<Queues>,
}

#[derive(Default)]
struct Queues {
    /// Free permits. While there is one, only tenants at their limit wait.
    n_free: usize,
    /// Permits that tenants hold; none is zero.
    held: HashMap<TenantName, usize>,
    n_waiting: usize,
    /// Number of the last waiter.
    number: u64,
    /// Waiters by tenant; no queue is empty.
    of_tenants: HashMap<TenantName, VecDeque<Waiter>>,
    /// Tenants with waiters, the next one first.
    order: VecDeque<TenantName>,
}

struct Waiter {
    number: u64,
    permit: oneshot::Sender<Permit>,
}

/// The right to proceed. Dropping it passes it on to the next waiter.
pub struct Permit(Option<(Arc<Shared>, TenantName)>);

/// A position in a tenant's queue. Dropping it leaves the queue.
struct QueuePosition<'a> {
    shared: &'a Shared,
    tenant: &'a TenantName,
    number: u64,
}

impl FairSemaphore {
    /// A semaphore with `capacity.at_once` permits, at least one.
    pub fn new(capacity: Capacity) -> Self {
        let queues = Queues { n_free: capacity.at_once.max(1), ..Queues::default() };
        Self(Arc::new(Shared { capacity, queues: Mutex::new(queues) }))
    }

    /// A permit that is free now.
    pub fn take_now(&self, tenant: &TenantName) -> Option<Permit> {
        let is_taken = self.0.queues.lock().try_take(tenant, self.0.capacity);
        is_taken.then(|| Permit(Some((Arc::clone(&self.0), tenant.clone()))))
    }

    /// Waits for a permit. Dropping the future leaves the queue.
    pub async fn take(&self, tenant: &TenantName) -> Result<Permit, QueueFull> {
        let (position, permit) = {
            let mut queues = self.0.queues.lock();
            if queues.try_take(tenant, self.0.capacity) {
                return Ok(Permit(Some((Arc::clone(&self.0), tenant.clone()))));
            }
            let (number, permit) = queues.enter(tenant, self.0.capacity).ok_or(QueueFull)?;
            (QueuePosition { shared: &self.0, tenant, number }, permit)
        };
        let permit = permit.await.map_err(|_| QueueFull);
        drop(position);
        permit
    }

    /// Number of waiters.
    pub fn n_waiting(&self) -> usize {
        self.0.queues.lock().n_waiting
    }
}

impl Queues {
    /// Takes a permit for a tenant, if one is free and the tenant is below its limit.
    fn try_take(&mut self, tenant: &TenantName, capacity: Capacity) -> bool {
        let n_own = self.held.get(tenant).copied().unwrap_or_default();
        // The tenant's queued waiters come first.
        let is_first = !self.of_tenants.contains_key(tenant);
        let is_taken = self.n_free > 0 && n_own < capacity.at_once_of_tenant.max(1) && is_first;
        if is_taken {
            self.n_free -= 1;
            *self.held.entry(tenant.clone()).or_default() += 1;
        }
        is_taken
    }

    /// Returns a tenant's permit.
    fn release(&mut self, tenant: &TenantName) {
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
        capacity: Capacity,
    ) -> Option<(u64, oneshot::Receiver<Permit>)> {
        let n_own = self.of_tenants.get(tenant).map_or(0, VecDeque::len);
        if n_own >= capacity.waiting_of_tenant {
            return None;
        }
        if self.n_waiting >= capacity.waiting {
            let longest = self.of_tenants.iter().max_by_key(|(_, queue)| queue.len());
            let (longest, n_longest) = longest.map(|(name, queue)| (name.clone(), queue.len()))?;
            if n_longest <= n_own + 1 {
                return None;
            }
            // The last waiter of the longest queue would wait longest, and fails at once.
            self.leave(&longest, VecDeque::pop_back);
        }
        self.number += 1;
        self.n_waiting += 1;
        let (permit, waiting) = oneshot::channel();
        let queue = self.of_tenants.entry(tenant.clone()).or_default();
        if queue.is_empty() {
            self.order.push_back(tenant.clone());
        }
        queue.push_back(Waiter { number: self.number, permit });
        Some((self.number, waiting))
    }

    /// Removes a waiter from a tenant's queue.
    fn leave(
        &mut self,
        tenant: &TenantName,
        choose: impl FnOnce(&mut VecDeque<Waiter>) -> Option<Waiter>,
    ) -> Option<Waiter> {
        let queue = self.of_tenants.get_mut(tenant)?;
        let taken = choose(queue);
        if queue.is_empty() {
            self.of_tenants.remove(tenant);
            self.order.retain(|it| it != tenant);
        }
        self.n_waiting -= usize::from(taken.is_some());
        taken
    }

    /// Removes the next waiter: the first of the next tenant that is below its limit.
    fn next(&mut self, capacity: Capacity) -> Option<(TenantName, Waiter)> {
        if self.n_free == 0 {
            return None;
        }
        let n_own = |tenant: &TenantName| self.held.get(tenant).copied().unwrap_or_default();
        let may = |tenant: &TenantName| n_own(tenant) < capacity.at_once_of_tenant.max(1);
        let at = self.order.iter().position(may)?;
        let tenant = self.order.remove(at)?;
        // The tenant goes to the end of the order, if it still has waiters.
        self.order.push_back(tenant.clone());
        let next = self.leave(&tenant, VecDeque::pop_front)?;
        self.n_free -= 1;
        *self.held.entry(tenant.clone()).or_default() += 1;
        Some((tenant, next))
    }
}

impl Shared {
    /// Gives the free permits to waiters.
    fn pass_on(self: &Arc<Self>) {
        loop {
            let next = self.queues.lock().next(self.capacity);
            let Some((tenant, next)) = next else { return };
            if let Err(mut permit) = next.permit.send(Permit(Some((Arc::clone(self), tenant)))) {
                // The waiter has just dropped its future.
                if let Some((_, tenant)) = permit.0.take() {
                    self.queues.lock().release(&tenant);
                }
            }
        }
    }
}

impl std::fmt::Debug for Permit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Permit")
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some((shared, tenant)) = self.0.take() else { return };
        shared.queues.lock().release(&tenant);
        shared.pass_on();
    }
}

impl Drop for QueuePosition<'_> {
    fn drop(&mut self) {
        let mut queues = self.shared.queues.lock();
        // A waiter with a permit has left the queue already.
        queues.leave(self.tenant, |queue| {
            // A queue is sorted by number.
            let at = queue.binary_search_by_key(&self.number, |it| it.number).ok()?;
            queue.remove(at)
        });
    }
}

#[cfg(test)]
mod tests;
