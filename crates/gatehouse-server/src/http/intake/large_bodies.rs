//! Memory for large bodies, with a limit for all of them and one for each tenant.
//!
//! A body reserves memory as its bytes arrive, not by its `Content-Length`: a stalled upload holds next to nothing.
//! Deadlock is impossible, because the oldest incomplete body can always grow to the largest size: the others together
//! leave that much free, both of the whole and of each tenant's share.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::config::Limits;
use crate::http::answer::problem::Problem;

/// Most bytes of all large bodies; three of the largest always fit, two of one tenant. The number of requests limits
/// what small bodies hold.
const BYTES_MAX: u64 = 256 << 20;

/// Divisor of all memory that gives one tenant's share, which always fits two of the largest bodies.
const TENANT_SHARE: u64 = 4;

const UNIT_BYTES: u64 = 1 << 20;

/// Memory for large bodies. Cheap to clone; all clones share one state.
#[derive(Clone)]
pub(crate) struct LargeBodies(Arc<Inner>);

struct Inner {
    bodies: Mutex<Bodies>,
    /// Notified when memory may have become free.
    freed: Notify,
    limits: MemoryLimits,
}

#[derive(Clone, Copy)]
struct MemoryLimits {
    all: u64,
    of_tenant: u64,
    largest: u64,
}

#[derive(Default)]
struct Bodies {
    n_started: u64,
    /// By number, which is the order in which the bodies started.
    reserved: BTreeMap<u64, Reservation>,
}

struct Reservation {
    tenant: String,
    n_units: u64,
    /// Whether the whole body has arrived, so that it doesn't grow any more.
    is_complete: bool,
}

/// Memory reserved for one body; dropping it frees the memory.
pub(crate) struct BodyMemory {
    bodies: LargeBodies,
    number: u64,
}

impl LargeBodies {
    pub(crate) fn new(config: &Limits) -> Self {
        let largest = units(config.body_bytes);
        let all = units(BYTES_MAX).max(3 * largest);
        let limits =
            MemoryLimits { all, of_tenant: (all / TENANT_SHARE).max(2 * largest), largest };
        Self(Arc::new(Inner { bodies: Mutex::default(), freed: Notify::new(), limits }))
    }

    /// Starts an empty reservation for a body of this tenant.
    pub(crate) fn begin(&self, tenant: &str) -> BodyMemory {
        let mut bodies = self.0.bodies.lock();
        bodies.n_started += 1;
        let number = bodies.n_started;
        bodies.reserved.insert(
            number,
            Reservation { tenant: tenant.to_owned(), n_units: 0, is_complete: false },
        );
        BodyMemory { bodies: self.clone(), number }
    }
}

impl BodyMemory {
    /// Waits until the reservation covers this many bytes.
    pub(crate) async fn grow_to(&self, n_bytes: u64) {
        let n_units = units(n_bytes);
        loop {
            let freed = self.bodies.0.freed.notified();
            let mut freed = std::pin::pin!(freed);
            // Registered before the check, so that no notification is missed in between.
            freed.as_mut().enable();
            if self.bodies.0.bodies.lock().grow(self.number, n_units, self.bodies.0.limits) {
                return;
            }
            freed.await;
        }
    }

    /// Marks the body as complete: it doesn't grow any more.
    pub(crate) fn complete(&self) {
        if let Some(reservation) = self.bodies.0.bodies.lock().reserved.get_mut(&self.number) {
            reservation.is_complete = true;
        }
        self.bodies.0.freed.notify_waiters();
    }
}

impl Drop for BodyMemory {
    fn drop(&mut self) {
        self.bodies.0.bodies.lock().reserved.remove(&self.number);
        self.bodies.0.freed.notify_waiters();
    }
}

impl Bodies {
    /// Grows a reservation to this size; false if it has to wait.
    fn grow(&mut self, number: u64, n_units: u64, limits: MemoryLimits) -> bool {
        let Some(reservation) = self.reserved.get(&number) else { return true };
        let Some(n_more) = n_units.checked_sub(reservation.n_units).filter(|n| *n > 0) else {
            return true;
        };
        let tenant = reservation.tenant.as_str();
        let of_all = self.fits(number, n_more, limits.all, limits.largest, |_| true);
        let of_tenant =
            self.fits(number, n_more, limits.of_tenant, limits.largest, |it| it.tenant == tenant);
        let fits = of_all && of_tenant;
        if fits && let Some(reservation) = self.reserved.get_mut(&number) {
            reservation.n_units = n_units;
        }
        fits
    }

    /// Whether this many more units fit into a limit that the bodies matched by `shares` have in common.
    fn fits(
        &self,
        number: u64,
        n_more: u64,
        limit: u64,
        largest: u64,
        shares: impl Fn(&Reservation) -> bool,
    ) -> bool {
        let sharing = || self.reserved.iter().filter(|(_, it)| shares(it));
        let n_reserved: u64 = sharing().map(|(_, it)| it.n_units).sum();
        let mut growing = sharing().filter(|(_, it)| !it.is_complete);
        let oldest = growing.next().map(|(number, _)| *number);
        let n_younger: u64 = growing.map(|(_, it)| it.n_units).sum();
        let leaves_enough = oldest == Some(number) || n_younger + n_more <= limit - largest;
        n_reserved + n_more <= limit && leaves_enough
    }
}

fn units(n_bytes: u64) -> u64 {
    n_bytes.div_ceil(UNIT_BYTES)
}

/// Most bytes of a body that is parsed on a runtime thread. Parsing a larger one would delay other requests.
pub(in crate::http) const SMALL_BYTES_MAX: usize = 64 << 10;

/// Runs work on a body of this size: for a large one on a blocking thread, so that no other request waits.
pub(in crate::http) async fn process_body<T: Send + 'static>(
    n_bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    if n_bytes <= SMALL_BYTES_MAX {
        return Ok(work());
    }
    tokio::task::spawn_blocking(work).await.map_err(|panic| {
        let mut problem = Problem::internal();
        problem.cause = Some(panic.to_string().into());
        problem
    })
}

#[cfg(test)]
mod tests;
