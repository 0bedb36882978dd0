use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::AtomicUsize;

use super::*;

/// Counts how often a task is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls something once that wakes itself so often before it is done or waits. Tells what came of it, how often it
/// was polled, and how often its task was woken.
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
fn what_wakes_itself_goes_on_and_troubles_nobody() {
    assert_eq!(poll_once(0, true), (Poll::Ready(()), 1, 0));
    assert_eq!(poll_once(0, false), (Poll::Pending, 1, 0));
    assert_eq!(poll_once(1, true), (Poll::Ready(()), 2, 0));
    assert_eq!(poll_once(1, false), (Poll::Pending, 2, 0));
}

#[test]
fn what_wakes_itself_all_the_time_lets_others_have_their_turn() {
    assert_eq!(poll_once(usize::MAX, false), (Poll::Pending, POLLS_MAX, 1));
}

#[test]
fn what_waits_is_woken_once_until_it_runs_again() {
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let (turn, mut kept) = (SelfWake::new(), None);
    for n in 1..=3 {
        let work = poll_fn(|cx| {
            kept = Some(cx.waker().clone());
            Poll::<()>::Pending
        });
        assert!(turn.poll(&mut Context::from_waker(&waker), pin!(work)).is_pending());
        let kept: Waker = kept.take().unwrap();
        kept.wake_by_ref();
        kept.wake();
        assert_eq!(woken.0.load(Ordering::Relaxed), n);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_is_missed() {
    for _ in 0..2_000 {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let sending = tokio::spawn(async move { sender.send(()) });
        let (turn, mut receiver) = (SelfWake::new(), pin!(receiver));
        poll_fn(|cx| turn.poll(cx, receiver.as_mut())).await.unwrap();
        sending.await.unwrap().unwrap();
    }
}
