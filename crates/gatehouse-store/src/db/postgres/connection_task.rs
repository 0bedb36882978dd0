//! The task that drives a connection.
//!
//! Every request wakes the task, and the runtime would poll it at once: each statement would be a packet of its own. On
//! a shared connection the task yields first, so that the statements of several requests go out in one packet.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use tokio::task::{AbortHandle, yield_now};

/// Handle of the task that drives a connection.
pub(super) struct ConnectionTask {
    is_shared: Arc<AtomicBool>,
    task: AbortHandle,
}

impl ConnectionTask {
    /// Spawns a task that drives a connection to its end, and passes the result to `ended`.
    pub(super) fn start<C>(connection: C, ended: impl FnOnce(C::Output) + Send + 'static) -> Self
    where
        C: Future<Output: Send> + Unpin + Send + 'static,
    {
        let is_shared = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&is_shared);
        let task = tokio::spawn(async move { ended(carry(connection, &shared).await) });
        Self { is_shared, task: task.abort_handle() }
    }

    /// Makes the task yield before each write, because several callers share the connection.
    pub(super) fn share(&self) {
        self.is_shared.store(true, Ordering::Relaxed);
    }

    /// Closes the connection at once.
    pub(super) fn abort(&self) {
        self.task.abort();
    }
}

async fn carry<C: Future + Unpin>(mut connection: C, is_shared: &AtomicBool) -> C::Output {
    loop {
        let polled = poll_fn(|cx| Poll::Ready(Pin::new(&mut connection).poll(cx))).await;
        if let Poll::Ready(ended) = polled {
            return ended;
        }
        until_woken().await;
        if is_shared.load(Ordering::Relaxed) {
            yield_now().await;
        }
    }
}

/// Waits until the connection wakes this task.
async fn until_woken() {
    let mut has_waited = false;
    poll_fn(
        |_| if std::mem::replace(&mut has_waited, true) { Poll::Ready(()) } else { Poll::Pending },
    )
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    use tokio::sync::mpsc;

    /// Runs a connection that takes all pending requests at each poll; returns how many those were.
    async fn batches(is_shared: bool) -> Vec<usize> {
        let (request, mut requests) = mpsc::unbounded_channel::<()>();
        let mut batches = Vec::new();
        let connection = Box::pin(poll_fn(move |cx| {
            let mut n_taken = 0;
            let is_over = loop {
                match requests.poll_recv(cx) {
                    Poll::Ready(Some(())) => n_taken += 1,
                    Poll::Ready(None) => break true,
                    Poll::Pending => break false,
                }
            };
            batches.extend((n_taken > 0).then_some(n_taken));
            if is_over { Poll::Ready(std::mem::take(&mut batches)) } else { Poll::Pending }
        }));
        let (ended, batch_sizes) = tokio::sync::oneshot::channel();
        let task = ConnectionTask::start(connection, move |batches| drop(ended.send(batches)));
        if is_shared {
            task.share();
        }
        // The task is pending before the first request.
        yield_now().await;
        let callers: Vec<_> = (0..3)
            .map(|_| {
                let request = request.clone();
                tokio::spawn(async move { request.send(()).unwrap() })
            })
            .collect();
        for caller in callers {
            caller.await.unwrap();
        }
        drop(request);
        batch_sizes.await.unwrap()
    }

    #[tokio::test]
    async fn requests_on_a_shared_connection_share_a_packet() {
        assert_eq!(batches(true).await, [3]);
    }

    #[tokio::test]
    async fn all_requests_are_sent_on_an_exclusive_connection() {
        assert_eq!(batches(false).await.iter().sum::<usize>(), 3);
    }
}
