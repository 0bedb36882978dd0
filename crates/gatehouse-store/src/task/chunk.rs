//! A chunk: the items of a Task that one transaction works on, with its time limits.

use std::collections::VecDeque;
use std::time::Duration;

use gatehouse_core::task::{FailedItem, ItemReference};
use gatehouse_core::{BatchFailure, TaskId};
use tokio::time::Instant;

use crate::db::{Tx, Waiters};
use crate::error::StoreError;

/// An item to work on, or one that is known to fail.
#[derive(Clone, Debug)]
pub enum PlannedItem<T> {
    /// Work on this item.
    Do(T),
    /// Record this failure.
    Fail(ItemReference, BatchFailure),
}

impl<T> PlannedItem<T> {
    pub(crate) fn to_do(&self) -> Option<&T> {
        match self {
            Self::Do(item) => Some(item),
            Self::Fail(..) => None,
        }
    }
}

/// Items with their positions in the request. A queue, because each chunk takes some off the front.
pub type PlannedItems<T> = VecDeque<(u32, PlannedItem<T>)>;

/// Items of a Task that one transaction works on, in order.
#[derive(Clone, Debug)]
pub struct ItemChunk<T> {
    /// The Task.
    pub task: TaskId,
    /// Ordinal of the first item.
    pub from: u32,
    /// The items.
    pub items: PlannedItems<T>,
    /// How long the chunk may block others. Items that are not done by then are left for the next chunk.
    pub limits: ChunkLimits,
}

/// How long a chunk may block other writes, from its first lock on.
#[derive(Clone, Copy, Debug)]
pub struct ChunkLimits {
    /// Time limit while requests are blocked.
    pub requests: Duration,
    /// Time limit while other batches are blocked.
    pub batches: Duration,
    /// Time limit while events wait for their numbers.
    pub journal: Duration,
}

/// Time limit of every chunk: well within the lease, on a slow machine too.
const CHUNK_MAX: Duration = Duration::from_secs(5);

/// Measures a chunk's time against its limits.
pub(crate) struct ChunkTimer {
    begun: Instant,
    limits: ChunkLimits,
}

impl ChunkTimer {
    pub(crate) fn begin(limits: ChunkLimits) -> Self {
        Self { begun: Instant::now(), limits }
    }

    /// Time since the chunk took its locks.
    pub(crate) fn elapsed(&self, tx: &Tx) -> Duration {
        tx.elapsed(self.begun)
    }

    /// Whether the chunk should commit, because others wait or its lease could expire.
    pub(crate) async fn is_over(&self, tx: &Tx) -> Result<bool, StoreError> {
        let (elapsed, ChunkLimits { requests, batches, journal }) = (self.elapsed(tx), self.limits);
        if elapsed <= requests.min(batches).min(journal) {
            return Ok(false);
        }
        Ok(elapsed > CHUNK_MAX
            || match tx.waiters().await? {
                Waiters::None => false,
                Waiters::Journal => elapsed > journal,
                Waiters::Batches => elapsed > batches,
                Waiters::Requests => elapsed > requests,
            })
    }
}

/// Result of one item.
pub(crate) type ItemResult = Result<(), Box<FailedItem>>;
