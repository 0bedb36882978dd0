use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::Notify;

use super::*;

/// Work that waits until it may go on, and lets go of `held` when it is done.
async fn work(held: Arc<()>, go_on: Arc<Notify>) -> Option<tokio::task::Id> {
    go_on.notified().await;
    drop(held);
    tokio::task::try_id()
}

#[tokio::test]
async fn who_waits_does_it() {
    let tracker = TaskTracker::new();
    let (held, go_on) = (Arc::new(()), Arc::new(Notify::new()));
    let mut it = DetachOnDrop::new(
        &tracker,
        CancellationToken::new(),
        work(Arc::clone(&held), Arc::clone(&go_on)),
    );
    assert_eq!((&mut it).now_or_never(), None);
    assert_eq!((Arc::strong_count(&held), tracker.len()), (2, 1));
    go_on.notify_one();
    assert_eq!((&mut it).await, None, "no task was made for it");
    drop(it);
    assert_eq!((Arc::strong_count(&held), tracker.len()), (1, 0));
}

#[tokio::test]
async fn what_nobody_waits_for_any_more_is_done_all_the_same() {
    let tracker = TaskTracker::new();
    tracker.close();
    for is_begun in [false, true] {
        let (held, go_on) = (Arc::new(()), Arc::new(Notify::new()));
        let mut it = DetachOnDrop::new(
            &tracker,
            CancellationToken::new(),
            work(Arc::clone(&held), Arc::clone(&go_on)),
        );
        if is_begun {
            assert_eq!((&mut it).now_or_never(), None);
        }
        drop(it);
        assert_eq!((Arc::strong_count(&held), tracker.len()), (2, 1), "begun: {is_begun}");
        go_on.notify_one();
        tracker.wait().await;
        assert_eq!(Arc::strong_count(&held), 1, "begun: {is_begun}");
    }
}

#[tokio::test]
async fn nothing_is_left_of_what_panics() {
    let tracker = TaskTracker::new();
    let it = DetachOnDrop::new(&tracker, CancellationToken::new(), async { panic!("as it must") });
    let it = std::panic::AssertUnwindSafe(it).catch_unwind();
    assert!(it.await.is_err());
    assert_eq!(tracker.len(), 0);
}

#[test]
fn without_a_runtime_it_ends() {
    let tracker = TaskTracker::new();
    let held = Arc::new(());
    drop(DetachOnDrop::new(
        &tracker,
        CancellationToken::new(),
        work(Arc::clone(&held), Arc::default()),
    ));
    assert_eq!((Arc::strong_count(&held), tracker.len()), (1, 0));
}
