//! Work that is seen through to its end, also when nobody waits for it any more.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Work that whoever waits for it does in passing. When it is dropped half-way, a task does the rest.
///
/// Nearly all clients wait for their answers, and a task for each request would cost more than many
/// a request does.
pub(in crate::http) struct DetachOnDrop<T: Send + 'static> {
    /// What is left to do.
    rest: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    /// Counts it as long as it is under way.
    under_way: TaskTrackerToken,
    /// Cancelled when the caller drops the future early.
    dropped: CancellationToken,
}

impl<T: Send + 'static> DetachOnDrop<T> {
    /// Tracks `work` until it is done; cancels `dropped` when the caller drops the future early.
    pub(in crate::http) fn new(
        tracker: &TaskTracker,
        dropped: CancellationToken,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Self {
        Self { rest: Some(Box::pin(work)), under_way: tracker.token(), dropped }
    }
}

impl<T: Send + 'static> Future for DetachOnDrop<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        // Taken out, so that nothing is left of what panics.
        let mut rest = self.rest.take().expect("what is done is not waited for again");
        let polled = rest.as_mut().poll(cx);
        if polled.is_pending() {
            self.rest = Some(rest);
        }
        polled
    }
}

impl<T: Send + 'static> Drop for DetachOnDrop<T> {
    fn drop(&mut self) {
        // Where nothing runs tasks any more, everything ends.
        if let Some(rest) = self.rest.take()
            && let Ok(runtime) = Handle::try_current()
        {
            self.dropped.cancel();
            self.under_way.task_tracker().spawn_on(rest, &runtime);
        }
    }
}

#[cfg(test)]
mod tests;
