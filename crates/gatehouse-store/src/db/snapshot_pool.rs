//! The bounded pool for snapshots, which read many rows: a few run at a time, some wait, and the rest are refused at
//! once. Tenants take turns, and the server's own reads have a reserved slot.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::Either;
use gatehouse_core::TenantName;
use gatehouse_fair_semaphore::{Capacity, FairSemaphore, Permit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::StoreError;

/// Most reads that may wait, per tenant and in all. When the queue is full, the tenant with the longest queue loses a
/// read.
const WAITING_MAX: usize = 64;

/// The server's own reads at a time.
const SERVER_READS: usize = 1;

pub(super) struct SnapshotPool {
    tenants: FairSemaphore,
    server: Arc<Semaphore>,
}

/// Permission to run a snapshot, which ends when it is dropped.
pub(super) type SnapshotPermit = Either<Permit, OwnedSemaphorePermit>;

impl SnapshotPool {
    /// Makes a pool for `n_at_once` reads: one for the server's own, and at least two for tenants.
    pub(super) fn new(n_at_once: usize) -> Self {
        let at_once = n_at_once.saturating_sub(SERVER_READS).max(2);
        let capacity = Capacity {
            at_once,
            // Slow reads of one tenant leave one slot to the others.
            at_once_of_tenant: at_once - 1,
            waiting_of_tenant: WAITING_MAX,
            waiting: WAITING_MAX,
        };
        Self {
            tenants: FairSemaphore::new(capacity),
            server: Arc::new(Semaphore::new(SERVER_READS)),
        }
    }

    /// Waits for a slot of the tenant, or of the server for `None`, at most for `limit`.
    pub(super) async fn enter(
        &self,
        tenant: Option<&TenantName>,
        limit: Option<Duration>,
    ) -> Result<SnapshotPermit, StoreError> {
        let permit = async {
            match tenant {
                Some(tenant) => match self.tenants.take(tenant).await {
                    Ok(permit) => Ok(Either::Left(permit)),
                    Err(_full) => Err(StoreError::Busy),
                },
                None => match Arc::clone(&self.server).acquire_owned().await {
                    Ok(permit) => Ok(Either::Right(permit)),
                    Err(_closed) => Err(StoreError::closed()),
                },
            }
        };
        match limit {
            Some(limit) => {
                tokio::time::timeout(limit, permit).await.map_err(|_| StoreError::Busy)?
            }
            None => permit.await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> TenantName {
        name.parse().unwrap()
    }

    #[tokio::test]
    async fn a_few_run_some_wait_and_the_rest_are_refused() {
        let (pool, acme) = (SnapshotPool::new(1), tenant("acme"));
        let enter = || Box::pin(pool.enter(Some(&acme), None));
        let first = enter().await.unwrap();
        let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| enter()).collect();
        for permit in &mut waiting {
            assert!(futures_util::poll!(permit).is_pending());
        }
        assert!(matches!(enter().await, Err(StoreError::Busy)));
        drop(first);
        let second = waiting.remove(0).await.unwrap();
        let late = pool.enter(Some(&acme), Some(Duration::ZERO)).await;
        assert!(matches!(late, Err(StoreError::Busy)));
        drop(second);
        assert!(waiting.remove(0).await.is_ok());
    }

    #[tokio::test]
    async fn a_tenant_that_fills_the_queue_loses_reads_to_the_others() {
        let (pool, flood, calm) = (SnapshotPool::new(1), tenant("flood"), tenant("calm"));
        let first = pool.enter(Some(&flood), None).await.unwrap();
        let _other = pool.enter(Some(&tenant("other")), None).await.unwrap();
        let mut waiting: Vec<_> =
            (0..WAITING_MAX).map(|_| Box::pin(pool.enter(Some(&flood), None))).collect();
        for permit in &mut waiting {
            assert!(futures_util::poll!(permit).is_pending());
        }
        let mut calm = Box::pin(pool.enter(Some(&calm), None));
        assert!(futures_util::poll!(&mut calm).is_pending());
        assert!(matches!(waiting.pop().unwrap().await, Err(StoreError::Busy)));
        assert!(pool.enter(None, None).await.is_ok(), "the server's own read waits for tenants");
        drop(first);
        let next = waiting.remove(0).await.unwrap();
        drop(next);
        // The flooding tenant has had its permit.
        assert!(calm.await.is_ok());
    }

    #[tokio::test]
    async fn slow_reads_of_one_tenant_leave_a_slot_to_the_others() {
        let (slow, calm) = (tenant("slow"), tenant("calm"));
        for (n_at_once, n_of_tenant) in [(1, 1), (2, 1), (3, 1), (4, 2)] {
            let pool = SnapshotPool::new(n_at_once);
            let mut held = Vec::new();
            for _ in 0..n_of_tenant {
                held.push(pool.enter(Some(&slow), None).await.unwrap());
            }
            let further = pool.enter(Some(&slow), Some(Duration::ZERO)).await;
            assert!(matches!(further, Err(StoreError::Busy)), "of {n_at_once}");
            let other = pool.enter(Some(&calm), Some(Duration::ZERO)).await;
            assert!(other.is_ok(), "of {n_at_once}");
        }
    }
}
