use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::Notify;

use super::*;

/// Waits for `go_on`, then drops `held`.
async fn work(held: Arc<()>, go_on: Arc<Notify>) -> Option<tokio::task::Id> {
    go_on.notified().await;
    drop(held);
    tokio::task::try_id()
}

#[tokio::test]
async fn the_caller_runs_the_work_itself() {
    let tracker = TaskTracker::new();
    let (held, go_on) = (Arc::new(()), Arc::new(Notify::new()));
    let mut detached = DetachOnDrop::new(
        &tracker,
        CancellationToken::new(),
        work(Arc::clone(&held), Arc::clone(&go_on)),
    );
    assert_eq!((&mut detached).now_or_never(), None);
    assert_eq!((Arc::strong_count(&held), tracker.len()), (2, 1));
    go_on.notify_one();
    assert_eq!((&mut detached).await, None, "no task was spawned");
    drop(detached);
    assert_eq!((Arc::strong_count(&held), tracker.len()), (1, 0));
}

#[tokio::test]
async fn dropped_work_still_runs_to_its_end() {
    let tracker = TaskTracker::new();
    tracker.close();
    for is_begun in [false, true] {
        let (held, go_on) = (Arc::new(()), Arc::new(Notify::new()));
        let mut detached = DetachOnDrop::new(
            &tracker,
            CancellationToken::new(),
            work(Arc::clone(&held), Arc::clone(&go_on)),
        );
        if is_begun {
            assert_eq!((&mut detached).now_or_never(), None);
        }
        drop(detached);
        assert_eq!((Arc::strong_count(&held), tracker.len()), (2, 1), "begun: {is_begun}");
        go_on.notify_one();
        tracker.wait().await;
        assert_eq!(Arc::strong_count(&held), 1, "begun: {is_begun}");
    }
}

#[tokio::test]
async fn work_that_panics_is_not_detached() {
    let tracker = TaskTracker::new();
    let detached =
        DetachOnDrop::new(&tracker, CancellationToken::new(), async { panic!("expected") });
    let detached = std::panic::AssertUnwindSafe(detached).catch_unwind();
    assert!(detached.await.is_err());
    assert_eq!(tracker.len(), 0);
}

#[test]
fn without_a_runtime_the_work_is_dropped() {
    let tracker = TaskTracker::new();
    let held = Arc::new(());
    drop(DetachOnDrop::new(
        &tracker,
        CancellationToken::new(),
        work(Arc::clone(&held), Arc::default()),
    ));
    assert_eq!((Arc::strong_count(&held), tracker.len()), (1, 0));
}
