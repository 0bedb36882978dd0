//! The bounded pool for snapshots, which read many rows: a few run at a time, some wait, and the rest are refused at
//! once. Tenants take turns. Scans, which look at rows one by one, wait in a lane of their own, so that no other read
//! waits behind them; and the server's own reads have a reserved slot.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::Either;
use gatehouse_core::TenantName;
use gatehouse_fair_semaphore::{Capacity, FairSemaphore, Permit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::SnapshotFor;
use crate::error::StoreError;

/// Most reads that may wait, per tenant and in all. When the queue is full, the tenant with the longest queue loses a
/// read.
const WAITING_MAX: usize = 64;

/// The server's own reads at a time.
const SERVER_READS: usize = 1;

pub(super) struct SnapshotPool {
    tenants: FairSemaphore,
    scans: FairSemaphore,
    server: Arc<Semaphore>,
}

/// Permission to run a snapshot, which ends when it is dropped.
pub(super) type SnapshotPermit = Either<Permit, OwnedSemaphorePermit>;

impl SnapshotPool {
    /// Makes a pool for one of the server's own reads, `n_of_tenants` reads of tenants and `n_scans` of their scans; at
    /// least two of each.
    pub(super) fn new(n_of_tenants: usize, n_scans: usize) -> Self {
        Self {
            tenants: FairSemaphore::new(lane(n_of_tenants)),
            scans: FairSemaphore::new(lane(n_scans)),
            server: Arc::new(Semaphore::new(SERVER_READS)),
        }
    }

    /// Waits for a slot of the caller, at most for `limit`.
    pub(super) async fn enter(
        &self,
        caller: SnapshotFor<'_>,
        limit: Option<Duration>,
    ) -> Result<SnapshotPermit, StoreError> {
        let take = async |lane: &FairSemaphore, tenant: &TenantName| match lane.take(tenant).await {
            Ok(permit) => Ok(Either::Left(permit)),
            Err(_full) => Err(StoreError::Busy),
        };
        let permit = async {
            match caller {
                SnapshotFor::Tenant(tenant) => take(&self.tenants, tenant).await,
                SnapshotFor::Scan(tenant) => take(&self.scans, tenant).await,
                SnapshotFor::Server(_) => match Arc::clone(&self.server).acquire_owned().await {
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

fn lane(n_at_once: usize) -> Capacity {
    let at_once = n_at_once.max(2);
    Capacity {
        at_once,
        // Slow reads of one tenant leave one slot to the others.
        at_once_of_tenant: at_once - 1,
        waiting_of_tenant: WAITING_MAX,
        waiting: WAITING_MAX,
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
        let (pool, acme) = (SnapshotPool::new(1, 1), tenant("acme"));
        let enter = || Box::pin(pool.enter(SnapshotFor::Tenant(&acme), None));
        let first = enter().await.unwrap();
        let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| enter()).collect();
        for permit in &mut waiting {
            assert!(futures_util::poll!(permit).is_pending());
        }
        assert!(matches!(enter().await, Err(StoreError::Busy)));
        drop(first);
        let second = waiting.remove(0).await.unwrap();
        let late = pool.enter(SnapshotFor::Tenant(&acme), Some(Duration::ZERO)).await;
        assert!(matches!(late, Err(StoreError::Busy)));
        drop(second);
        assert!(waiting.remove(0).await.is_ok());
    }

    #[tokio::test]
    async fn a_tenant_that_fills_the_queue_loses_reads_to_the_others() {
        let (pool, flood, calm) = (SnapshotPool::new(1, 1), tenant("flood"), tenant("calm"));
        let first = pool.enter(SnapshotFor::Tenant(&flood), None).await.unwrap();
        let _other = pool.enter(SnapshotFor::Tenant(&tenant("other")), None).await.unwrap();
        let mut waiting: Vec<_> = (0..WAITING_MAX)
            .map(|_| Box::pin(pool.enter(SnapshotFor::Tenant(&flood), None)))
            .collect();
        for permit in &mut waiting {
            assert!(futures_util::poll!(permit).is_pending());
        }
        let mut calm = Box::pin(pool.enter(SnapshotFor::Tenant(&calm), None));
        assert!(futures_util::poll!(&mut calm).is_pending());
        assert!(matches!(waiting.pop().unwrap().await, Err(StoreError::Busy)));
        assert!(
            pool.enter(SnapshotFor::Server(None), None).await.is_ok(),
            "the server's own read waits for tenants"
        );
        drop(first);
        let next = waiting.remove(0).await.unwrap();
        drop(next);
        // The flooding tenant has had its permit.
        assert!(calm.await.is_ok());
    }

    #[tokio::test]
    async fn slow_reads_of_one_tenant_leave_a_slot_to_the_others() {
        let (slow, calm) = (tenant("slow"), tenant("calm"));
        for (n_at_once, n_of_tenant) in [(1, 1), (2, 1), (3, 2)] {
            let pool = SnapshotPool::new(n_at_once, 1);
            let mut held = Vec::new();
            for _ in 0..n_of_tenant {
                held.push(pool.enter(SnapshotFor::Tenant(&slow), None).await.unwrap());
            }
            let further = pool.enter(SnapshotFor::Tenant(&slow), Some(Duration::ZERO)).await;
            assert!(matches!(further, Err(StoreError::Busy)), "of {n_at_once}");
            let other = pool.enter(SnapshotFor::Tenant(&calm), Some(Duration::ZERO)).await;
            assert!(other.is_ok(), "of {n_at_once}");
        }
    }

    #[tokio::test]
    async fn no_other_read_waits_behind_scans() {
        let (pool, acme) = (SnapshotPool::new(1, 1), tenant("acme"));
        let scan = |limit| pool.enter(SnapshotFor::Scan(&acme), limit);
        let _first = scan(None).await.unwrap();
        assert!(matches!(scan(Some(Duration::ZERO)).await, Err(StoreError::Busy)));
        assert!(pool.enter(SnapshotFor::Tenant(&acme), Some(Duration::ZERO)).await.is_ok());
    }
}
