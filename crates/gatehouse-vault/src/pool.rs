//! The bounded pool of slow hashes: a flood of them can't exhaust the memory or starve other work, and tenants
//! alternate.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use gatehouse_core::TenantName;
use gatehouse_fair_semaphore::{Capacity, FairSemaphore, Permit, QueueFull};
use gatehouse_meter::GaugeGuard;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use crate::meter::VaultMeter;

/// Slow hashes of one tenant that may wait; more are refused.
const WAITING_OF_TENANT_MAX: usize = 512;

/// Slow hashes of all tenants that may wait.
const WAITING_MAX: usize = 4096;

/// Too many slow hashes are waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many passwords are being hashed, try again later")]
pub struct PoolBusy;

/// The caller that needs a slow hash.
#[derive(Clone, Copy)]
pub struct HashCaller<'a> {
    /// The tenant that the permit counts for.
    pub tenant: &'a TenantName,
    /// Signals that the client has disconnected: the pool then drops a queued hash.
    pub disconnection: &'a dyn Disconnection,
}

/// Signals that a client has disconnected.
pub trait Disconnection: Send + Sync {
    /// Waits until the client disconnects. The pool calls `wait` for queued hashes alone, so that watching a connection
    /// costs other requests nothing.
    fn wait(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

impl Disconnection for CancellationToken {
    fn wait(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.cancelled())
    }
}

/// Most checks of other programs' hashes at a time, each of which may need 256 MiB.
const FOREIGN_AT_ONCE_MAX: usize = 4;

/// Runs slow hashes, a few at a time.
pub(crate) struct HashPool {
    permits: FairSemaphore,
    /// Permits for checks of other programs' hashes, which come in addition.
    foreign_permits: FairSemaphore,
    meter: Arc<VaultMeter>,
}

impl HashPool {
    /// A pool that leaves one core to other work, where there is more than one.
    pub(crate) fn new(meter: Arc<VaultMeter>) -> Self {
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        let at_once = n_cores.saturating_sub(1).max(1);
        let (waiting_of_tenant, waiting) = (WAITING_OF_TENANT_MAX, WAITING_MAX);
        // Hashes are short, so no tenant holds a permit for long.
        let at_once_of_tenant = at_once;
        let capacity = Capacity { at_once, at_once_of_tenant, waiting_of_tenant, waiting };
        Self::with_capacity(capacity, meter)
    }

    fn with_capacity(capacity: Capacity, meter: Arc<VaultMeter>) -> Self {
        // Checks of other programs' hashes may take seconds and 256 MiB: they get half of the pool, where it has two
        // halves, but not more memory than a small host has. A tenant leaves a permit to the others.
        let at_once = (capacity.at_once / 2).clamp(1, FOREIGN_AT_ONCE_MAX);
        let at_once_of_tenant = (at_once - 1).max(1);
        let of_foreign = Capacity { at_once, at_once_of_tenant, ..capacity };
        Self {
            permits: FairSemaphore::new(capacity),
            foreign_permits: FairSemaphore::new(of_foreign),
            meter,
        }
    }

    /// Runs one check of another program's hash once it has both permits.
    pub(crate) async fn run_foreign<T: Send + 'static>(
        &self,
        caller: HashCaller<'_>,
        check: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolBusy> {
        #[cfg(feature = "simulation")]
        if crate::simulation::is_on() {
            return Ok(check());
        }
        let permit = self.permit(&self.foreign_permits, caller).await?;
        let check = move || {
            let checked = check();
            drop(permit);
            checked
        };
        self.run(caller, check).await
    }

    /// Runs one slow hash once it has a permit.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        caller: HashCaller<'_>,
        hash: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolBusy> {
        // Background work is part of no trace.
        let span = if Span::current().is_none() {
            Span::none()
        } else {
            tracing::info_span!("password hash")
        };
        self.run_with_permit(caller, hash).instrument(span).await
    }

    async fn run_with_permit<T: Send + 'static>(
        &self,
        caller: HashCaller<'_>,
        hash: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolBusy> {
        #[cfg(feature = "simulation")]
        if crate::simulation::is_on() {
            return Ok(hash());
        }
        let permit = self.permit(&self.permits, caller).await?;
        let running = GaugeGuard::new(&self.meter.running);
        let meter = Arc::clone(&self.meter);
        let hashed = tokio::task::spawn_blocking(move || {
            // Held by the work, not by its caller: a client that disconnects frees nothing early.
            let _held = (permit, running);
            let began = Instant::now();
            let hashed = hash();
            meter.durations.observe(began.elapsed().as_secs_f64());
            hashed
        });
        hashed.await.map_err(|_| PoolBusy)
    }

    /// Waits for a permit until the client disconnects.
    async fn permit(
        &self,
        permits: &FairSemaphore,
        HashCaller { tenant, disconnection }: HashCaller<'_>,
    ) -> Result<Permit, PoolBusy> {
        if let Some(permit) = permits.take_now(tenant) {
            return Ok(permit);
        }
        let _waiting = GaugeGuard::new(&self.meter.waiting);
        tokio::select! {
            biased;
            permit = permits.take(tenant) => permit.map_err(|QueueFull| {
                self.meter.refused.inc();
                PoolBusy
            }),
            () = disconnection.wait() => Err(PoolBusy),
        }
    }
}

#[cfg(test)]
mod tests;
