//! What carries the bytes of a connection.
//!
//! Whoever asks for something wakes it, and the runtime would have it go on at once: each statement would be a
//! packet of its own. On a connection that many share it lets the others have their turn first, so that what they
//! ask for goes out together.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use tokio::task::{AbortHandle, yield_now};

/// The hold on what carries a connection's bytes.
pub(super) struct Carrier {
    is_shared: Arc<AtomicBool>,
    task: AbortHandle,
}

impl Carrier {
    /// Has a task carry a connection to its end, and hear how that went.
    pub(super) fn start<C>(connection: C, ended: impl FnOnce(C::Output) + Send + 'static) -> Self
    where
        C: Future<Output: Send> + Unpin + Send + 'static,
    {
        let is_shared = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&is_shared);
        let task = tokio::spawn(async move { ended(carry(connection, &shared).await) });
        Self { is_shared, task: task.abort_handle() }
    }

    /// From now on many share the connection.
    pub(super) fn share(&self) {
        self.is_shared.store(true, Ordering::Relaxed);
    }

    /// Lets the connection end at once.
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

/// Waits for whatever was asked to wake this task.
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

    /// A connection that takes all that is asked for when it has its turn.
    async fn turns(is_shared: bool) -> Vec<usize> {
        let (ask, mut asked) = mpsc::unbounded_channel::<()>();
        let mut turns = Vec::new();
        let connection = Box::pin(poll_fn(move |cx| {
            let mut n_taken = 0;
            let is_over = loop {
                match asked.poll_recv(cx) {
                    Poll::Ready(Some(())) => n_taken += 1,
                    Poll::Ready(None) => break true,
                    Poll::Pending => break false,
                }
            };
            turns.extend((n_taken > 0).then_some(n_taken));
            if is_over { Poll::Ready(std::mem::take(&mut turns)) } else { Poll::Pending }
        }));
        let (ended, told) = tokio::sync::oneshot::channel();
        let carrier = Carrier::start(connection, move |turns| drop(ended.send(turns)));
        if is_shared {
            carrier.share();
        }
        // It waits before anybody asks.
        yield_now().await;
        let askers: Vec<_> = (0..3)
            .map(|_| {
                let ask = ask.clone();
                tokio::spawn(async move { ask.send(()).unwrap() })
            })
            .collect();
        for asker in askers {
            asker.await.unwrap();
        }
        drop(ask);
        told.await.unwrap()
    }

    #[tokio::test]
    async fn what_many_ask_for_goes_out_together() {
        assert_eq!(turns(true).await, [3]);
    }

    #[tokio::test]
    async fn everything_goes_out_whoever_asks() {
        assert_eq!(turns(false).await.iter().sum::<usize>(), 3);
    }
}
