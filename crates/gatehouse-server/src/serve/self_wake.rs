//! `SelfWake` polls a connection's future again at once when the future wakes its own task.
//!
//! A request runs inside its connection's task and gets its body through a channel that wakes the other end, so the
//! task is woken while it runs. The runtime takes that for a yield: it requeues the task behind all others and wakes
//! another thread to run it. Side by side, the CPU of a bare POST request is 36 µs with this and 46 µs without it on one
//! connection, 23 µs and 26 µs on 16 connections. A request without a body costs the same.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// Most polls of a connection's future before the runtime runs other tasks.
const POLLS_MAX: usize = 2;

/// Polls the future of one connection.
pub(super) struct SelfWake {
    wake_state: Arc<WakeState>,
    waker: Waker,
}

struct WakeState {
    /// `WAITING`, `RUNNING` or `WOKEN`.
    state: AtomicU8,
    /// The task to wake while nothing runs.
    task: AtomicWaker,
}

const WAITING: u8 = 0;
const RUNNING: u8 = 1;
const WOKEN: u8 = 2;

impl SelfWake {
    pub(super) fn new() -> Self {
        let wake_state = WakeState { state: AtomicU8::new(WAITING), task: AtomicWaker::new() };
        let wake_state = Arc::new(wake_state);
        Self { waker: Waker::from(Arc::clone(&wake_state)), wake_state }
    }

    /// Polls a future, and again when it was woken meanwhile.
    pub(super) fn poll<Work: Future>(
        &self,
        cx: &mut Context<'_>,
        mut work: Pin<&mut Work>,
    ) -> Poll<Work::Output> {
        let WakeState { state, task } = &*self.wake_state;
        task.register(cx.waker());
        for _ in 0..POLLS_MAX {
            // Always a swap, never a store: it has to see what was done before the wake.
            state.swap(RUNNING, Ordering::AcqRel);
            let polled = work.as_mut().poll(&mut Context::from_waker(&self.waker));
            let not_woken =
                state.compare_exchange(RUNNING, WAITING, Ordering::AcqRel, Ordering::Acquire);
            if polled.is_ready() || not_woken.is_ok() {
                return polled;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Wake for WakeState {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.swap(WOKEN, Ordering::AcqRel) == WAITING {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests;
