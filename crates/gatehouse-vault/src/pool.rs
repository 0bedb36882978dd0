//! The bounded pool of slow hashes: a storm of them can't exhaust the memory or starve the rest, and tenants take turns.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use gatehouse_core::TenantName;
use gatehouse_fair_semaphore::{Capacity, FairSemaphore, Permit, QueueFull};
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
pub struct PoolBusy;

/// For whom a slow hash is made.
#[derive(Clone, Copy)]
pub struct HashCaller<'a> {
    /// The tenant, whose turn it takes.
    pub tenant: &'a TenantName,
    /// Tells when the client disconnects: the pool then drops a queued hash.
    pub gone: &'a dyn Disconnection,
}

/// Tells when a client disconnects.
pub trait Disconnection: Send + Sync {
    /// Waits until the client disconnects. The pool calls `wait` for queued hashes alone, so that watching a
    /// connection costs other requests nothing.
    fn wait(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

impl Disconnection for CancellationToken {
    fn wait(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.cancelled())
    }
}

/// Runs slow hashes, a few at a time.
pub(crate) struct HashPool {
    turns: FairSemaphore,
    meter: Arc<VaultMeter>,
}

impl HashPool {
    /// A pool that leaves one core to everything else, where there is more than one.
    pub(crate) fn new(meter: Arc<VaultMeter>) -> Self {
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        let at_once = n_cores.saturating_sub(1).max(1);
        let (waiting_of_tenant, waiting) = (WAITING_OF_TENANT_MAX, WAITING_MAX);
        // Hashes are short, so no tenant holds a turn for long.
        let at_once_of_tenant = at_once;
        let places = Capacity { at_once, at_once_of_tenant, waiting_of_tenant, waiting };
        Self { turns: FairSemaphore::new(places), meter }
    }

    /// Runs one slow hash when its turn comes.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        asker: HashCaller<'_>,
        hash: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolBusy> {
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
        asker: HashCaller<'_>,
        hash: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolBusy> {
        #[cfg(feature = "simulation")]
        if crate::simulation::is_on() {
            return Ok(hash());
        }
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
        hashed.await.map_err(|_| PoolBusy)
    }

    /// Waits for a turn until the client disconnects.
    async fn turn(&self, HashCaller { tenant, gone }: HashCaller<'_>) -> Result<Permit, PoolBusy> {
        if let Some(turn) = self.turns.take_now(tenant) {
            return Ok(turn);
        }
        let _waiting = Held::new(&self.meter.waiting);
        tokio::select! {
            biased;
            turn = self.turns.take(tenant) => turn.map_err(|QueueFull| {
                self.meter.refused.inc();
                PoolBusy
            }),
            () = gone.wait() => Err(PoolBusy),
        }
    }
}

#[cfg(test)]
mod tests;
