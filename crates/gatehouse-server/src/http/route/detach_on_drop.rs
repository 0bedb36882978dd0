//! Work that runs to its end, also if its caller stops waiting.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// A future that its caller polls; if the caller drops it early, a new task runs the rest.
///
/// Nearly all clients wait for their responses, and a task per request would cost more than many a request does.
pub(in crate::http) struct DetachOnDrop<T: Send + 'static> {
    rest: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    /// Counts the work until it is done.
    running: TaskTrackerToken,
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
        Self { rest: Some(Box::pin(work)), running: tracker.token(), dropped }
    }
}

impl<T: Send + 'static> Future for DetachOnDrop<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        // Taken out, so that a future that panics is dropped and not detached.
        let mut rest = self.rest.take().expect("a finished future is not polled again");
        let polled = rest.as_mut().poll(cx);
        if polled.is_pending() {
            self.rest = Some(rest);
        }
        polled
    }
}

impl<T: Send + 'static> Drop for DetachOnDrop<T> {
    fn drop(&mut self) {
        // Without a runtime, the work is dropped.
        if let Some(rest) = self.rest.take()
            && let Ok(runtime) = Handle::try_current()
        {
            self.dropped.cancel();
            self.running.task_tracker().spawn_on(rest, &runtime);
        }
    }
}

#[cfg(test)]
mod tests;
