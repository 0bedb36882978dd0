//! The bounded pool of slow hashes: a storm of them can't exhaust the memory or starve the rest.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Semaphore;
use tracing::{Instrument, Span};

use crate::meter::{Held, VaultMeter};

/// Slow hashes that may wait for their turn; more are turned away.
const WAITING_MAX: usize = 512;

/// Too many slow hashes are waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many passwords are being hashed, try again later")]
pub struct Busy;

/// Runs slow hashes, a few at a time.
pub(crate) struct HashPool {
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    meter: Arc<VaultMeter>,
}

impl HashPool {
    /// A pool that leaves one core to everything else, where there is more than one.
    pub(crate) fn new(meter: Arc<VaultMeter>) -> Self {
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self::with(n_cores.saturating_sub(1).max(1), WAITING_MAX, meter)
    }

    fn with(n_running: usize, n_waiting: usize, meter: Arc<VaultMeter>) -> Self {
        Self {
            running: Arc::new(Semaphore::new(n_running)),
            waiting: Arc::new(Semaphore::new(n_running + n_waiting)),
            meter,
        }
    }

    /// Runs one slow hash when its turn comes.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        hash: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Busy> {
        // Work that no request waits for is part of no trace.
        let span = if Span::current().is_none() {
            Span::none()
        } else {
            tracing::info_span!("password hash")
        };
        self.take_turn(hash).instrument(span).await
    }

    async fn take_turn<T: Send + 'static>(
        &self,
        hash: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Busy> {
        let place = Arc::clone(&self.waiting).try_acquire_owned().map_err(|_| {
            self.meter.refused.inc();
            Busy
        })?;
        let waiting = Held::new(&self.meter.waiting);
        let turn = Arc::clone(&self.running).acquire_owned().await.map_err(|_| Busy)?;
        drop(waiting);
        let running = Held::new(&self.meter.running);
        let meter = Arc::clone(&self.meter);
        let hashed = tokio::task::spawn_blocking(move || {
            // Held by the work, not by who waits for it: a client that goes away frees nothing early.
            let _held = (place, turn, running);
            let began = Instant::now();
            let hashed = hash();
            meter.durations.observe(began.elapsed().as_secs_f64());
            hashed
        });
        hashed.await.map_err(|_| Busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_does_not_fit_is_turned_away_and_the_rest_is_run() {
        let pool = Arc::new(HashPool::with(1, 1, Arc::new(VaultMeter::new())));
        let busy = || (pool.meter.running.get(), pool.meter.waiting.get());
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let (began, begun) = tokio::sync::oneshot::channel();
        let first = tokio::spawn({
            let pool = Arc::clone(&pool);
            async move {
                let work = move || {
                    let _ = began.send(());
                    gate.recv().is_ok()
                };
                pool.run(work).await
            }
        });
        begun.await.unwrap();
        let mut second = Box::pin(pool.run(|| true));
        assert!(futures_are_pending(&mut second).await, "one waits");
        assert_eq!(busy(), (1, 1));
        assert_eq!(pool.run(|| true).await, Err(Busy), "the next is turned away");
        assert_eq!(pool.meter.refused.get(), 1);
        open.send(()).unwrap();
        assert_eq!((first.await.unwrap(), second.await), (Ok(true), Ok(true)));
        assert_eq!(pool.run(|| 7).await, Ok(7), "and there is room again");
        assert_eq!(busy(), (0, 0), "nobody is left");
        assert_eq!(pool.meter.durations.get_sample_count(), 3);
    }

    async fn futures_are_pending<F: Future + Unpin>(future: &mut F) -> bool {
        std::future::poll_fn(|cx| {
            std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(cx).is_pending())
        })
        .await
    }
}
