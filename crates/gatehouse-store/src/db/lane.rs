//! A lane for reads that look at many rows: a few go at a time, some wait, and the rest are refused
//! early rather than kept waiting for nothing.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::StoreError;

/// Those who may wait.
const WAITING_MAX: usize = 64;

pub(super) struct Lane {
    free: Arc<Semaphore>,
    room: Arc<Semaphore>,
}

impl Lane {
    pub(super) fn new(n_at_once: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(n_at_once)),
            room: Arc::new(Semaphore::new(n_at_once + WAITING_MAX)),
        }
    }

    /// Waits for a turn, but not longer than `limit`.
    pub(super) async fn enter(&self, limit: Option<Duration>) -> Result<Turn, StoreError> {
        let room = Arc::clone(&self.room).try_acquire_owned().map_err(|_| StoreError::Busy)?;
        let free = Arc::clone(&self.free).acquire_owned();
        let free = match limit {
            Some(limit) => tokio::time::timeout(limit, free).await.map_err(|_| StoreError::Busy)?,
            None => free.await,
        };
        Ok(Turn { _free: free.map_err(|_| StoreError::gone())?, _room: room })
    }
}

/// A turn, which ends when it is dropped.
pub(super) struct Turn {
    _free: OwnedSemaphorePermit,
    _room: OwnedSemaphorePermit,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_few_go_some_wait_and_the_rest_are_refused() {
        let lane = Lane::new(1);
        let first = lane.enter(None).await.unwrap();
        let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| Box::pin(lane.enter(None))).collect();
        for turn in &mut waiting {
            assert!(futures_util::poll!(turn).is_pending());
        }
        assert!(matches!(lane.enter(None).await, Err(StoreError::Busy)));
        drop(first);
        let second = waiting.remove(0).await.unwrap();
        assert!(matches!(lane.enter(Some(Duration::ZERO)).await, Err(StoreError::Busy)));
        drop(second);
        assert!(waiting.remove(0).await.is_ok());
    }
}
