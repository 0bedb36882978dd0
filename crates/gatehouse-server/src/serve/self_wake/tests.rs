use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::AtomicUsize;

use super::*;

/// Counts wakes of a task.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls a future once that wakes itself `n_wakes` times before it is ready or pending. Returns the result, the number
/// of polls, and the number of wakes of its task.
fn poll_once(n_wakes: usize, is_done: bool) -> (Poll<()>, usize, usize) {
    let woken = Arc::new(Woken::default());
    let mut n_polls = 0;
    let work = poll_fn(|cx| {
        n_polls += 1;
        if n_polls <= n_wakes {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if is_done { Poll::Ready(()) } else { Poll::Pending }
    });
    let waker = Waker::from(Arc::clone(&woken));
    let polled = SelfWake::new().poll(&mut Context::from_waker(&waker), pin!(work));
    (polled, n_polls, woken.0.load(Ordering::Relaxed))
}

#[test]
fn a_future_that_wakes_itself_is_polled_again_without_waking_its_task() {
    assert_eq!(poll_once(0, true), (Poll::Ready(()), 1, 0));
    assert_eq!(poll_once(0, false), (Poll::Pending, 1, 0));
    assert_eq!(poll_once(1, true), (Poll::Ready(()), 2, 0));
    assert_eq!(poll_once(1, false), (Poll::Pending, 2, 0));
}

#[test]
fn a_future_that_always_wakes_itself_yields_after_some_polls() {
    assert_eq!(poll_once(usize::MAX, false), (Poll::Pending, POLLS_MAX, 1));
}

#[test]
fn a_pending_future_wakes_its_task_once_until_it_is_polled_again() {
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let (self_wake, mut waker_slot) = (SelfWake::new(), None);
    for n in 1..=3 {
        let work = poll_fn(|cx| {
            waker_slot = Some(cx.waker().clone());
            Poll::<()>::Pending
        });
        assert!(self_wake.poll(&mut Context::from_waker(&waker), pin!(work)).is_pending());
        let stored: Waker = waker_slot.take().unwrap();
        stored.wake_by_ref();
        stored.wake();
        assert_eq!(woken.0.load(Ordering::Relaxed), n);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_wake_is_missed() {
    for _ in 0..2_000 {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let sending = tokio::spawn(async move { sender.send(()) });
        let (self_wake, mut receiver) = (SelfWake::new(), pin!(receiver));
        poll_fn(|cx| self_wake.poll(cx, receiver.as_mut())).await.unwrap();
        sending.await.unwrap().unwrap();
    }
}
