//! Turns for reads that look at many rows: a few run at a time, some wait, and the rest are refused early rather than kept
//! waiting for nothing. Tenants take turns, and the server's own reads have a place of their own.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::Either;
use gatehouse_core::TenantName;
use gatehouse_turns::{Places, Turn, Turns};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::StoreError;

/// Most reads that may wait, of one tenant and in all. Where all places are taken, the longest queue gives way.
const WAITING_MAX: usize = 64;

/// The server's own reads at a time.
const OWN: usize = 1;

pub(super) struct Lane {
    of_tenants: Turns,
    own: Arc<Semaphore>,
}

/// A read's turn, which ends when it is dropped.
pub(super) type LaneTurn = Either<Turn, OwnedSemaphorePermit>;

impl Lane {
    /// Lets so many reads run at a time, of which one is the server's own and at least two are the tenants'.
    pub(super) fn new(n_at_once: usize) -> Self {
        let at_once = n_at_once.saturating_sub(OWN).max(2);
        let places = Places {
            at_once,
            // A tenant whose reads are slow leaves one place to the others.
            at_once_of_tenant: at_once - 1,
            waiting_of_tenant: WAITING_MAX,
            waiting: WAITING_MAX,
        };
        Self { of_tenants: Turns::new(places), own: Arc::new(Semaphore::new(OWN)) }
    }

    /// Waits for a turn of a tenant, or of the server's own, but not longer than `limit`.
    pub(super) async fn enter(
        &self,
        tenant: Option<&TenantName>,
        limit: Option<Duration>,
    ) -> Result<LaneTurn, StoreError> {
        let turn = async {
            match tenant {
                Some(tenant) => match self.of_tenants.take(tenant).await {
                    Ok(turn) => Ok(Either::Left(turn)),
                    Err(_full) => Err(StoreError::Busy),
                },
                None => match Arc::clone(&self.own).acquire_owned().await {
                    Ok(turn) => Ok(Either::Right(turn)),
                    Err(_closed) => Err(StoreError::gone()),
                },
            }
        };
        match limit {
            Some(limit) => tokio::time::timeout(limit, turn).await.map_err(|_| StoreError::Busy)?,
            None => turn.await,
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
        let (lane, acme) = (Lane::new(1), tenant("acme"));
        let enter = || Box::pin(lane.enter(Some(&acme), None));
        let first = enter().await.unwrap();
        let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| enter()).collect();
        for turn in &mut waiting {
            assert!(futures_util::poll!(turn).is_pending());
        }
        assert!(matches!(enter().await, Err(StoreError::Busy)));
        drop(first);
        let second = waiting.remove(0).await.unwrap();
        let late = lane.enter(Some(&acme), Some(Duration::ZERO)).await;
        assert!(matches!(late, Err(StoreError::Busy)));
        drop(second);
        assert!(waiting.remove(0).await.is_ok());
    }

    #[tokio::test]
    async fn a_tenant_that_fills_the_queue_gives_way_to_the_others() {
        let (lane, flood, calm) = (Lane::new(1), tenant("flood"), tenant("calm"));
        let first = lane.enter(Some(&flood), None).await.unwrap();
        let _other = lane.enter(Some(&tenant("other")), None).await.unwrap();
        let mut waiting: Vec<_> =
            (0..WAITING_MAX).map(|_| Box::pin(lane.enter(Some(&flood), None))).collect();
        for turn in &mut waiting {
            assert!(futures_util::poll!(turn).is_pending());
        }
        let mut calm = Box::pin(lane.enter(Some(&calm), None));
        assert!(futures_util::poll!(&mut calm).is_pending());
        assert!(matches!(waiting.pop().unwrap().await, Err(StoreError::Busy)));
        assert!(lane.enter(None, None).await.is_ok(), "the server's own read waits for tenants");
        drop(first);
        let next = waiting.remove(0).await.unwrap();
        drop(next);
        // The flood has had its turn.
        assert!(calm.await.is_ok());
    }

    #[tokio::test]
    async fn slow_reads_of_one_tenant_leave_a_place_to_the_others() {
        let (slow, calm) = (tenant("slow"), tenant("calm"));
        for (n_at_once, n_of_tenant) in [(1, 1), (2, 1), (3, 1), (4, 2)] {
            let lane = Lane::new(n_at_once);
            let mut held = Vec::new();
            for _ in 0..n_of_tenant {
                held.push(lane.enter(Some(&slow), None).await.unwrap());
            }
            let further = lane.enter(Some(&slow), Some(Duration::ZERO)).await;
            assert!(matches!(further, Err(StoreError::Busy)), "of {n_at_once}");
            let other = lane.enter(Some(&calm), Some(Duration::ZERO)).await;
            assert!(other.is_ok(), "of {n_at_once}");
        }
    }
}
