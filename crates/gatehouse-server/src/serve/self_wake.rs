//! A connection that wakes itself goes on at once.
//!
//! A request runs inside its connection, and takes its body from it through a channel that wakes the other end: so
//! the connection is woken while it has its turn. To the runtime that looks like one that yields; it puts
//! it behind all others, and wakes another thread to take it over, which costs more than many a request.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// How often one goes on before the others have their turn.
const POLLS_MAX: usize = 2;

/// The turns of one future.
pub(super) struct SelfWake {
    bell: Arc<Bell>,
    waker: Waker,
}

struct Bell {
    /// One of those below.
    state: AtomicU8,
    /// The task that it rings for while nothing runs.
    task: AtomicWaker,
}

const WAITING: u8 = 0;
const RUNNING: u8 = 1;
const RUNG: u8 = 2;

impl SelfWake {
    pub(super) fn new() -> Self {
        let bell = Bell { state: AtomicU8::new(WAITING), task: AtomicWaker::new() };
        let bell = Arc::new(bell);
        Self { waker: Waker::from(Arc::clone(&bell)), bell }
    }

    /// Polls a future, and again when it was woken meanwhile.
    pub(super) fn poll<Work: Future>(
        &self,
        cx: &mut Context<'_>,
        mut work: Pin<&mut Work>,
    ) -> Poll<Work::Output> {
        let Bell { state, task } = &*self.bell;
        task.register(cx.waker());
        for _ in 0..POLLS_MAX {
            // Always exchanged, never just stored: what was done before the bell rang has to be seen.
            state.swap(RUNNING, Ordering::AcqRel);
            let polled = work.as_mut().poll(&mut Context::from_waker(&self.waker));
            let rests =
                state.compare_exchange(RUNNING, WAITING, Ordering::AcqRel, Ordering::Acquire);
            if polled.is_ready() || rests.is_ok() {
                return polled;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.swap(RUNG, Ordering::AcqRel) == WAITING {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests;
