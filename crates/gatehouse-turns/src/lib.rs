//! Taking turns: what there is little of is shared by tenants evenly, however many each of them asks for.
//!
//! Each tenant has a queue of its own, and the queues take turns. So a tenant waits behind what it asked for itself, and
//! behind one turn of each other tenant; and where all queues together are full, the longest gives way.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gatehouse_core::TenantName;
use tokio::sync::oneshot;

/// Too many wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many wait for their turn")]
pub struct Full;

/// How many may be at it at the same time, and how many may wait.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// Turns that there are at the same time.
    pub at_once: usize,
    /// How many of one tenant may wait.
    pub waiting_of_tenant: usize,
    /// How many of all tenants may wait.
    pub waiting: usize,
}

/// What tenants take turns with. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Turns(Arc<Shared>);

struct Shared {
    places: Places,
    queues: Mutex<Queues>,
}

#[derive(Default)]
struct Queues {
    /// Turns that could be had at once. Nobody waits while there is one.
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

/// The right to go ahead. When it is dropped, it goes to the next.
pub struct Turn(Option<Arc<Shared>>);

/// A place in a tenant's queue, which is left when this is dropped.
struct Place<'a> {
    shared: &'a Shared,
    tenant: &'a TenantName,
    number: u64,
}

impl Turns {
    /// So many at the same time, at least one.
    pub fn new(places: Places) -> Self {
        let queues = Queues { n_free: places.at_once.max(1), ..Queues::default() };
        Self(Arc::new(Shared { places, queues: Mutex::new(queues) }))
    }

    /// A turn that can be had at once.
    pub fn take_now(&self) -> Option<Turn> {
        let mut queues = self.0.lock();
        queues.n_free = queues.n_free.checked_sub(1)?;
        Some(Turn(Some(Arc::clone(&self.0))))
    }

    /// Waits for a turn. Whoever stops waiting has left the queue.
    pub async fn take(&self, tenant: &TenantName) -> Result<Turn, Full> {
        if let Some(turn) = self.take_now() {
            return Ok(turn);
        }
        let (place, turn) = {
            let mut queues = self.0.lock();
            // One may have become free in between.
            if queues.n_free > 0 {
                queues.n_free -= 1;
                return Ok(Turn(Some(Arc::clone(&self.0))));
            }
            let (number, turn) = queues.enter(tenant, self.0.places).ok_or(Full)?;
            (Place { shared: &self.0, tenant, number }, turn)
        };
        let turn = turn.await.map_err(|_| Full);
        drop(place);
        turn
    }

    /// How many wait.
    pub fn n_waiting(&self) -> usize {
        self.0.lock().n_waiting
    }
}

impl Queues {
    /// Puts somebody at the end of a tenant's queue, where there is room.
    fn enter(
        &mut self,
        tenant: &TenantName,
        places: Places,
    ) -> Option<(u64, oneshot::Receiver<Turn>)> {
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

    /// Takes somebody out of a tenant's queue.
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

    /// Whose turn is next: the first of the tenant that has waited longest for its turn.
    fn next(&mut self) -> Option<Waiting> {
        let tenant = self.order.pop_front()?;
        // Behind all others, as far as it still waits.
        self.order.push_back(tenant.clone());
        self.leave(&tenant, VecDeque::pop_front)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        // Queues are whole whatever panicked beside them.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
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
        // It is gone already where its turn has come.
        queues.leave(self.tenant, |queue| {
            let at = queue.iter().position(|it| it.number == self.number)?;
            queue.remove(at)
        });
    }
}

#[cfg(test)]
mod tests;
