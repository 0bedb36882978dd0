//! BodyMemory for large bodies: how much of all of them is in memory at a time, and how much of it is one tenant's.
//!
//! A body takes room as its bytes arrive, not as it announces them: one that was begun and never goes on holds next to
//! nothing. So that bodies which wait for more room don't wait for each other for ever, the one that began first can
//! always become as large as any may be: what the others hold together leaves as much, of the whole and of each tenant's
//! share.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::config::Limits;
use crate::http::answer::problem::Problem;

/// Most bytes of large bodies that are held at a time; three of the largest always fit, two of one tenant. What is no larger than an object
/// may be is bounded by how many requests there are.
const BYTES_MAX: u64 = 256 << 20;

/// One in so many is one tenant's, where that has room for two of the largest bodies.
const TENANT_SHARE: u64 = 4;

/// What room is given out in.
const UNIT_BYTES: u64 = 1 << 20;

/// BodyMemory for large bodies. Cheap to clone; all clones are one.
#[derive(Clone)]
pub(crate) struct LargeBodies(Arc<Inner>);

struct Inner {
    bodies: Mutex<Bodies>,
    /// Told when there is more room.
    freed: Notify,
    sizes: Sizes,
}

/// How much room there is, in units.
#[derive(Clone, Copy)]
struct Sizes {
    all: u64,
    of_tenant: u64,
    largest: u64,
}

#[derive(Default)]
struct Bodies {
    n_begun: u64,
    /// By the order in which they began.
    held: BTreeMap<u64, Held>,
}

struct Held {
    tenant: String,
    n_units: u64,
    /// Whether all of it is there: it needs no more.
    is_whole: bool,
}

/// The room of one body, which is free again when this is dropped.
pub(crate) struct BodyMemory {
    bodies: LargeBodies,
    number: u64,
}

impl LargeBodies {
    pub(crate) fn new(limits: &Limits) -> Self {
        let largest = units(limits.body_bytes);
        let all = units(BYTES_MAX).max(3 * largest);
        let sizes = Sizes { all, of_tenant: (all / TENANT_SHARE).max(2 * largest), largest };
        Self(Arc::new(Inner { bodies: Mutex::default(), freed: Notify::new(), sizes }))
    }

    /// BodyMemory for a body of a tenant, which is empty yet.
    pub(crate) fn begin(&self, tenant: &str) -> BodyMemory {
        let mut bodies = self.0.bodies.lock();
        bodies.n_begun += 1;
        let number = bodies.n_begun;
        bodies.held.insert(number, Held { tenant: tenant.to_owned(), n_units: 0, is_whole: false });
        BodyMemory { bodies: self.clone(), number }
    }
}

impl BodyMemory {
    /// Waits until so many bytes have room.
    pub(crate) async fn grow_to(&self, n_bytes: u64) {
        let n_units = units(n_bytes);
        loop {
            let freed = self.bodies.0.freed.notified();
            let mut freed = std::pin::pin!(freed);
            // Before it is looked, so that nothing is missed in between.
            freed.as_mut().enable();
            if self.bodies.0.bodies.lock().grow(self.number, n_units, self.bodies.0.sizes) {
                return;
            }
            freed.await;
        }
    }

    /// All of it is there.
    pub(crate) fn close(&self) {
        if let Some(held) = self.bodies.0.bodies.lock().held.get_mut(&self.number) {
            held.is_whole = true;
        }
        self.bodies.0.freed.notify_waiters();
    }
}

impl Drop for BodyMemory {
    fn drop(&mut self) {
        self.bodies.0.bodies.lock().held.remove(&self.number);
        self.bodies.0.freed.notify_waiters();
    }
}

impl Bodies {
    /// Gives a body so much room; false where that has to wait.
    fn grow(&mut self, number: u64, n_units: u64, sizes: Sizes) -> bool {
        let Some(own) = self.held.get(&number) else { return true };
        let Some(n_more) = n_units.checked_sub(own.n_units).filter(|n| *n > 0) else { return true };
        let tenant = own.tenant.as_str();
        let of_all = self.fits(number, n_more, sizes.all, sizes.largest, |_| true);
        let of_tenant =
            self.fits(number, n_more, sizes.of_tenant, sizes.largest, |it| it.tenant == tenant);
        let fits = of_all && of_tenant;
        if fits && let Some(own) = self.held.get_mut(&number) {
            own.n_units = n_units;
        }
        fits
    }

    /// Whether so much more fits into a room that these bodies share.
    fn fits(
        &self,
        number: u64,
        n_more: u64,
        room: u64,
        largest: u64,
        shares: impl Fn(&Held) -> bool,
    ) -> bool {
        let sharing = || self.held.iter().filter(|(_, it)| shares(it));
        let n_held: u64 = sharing().map(|(_, it)| it.n_units).sum();
        let mut growing = sharing().filter(|(_, it)| !it.is_whole);
        let first = growing.next().map(|(number, _)| *number);
        let n_behind: u64 = growing.map(|(_, it)| it.n_units).sum();
        let leaves_enough = first == Some(number) || n_behind + n_more <= room - largest;
        n_held + n_more <= room && leaves_enough
    }
}

fn units(n_bytes: u64) -> u64 {
    n_bytes.div_ceil(UNIT_BYTES)
}

/// Most bytes of a body that is read where requests are answered. A larger one would hold up others, and
/// is read beside.
pub(in crate::http) const SMALL_BYTES_MAX: usize = 64 << 10;

/// Runs work over a body: a large one on a blocking thread, so that no request waits for it.
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
