//! A stretch: items of a Task that one transaction works on, and how long it may keep others waiting.

use std::collections::VecDeque;
use std::time::Duration;

use gatehouse_core::task::{FailedItem, ItemName};
use gatehouse_core::{TaskId, Trouble};
use tokio::time::Instant;

use crate::db::{Company, Tx};
use crate::error::StoreError;

/// An item that is to be worked on, or is known to fail.
#[derive(Clone, Debug)]
pub enum Planned<T> {
    /// To be done.
    Do(T),
    /// Fails, whatever happens.
    Fail(ItemName, Trouble),
}

impl<T> Planned<T> {
    pub(crate) fn to_do(&self) -> Option<&T> {
        match self {
            Self::Do(item) => Some(item),
            Self::Fail(..) => None,
        }
    }
}

/// Items, each with its position in the request. Many may be left over by many stretches, so they are taken
/// off at the front.
pub type Items<T> = VecDeque<(u32, Planned<T>)>;

/// Items of a Task that are worked on together, in order.
#[derive(Clone, Debug)]
pub struct Stretch<T> {
    /// Which Task.
    pub task: TaskId,
    /// The ordinal of the first.
    pub from: u32,
    /// The items.
    pub items: Items<T>,
    /// How long it may keep others waiting; what is not done by then is left for the next stretch.
    pub patience: Patience,
}

/// How long a stretch may keep others waiting, from when it keeps something from them.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Those who asked for something.
    pub requests: Duration,
    /// Other batches.
    pub batches: Duration,
}

/// How long a stretch may last, whoever waits: well within the lease, however slow the machine has become.
const STRETCH_MAX: Duration = Duration::from_secs(5);

/// A stretch that is under way, and its patience.
pub(crate) struct Watch {
    begun: Instant,
    patience: Patience,
}

impl Watch {
    pub(crate) fn begin(patience: Patience) -> Self {
        Self { begun: Instant::now(), patience }
    }

    /// How long it has kept things from others.
    pub(crate) fn elapsed(&self, tx: &Tx) -> Duration {
        tx.elapsed(self.begun)
    }

    /// Whether it is time to commit: to let others go first, or to keep the lease.
    pub(crate) async fn is_over(&self, tx: &Tx) -> Result<bool, StoreError> {
        let (elapsed, Patience { requests, batches }) = (self.elapsed(tx), self.patience);
        if elapsed <= requests.min(batches) {
            return Ok(false);
        }
        Ok(elapsed > STRETCH_MAX
            || match tx.company().await? {
                Company::None => false,
                Company::Batches => elapsed > batches,
                Company::Requests => elapsed > requests,
            })
    }
}

/// How one item of a stretch went.
pub(crate) type ItemResult = Result<(), Box<FailedItem>>;
